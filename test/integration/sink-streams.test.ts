import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import type { Redis } from 'ioredis'
import { encodeBlock, packBlock } from '../../src/pipeline/event/block.ts'
import type { SinkRun } from '../../src/pipeline/runner/sink-ports.ts'
import { Janitor } from '../../src/pipeline/streams/janitor.ts'
import { agreeOnPartitions, createGroups } from '../../src/pipeline/streams/topology.ts'
import { connectRedis, type RedisClient } from '../../src/stores/redis/connect.ts'
import { counterFields, keys } from '../../src/stores/redis/keys.ts'
import { LEASE_MS } from '../../src/stores/redis/membership.ts'
import type { Caller } from '../../src/stores/redis/pipelined-calls.ts'
import { envelope, quiet, silent, threeSinks } from '../support/pipeline.ts'
import { takePort } from '../support/ports.ts'
import { startTestRedis } from '../support/redis.ts'
import { startSource, startStreams } from '../support/streams.ts'

const ENRICHED = keys.stream(0, 'enriched', 'live')

test('entries acknowledged by two count once, whichever is late', async (t) => {
  const { client } = await startStreams(t)
  await client.xadd(ENRICHED, '*', ...encodeBlock(packBlock([envelope('t', 'a')], 'job-1')))
  const source = await startSource(client)
  const [run] = await source.readNew(10, 1)
  await source.acknowledge(run!, [])
  await source.acknowledge(run!, [{ entry: run!.entries[0]!, index: 0, reason: 'late', kind: '' }])
  const count = (field: string) => client.hget(keys.counters(0), field)
  assert.equal(await count(counterFields.outcome('clickhouse', 'stored')), '1')
  assert.equal(await count(counterFields.done('clickhouse', 'enriched', 'live', 'events')), '1')
  assert.deepEqual(await client.hgetall(keys.jobProgress(0, 'job-1')), { stored: '1' })
  assert.equal(await client.xlen(keys.dead(0)), 0)
  await source.release()
})

test('an interrupted intent continues; the entries it acknowledged are done', async (t) => {
  const { client } = await startStreams(t)
  for (const id of ['a', 'b']) await client.xadd(ENRICHED, '*', ...encodeBlock(packBlock([envelope('t', id)])))
  const source = await startSource(client)
  const [{ partition, lane, entries }] = (await source.readNew(10, 1)) as [SinkRun]
  const [first, last] = [entries[0]!.id, entries[1]!.id]
  const intent = { token: 't', ranges: [{ partition, lane, first, last, entries: 2 }] }
  await source.writeIntent(intent)
  const whole = await source.readRanges(intent)
  assert.deepEqual([whole.inserted, whole.runs[0]!.entries.map(({ id }) => id)], [false, [first, last]])
  await source.acknowledge({ partition, lane, entries: entries.slice(0, 1) }, [])
  const rest = await source.readRanges(intent)
  assert.deepEqual([rest.inserted, rest.runs[0]!.entries.map(({ id }) => id)], [true, [last]])
  await source.release()
})

test('a holder that takes a lease again checks again for losses of the store', async (t) => {
  const { client } = await startStreams(t)
  const source = await startSource(client)
  const before = await source.forgotBefore()
  await source.release()
  const key = keys.sinkRunIds('clickhouse')
  const note = JSON.parse((await client.get(key))!)
  await client.set(key, JSON.stringify({ ...note, sinceMs: note.sinceMs + 60_000 }))
  await source.acquire(AbortSignal.timeout(60_000), async () => {})
  assert.equal(await source.forgotBefore(), before + 60_000)
  await source.release()
})

test('entries that were read before the connection was lost are not inserted', async (t) => {
  const { client } = await startStreams(t)
  await client.xadd(ENRICHED, '*', ...encodeBlock(packBlock([envelope('t', 'a')])))
  const source = await startSource(client)
  const [{ partition, lane, entries }] = (await source.readNew(10, 1)) as [SinkRun]
  const { id } = entries[0]!
  const intent = { token: 't', ranges: [{ partition, lane, first: id, last: id, entries: 1 }] }
  ;(client as Redis).disconnect(true)
  await once(client, 'ready')
  await assert.rejects(source.writeIntent(intent), /the connection to Redis was lost after the read/)
  await source.acquire(AbortSignal.timeout(60_000), async () => {})
  assert.equal((await source.readPending(10)).length, 1)
  await source.writeIntent(intent)
  await source.release()
})

