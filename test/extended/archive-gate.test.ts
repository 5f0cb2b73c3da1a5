import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ingest } from '../../pipelines/ingest.ts'
import { IntakeGate } from '../../src/pipeline/streams/intake-gate.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { counterFields, keys } from '../../src/stores/redis/keys.ts'
import { quiet, silent } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

const MEMORY = 32 * 2 ** 20

test('an archive backlog closes intake only for tenants with an archive, by count and by memory', async (t) => {
  const redis = await startTestRedis(t, ['--maxmemory', String(MEMORY), '--maxmemory-policy', 'noeviction'])
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop', timeoutMs: 5_000 }))
  const gate = new IntakeGate({ client, pipeline: ingest, partitions: 1, waitingEventsMax: 100, log: silent })
  t.after(async () => {
    await gate.stop()
    client.disconnect()
  })
  const wait = (stream: string, events: number) =>
    client.hset(keys.counters(0), counterFields.added(stream, 'live', 'events'), events)
  const fill = (key: string, share: number) => client.setrange(key, Math.floor(share * MEMORY), 'x')
  const closed = () => [gate.closedBecause(false), gate.closedBecause(true)]
  const soon = (holds: () => boolean) => until(holds, (it) => it, 10_000)
  await gate.start()

  await wait('intake', 60)
  await wait('archive', 40)
  await soon(() => closed().every((reason) => reason === undefined))
  await wait('intake', 0)
  await wait('archive', 60)
  await soon(() => /wait for the archive/.test(closed()[1] ?? ''))
  assert.equal(closed()[0], undefined)
  await wait('archive', 101)
  await soon(() => closed()[0] !== undefined)

  await wait('archive', 10)
  await soon(() => closed().every((reason) => reason === undefined))
  await fill('ballast', 0.72)
  await soon(() => /wait for the archive/.test(closed()[1] ?? ''))
  assert.equal(closed()[0], undefined)
  // Something else fills the memory.
  await wait('intake', 30)
  await soon(() => closed().every((reason) => reason === undefined))
  await fill('more ballast', 0.16)
  await soon(() => closed().every((reason) => /bytes of memory/.test(reason ?? '')))
})
