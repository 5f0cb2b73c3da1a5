import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StartupError } from '../../src/run/errors.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { demandWhole, removeMark, writeMark } from '../../src/stores/redis/restore-mark.ts'
import { quiet } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'

test('behind the mark of a restore nothing starts until it has come to its end', async (t) => {
  const redis = await startTestRedis(t)
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  await demandWhole(client)
  await writeMark(client, { backup_id: 'b' })
  await assert.rejects(demandWhole(client), StartupError)
  await removeMark(client)
  await demandWhole(client)
})
