import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from '../../../src/config/config.ts'
import { checkDoors } from '../../../src/operations/doctor/doors.ts'
import type { Subject } from '../../../src/operations/doctor/finding.ts'

test('the doctor says that sites of companies are asked for logos, until logos are off', () => {
  const seenBy = (env: Record<string, string>) =>
    checkDoors({ config: readConfig(env), roles: ['dashboard'] } as unknown as Subject).map(({ seen }) => seen)
  const closed = 'only this machine reaches its ports'
  const logos =
    'the dashboard asks sites of companies for their logos, so they see this server; DASHBOARD_FAVICONS=off ends it'
  assert.deepEqual(seenBy({}), [closed, logos])
  assert.deepEqual(seenBy({ DASHBOARD_FAVICONS: 'off' }), [closed])
})
