import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ProcessContext } from '../../src/process/context.ts'
import { topology } from '../../src/process/topology.ts'
import { StartupError } from '../../src/run/errors.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { assertNoRestore, removeMark, writeMark } from '../../src/stores/redis/restore-mark.ts'
import { quiet } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

test('while the mark of a restore is set, nothing starts', async (t) => {
  const redis = await startTestRedis(t)
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  await assertNoRestore(client)
  await writeMark(client, { backup_id: 'b' })
  await assert.rejects(assertNoRestore(client), StartupError)
  await removeMark(client)
  await assertNoRestore(client)
})

test('a process that was interrupted while a restore began ends when it comes back', async (t) => {
  const redis = await startTestRedis(t)
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  const config = { redisStartMs: 1_000, partitions: 2 }
  const context = { shared: client, config, createGroups: async () => {} } as unknown as ProcessContext
  const reasons: string[] = []
  const service = topology(context, ({ message }) => reasons.push(message))
  await service.start()
  await writeMark(client, { backup_id: 'b' })
  client.disconnect(true)
  await until(() => reasons.length > 0)
  assert.match(reasons[0]!, /a restore of a backup was not finished/)
  await service.stop()
})