test('a server that was demoted and promoted again counts as one that a sink has not met', async (t) => {
  const port = takePort()
  await startTestRedis(t, ['--port', String(port)])
  const client = quiet(connectRedis(`redis://127.0.0.1:${port}`, { name: 'test', kind: 'loop' })) as Redis
  t.after(() => client.disconnect())
  await agreeOnPartitions(client, 1)
  await createGroups(client, threeSinks, 1)
  const source = await startSource(client)
  const before = await source.forgotBefore()
  assert.equal(await source.forgotBefore(), before)
  await client.call('REPLICAOF', '127.0.0.1', String(takePort()))
  await client.call('REPLICAOF', 'NO', 'ONE')
  const afterwards = await source.forgotBefore()
  await source.release()
  assert.notEqual(afterwards, before)
})

test('draining works when Redis is full: leases and intents, settlements, trimming', async (t) => {
  const { client } = await startStreams(t)
  const janitor = new Janitor({ client, pipeline: threeSinks, partitions: 1, log: silent })
  await client.xadd(ENRICHED, '*', ...encodeBlock(packBlock([envelope('t', 'a')])))
  await client.config('SET', 'maxmemory', '1')
  await assert.rejects(client.set('refused', '1'), /OOM/)
  const source = await startSource(client)
  const [run] = await source.readNew(10, 1)
  const { partition, lane, entries } = run!
  const { id } = entries[0]!
  await source.writeIntent({ token: 't', ranges: [{ partition, lane, first: id, last: id, entries: 1 }] })
  await source.acknowledge(run!, [])
  await source.clearIntent()
  assert.equal(await janitor.trim(), 1)
  await source.release()
})

test('a sink reads little until it knows the size of entries, and then as much as allowed', async (t) => {
  const { client } = await startStreams(t)
  const block = encodeBlock(packBlock([envelope('t', 'a'), envelope('t', 'b')]))
  for (let i = 0; i < 400; i++) await client.xadd(keys.stream(0, 'enriched', 'live'), '*', ...block)
  const source = await startSource(client)
  const read = async () => (await source.readNew(100_000, 0)).flatMap(({ entries }) => entries).length
  assert.equal(await read(), 100)
  for (let left = 300; left > 0; ) left -= await read()
  await source.release()
})

/** How long a source blocks in Redis when its lease has this age; 0: not at all. */
async function waitsOf(t: TestContext, isRenewable: boolean): Promise<[ageMs: number, waitMs: number][]> {
  const { client } = await startStreams(t)
  const blocking = quiet((client as Redis).duplicate())
  t.after(() => blocking.disconnect())
  let answers = true
  const callBuffer = (...call: [string, ...string[]]) =>
    answers ? client.callBuffer(...call) : Promise.reject(new Error('no answer'))
  const takenAtMs = performance.now()
  const now = t.mock.method(performance, 'now', () => takenAtMs)
  const source = await startSource(client, blocking, { callBuffer } as Caller)
  answers = isRenewable
  const sent = t.mock.method(blocking, 'callBuffer', async () => null)
  // At a time that is not shortened to end together with other waits.
  t.mock.method(Date, 'now', () => 1_000_000)
  const waits: [number, number][] = []
  for (const ageMs of [0, 400, 1_100, 1_700, 2_200, 2_400]) {
    now.mock.mockImplementation(() => takenAtMs + ageMs)
    sent.mock.resetCalls()
    assert.deepEqual(await source.readNew(10, 60_000, AbortSignal.abort()), [])
    const args = (sent.mock.calls[0]?.arguments ?? []) as unknown as (string | number)[]
    waits.push([ageMs, args.length === 0 ? 0 : Number(args[args.indexOf('BLOCK') + 1])])
  }
  now.mock.restore()
  answers = true
  await source.release()
  return waits
}

test('a sink that hangs gets nothing once its lease may be over', async (t) => {
  const tickOfRedisMs = 250
  const waits = await waitsOf(t, false)
  for (const [ageMs, waitMs] of waits)
    assert.ok(waitMs === 0 || ageMs + waitMs + tickOfRedisMs < LEASE_MS, `${waitMs} ms, ${ageMs} ms after its renewal`)
  assert.deepEqual(
    waits.map(([, waitMs]) => waitMs),
    [2_000, 2_000, 1_000, 750, 250, 0],
    'and no shorter than it need be',
  )
})

test('an idle sink waits for two seconds, since it renews its lease before', async (t) => {
  const waits = await waitsOf(t, true)
  assert.deepEqual(
    waits.map(([, waitMs]) => waitMs),
    [2_000, 2_000, 2_000, 2_000, 2_000, 2_000],
  )
})

test('a sink makes short waits itself: Redis checks for ended waits only four times a second', async (t) => {
  const { client } = await startStreams(t)
  const blocking = { callBuffer: () => assert.fail('it waits in Redis') } as unknown as RedisClient
  const source = await startSource(client, blocking)
  const beganAtMs = performance.now()
  assert.deepEqual(await source.readNew(10, 200), [])
  assert.ok(performance.now() - beganAtMs > 20, 'it does not ask again and again')
  await assert.rejects(source.readNew(10, 250), /waits in Redis/)
  await source.release()
})
