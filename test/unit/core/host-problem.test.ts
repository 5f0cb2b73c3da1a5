import assert from 'node:assert/strict'
import { test } from 'node:test'
import { portRefusal } from '../../../src/run/host-problem.ts'

const refusalOf = (code: string) =>
  portRefusal({ host: '::1', portSetting: 'PORT', port: 80 }, Object.assign(new Error('listen'), { code }))

test('a port that is not free is refused with its setting, the reason and the remedy', () => {
  const at = 'PORT 80: cannot listen on [::1]:80'
  assert.equal(refusalOf('EADDRINUSE').message, `${at} (another program listens there); choose another port`)
  const mayNot = refusalOf('EACCES')
  assert.equal(mayNot.reason, `${at} (this user may not use this port)`)
  assert.equal(mayNot.remedy, 'choose one from 1024 upwards')
  assert.equal(refusalOf('EINVAL').message, `${at} (EINVAL); choose another port`)
})
