import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Redis } from 'ioredis'
import type { Lane } from '../../src/pipeline/declaration/lane.ts'
import { encodeBlock, packBlock } from '../../src/pipeline/event/block.ts'
import { isolate, splitByIdentity } from '../../src/pipeline/runner/step-worker.ts'
import { appendBlocks, blockAppend } from '../../src/pipeline/streams/append.ts'
import { untilPassed } from '../../src/pipeline/streams/barrier.ts'
import { BLOCK_MS_MAX, readBlocking } from '../../src/pipeline/streams/blocking-read.ts'
import { StreamGroupReader } from '../../src/pipeline/streams/group-reader.ts'
import { Janitor } from '../../src/pipeline/streams/janitor.ts'
import { readStatus } from '../../src/pipeline/streams/status.ts'
import { BackpressureError } from '../../src/run/errors.ts'
import type { RedisClient } from '../../src/stores/redis/connect.ts'
import { counterFields, keys } from '../../src/stores/redis/keys.ts'
import { LARGE_BYTES, loadScript } from '../../src/stores/redis/scripts.ts'
import { envelope, quiet, silent, threeSinks } from '../support/pipeline.ts'
import { startSource, startStreams } from '../support/streams.ts'
import { until } from '../support/until.ts'

test('the janitor removes only what every group has acknowledged', async (t) => {
  const { client, intake, stream } = await startStreams(t)
  const janitor = new Janitor({ client, pipeline: threeSinks, partitions: 1, log: silent })
  for (let i = 0; i < 6; i++) await intake.append([envelope('t', `e${i}`)])
  assert.equal(await janitor.trim(), 0)
  const read = (count: number, group = 'process') =>
    client.call('XREADGROUP', 'GROUP', group, 'c', 'COUNT', count, 'STREAMS', stream, '>') as Promise<
      [string, [string, unknown][]][]
    >
  const ids = (await read(4))[0]![1].map(([id]) => id)
  assert.equal(await janitor.trim(), 0, 'delivered is not acknowledged')
  await client.xack(stream, 'process', ids[0]!, ids[2]!)
  assert.equal(await janitor.trim(), 1, 'up to the oldest that is pending')
  await client.xack(stream, 'process', ids[1]!, ids[3]!)
  assert.equal(await janitor.trim(), 3)
  assert.equal(await client.xlen(stream), 2, 'an undelivered entry stays')
  await client.call('XGROUP', 'CREATE', stream, 'other', '0')
  const rest = (await read(2))[0]![1].map(([id]) => id)
  await client.xack(stream, 'process', ...rest)
  assert.equal(await janitor.trim(), 0, 'another group has not read them')
  await client.call('XGROUP', 'DESTROY', stream, 'process')
  const others = (await read(2, 'other'))[0]![1].map(([id]) => id)
  await client.xack(stream, 'other', ...others)
  assert.equal(await janitor.trim(), 0, 'a declared group is missing')
})

async function appendAgain(t: TestContext, bytes: number): Promise<void> {
  const { client } = await startStreams(t)
  const block = { ...packBlock([envelope('t', 'e')], undefined, 'p:1'), rows: Buffer.alloc(bytes, 'r') }
  const append = (sequence: number, ...producers: string[]) => {
    const blocks = producers.map((producer, i) => {
      const stream = ['intake', 'archive', 'outcomes'][i % 3]!
      return blockAppend({ partition: 0, stream, lane: 'live', producer: keys.producer(0, producer) }, block)
    })
    return appendBlocks(client, blocks, { sequence, producerTtlMs: 60_000 })
  }
  assert.equal(await append(7, 'a', 'a', 'a'), 3)
  const first = await client.xrevrange(keys.stream(0, 'intake', 'live'), '+', '-')
  assert.equal(await append(7, 'a', 'a', 'a'), 0, 'its reply was lost')
  assert.equal(await append(6, 'a', 'a'), 0, 'it was held up')
  assert.deepEqual(await client.xrevrange(keys.stream(0, 'intake', 'live'), '+', '-'), first)
  assert.equal(await append(7, 'b', 'a', 'a'), 1)
  assert.equal(await append(8, 'a', 'a', 'b'), 3)
  for (const [stream, entries] of Object.entries({ intake: 3, archive: 2, outcomes: 2 })) {
    assert.equal(await client.xlen(keys.stream(0, stream, 'live')), entries, stream)
    assert.equal(await client.hget(keys.counters(0), `added:${stream}:live:events`), String(entries))
  }
}

test('a commit sent again or late adds nothing, and blocks of one producer share their fate', (t) => appendAgain(t, 1))

test('a large commit sent again or late adds nothing, and its blocks share their fate', (t) =>
  appendAgain(t, LARGE_BYTES))

test('events that wait for Redis are limited; more are refused until there is room', async (t) => {
  const { client, intake, stream } = await startStreams(t)
  const many = new Array(60_000).fill(envelope('t', 'e'))
  const taken = intake.append(many)
  await assert.rejects(intake.append(many), BackpressureError)
  await taken
  await until(() =>
    intake.append(many).then(
      () => true,
      () => false,
    ),
  )
  assert.equal(await client.xlen(stream), 2)
})

test('a block is closed when it is full, and later events go to the next one', async (t) => {
  const { client, intake, stream } = await startStreams(t)
  const full = new Array(1_000).fill(envelope('t', 'e'))
  await Promise.all([intake.append(full), intake.append([envelope('t', 'f')])])
  assert.equal(await client.xlen(stream), 2)
})

test('each of two commits adds its block', async (t) => {
  const { client, intake, stream } = await startStreams(t)
  for (const id of ['a', 'b']) await intake.append([envelope('t', id)])
  assert.equal(await client.xlen(stream), 2)
})

function readerOf(client: RedisClient, claimIdleMs = 60_000, group = 'process'): StreamGroupReader {
  return new StreamGroupReader({
    ...{ client, blocking: client, partition: 0, group, consumer: 'next', from: 'intake', to: 'enriched' },
    ...{ joinsOutput: true, outcomesTo: undefined, countsJobs: true, dedupWindowMs: 1_000, claimIdleMs },
    entriesMax: { live: 3, batch: 2 },
    ensureGroups: async () => {},
  })
}

test('live goes first: a step and a sink read the batch lane when no live entry waits', async (t) => {
  const { client } = await startStreams(t)
  const add = (stream: string, lane: Lane, id: string) =>
    client.xadd(keys.stream(0, stream, lane), '*', ...encodeBlock(packBlock([envelope('t', id)])))
  for (const stream of ['intake', 'enriched']) {
    for (const lane of ['batch', 'live'] as const) for (let i = 0; i < 3; i++) await add(stream, lane, `${lane} ${i}`)
  }
  const reader = readerOf(client)
  const lanesOfStep = []
  for (let i = 0; i < 3; i++) lanesOfStep.push(...(await reader.next()).entries.map(({ lane }) => lane))
  assert.deepEqual(lanesOfStep, ['live', 'live', 'live', 'batch', 'batch', 'batch'])
  const source = await startSource(client)
  const runs = await source.readNew(3, 0)
  assert.deepEqual(
    runs.map(({ lane, entries }) => [lane, entries.length]),
    [['live', 3]],
  )
  await source.release()
})

test('a wait for entries ends with its signal at any time, and takes no later entries', async (t) => {
  const { client, intake, stream } = await startStreams(t)
  const blocking = quiet((client as Redis).duplicate())
  t.after(() => blocking.disconnect())
  const answers: Promise<unknown>[] = []
  const telling = {
    call: (...args: [string]) => answers[answers.push(client.call(...args)) - 1],
  } as unknown as RedisClient
  const wait = (signal: AbortSignal) =>
    readBlocking({
      ...{ blocking, client: telling, group: 'process', consumer: 'c', count: 1 },
      ...{ streams: [stream], blockMs: BLOCK_MS_MAX, signal },
    })
  const isWaiting = async () => /cmd=xreadgroup/.test(String(await client.call('CLIENT', 'LIST')))
  const idNow = () => blocking.call('CLIENT', 'ID') as Promise<number>
  for (const when of ['before', 'while it waits', 'after a reconnection']) {
    if (when === 'after a reconnection') {
      const id = await idNow()
      await client.call('CLIENT', 'KILL', 'ID', id)
      await until(idNow, (other) => other !== id)
    }
    const ending = new AbortController()
    if (when === 'before') ending.abort()
    const waits = wait(ending.signal)
    if (when !== 'before') await until(isWaiting)
    ending.abort()
    assert.deepEqual(await waits, [], when)
    // Its time limit would have ended it as well.
    assert.ok((await Promise.all(answers.splice(0))).includes(1), when)
  }
  await intake.append([envelope('t', 'a')])
  assert.equal(((await client.xpending(stream, 'process')) as [number])[0], 0)

  const going = new AbortController()
  const [[, entries]] = (await wait(going.signal)) as [[Buffer, unknown[]]]
  going.abort()
  assert.equal(entries.length, 1)
  assert.deepEqual(await Promise.all(answers), [])
})

test('entries put back in parts are for their group alone, and keep their claim id', async (t) => {
  const { client, intake } = await startStreams(t)
  for (const lane of ['live', 'batch'] as const) {
    await client.xgroup('CREATE', keys.stream(0, 'intake', lane), 'other', '0', 'MKSTREAM')
  }
  await intake.append([envelope('t', 'a'), envelope('t', 'b')])
  const reader = readerOf(client)
  const { claimId, ...entry } = (await reader.next()).entries[0]!
  assert.equal(await reader.settle({ ...entry, claimId }, isolate(splitByIdentity(entry.block))), 'written')
  const parts = (await reader.next()).entries
  assert.deepEqual(
    parts.map((part) => [part.block.count, part.repeated, part.claimId.equals(claimId)]),
    [
      [1, true, true],
      [1, true, true],
    ],
  )
  const others = (await readerOf(client, 60_000, 'other').next()).entries
  assert.deepEqual(
    others.map(({ block }) => block.count),
    [2],
    'it had, or has, the whole',
  )
})

test('events that a step drops finish for their job, with their reason, in one settlement', async (t) => {
  const { client } = await startStreams(t)
  const block = packBlock([envelope('t', 'a'), envelope('t', 'b')], 'job-1')
  await client.xadd(keys.stream(0, 'intake', 'live'), '*', ...encodeBlock(block))
  const reader = readerOf(client)
  const [entry] = (await reader.next()).entries
  const settlement = { ...isolate([]), dropped: new Map([['filtered', 2]]) }
  assert.equal(await reader.settle(entry!, settlement), 'written')
  assert.equal(await reader.settle(entry!, settlement), 'settled before')
  assert.deepEqual(await client.hgetall(keys.jobProgress(0, 'job-1')), { filtered: '2' })
})

test('an entry deleted while pending becomes a dead letter, and is no longer pending', async (t) => {
  const { client } = await startStreams(t)
  const stream = keys.stream(0, 'intake', 'live')
  const id = await client.xadd(stream, '*', 'n', '1')
  await client.call('XREADGROUP', 'GROUP', 'process', 'gone', 'STREAMS', stream, '>')
  await client.xdel(stream, id!)
  const reader = readerOf(client, 0)
  const { broken } = await reader.next()
  assert.deepEqual(
    broken.map((entry) => [entry.id, entry.reason]),
    [[id, 'deleted while pending']],
  )
  for (const entry of broken) await reader.bury(entry)
  assert.equal(await client.xlen(keys.dead(0)), 1)
  assert.equal(await client.hget(keys.counters(0), counterFields.done('process', 'intake', 'live', 'entries')), '1')
})

test('consumers that are long gone are removed, except those with pending entries', async (t) => {
  const { client, intake, stream } = await startStreams(t)
  await intake.append([envelope('t', 'a')])
  await client.call('XREADGROUP', 'GROUP', 'process', 'owes', 'STREAMS', stream, '>')
  await client.xgroup('CREATECONSUMER', stream, 'process', 'idle')
  const forget = loadScript(import.meta.url, '../../src/stores/redis/deleteIdleConsumers-1.lua')
  assert.equal(await forget.run(client, [stream], ['process', 60_000]), 0, 'not long gone')
  const forgotten = await until(
    () => forget.run(client, [stream], ['process', 0]),
    (consumers) => Number(consumers) > 0,
  )
  assert.equal(forgotten, 1)
  assert.equal(await forget.run(client, [stream], ['process', 0]), 0)
  assert.equal(((await client.xpending(stream, 'process')) as [number])[0], 1)
})

test('status counts lag, pending and events from real operations', async (t) => {
  const { client, intake, stream } = await startStreams(t)
  await intake.append([envelope('t', 'a'), envelope('t', 'b')])
  await intake.append([envelope('t', 'c')])
  await client.call('XREADGROUP', 'GROUP', 'process', 'c', 'COUNT', 1, 'STREAMS', stream, '>')
  const { streams } = await readStatus(client, threeSinks)
  const live = streams.find((entry) => entry.group === 'process' && entry.lane === 'live')!
  assert.deepEqual([live.lag_entries, live.pending_entries, live.waiting_events, live.partition], [1, 1, 3, 0])
})

test('a barrier waits for existing entries, wherever they are, and not for new ones', async (t) => {
  const { client, intake, stream } = await startStreams(t)
  const enriched = keys.stream(0, 'enriched', 'live')
  const soon = () => performance.now() + 300
  const late = () => performance.now() + 30_000
  const read = async (key: string, group: string) => {
    const answer = await client.call('XREADGROUP', 'GROUP', group, 'c', 'COUNT', 1, 'STREAMS', key, '>')
    return (answer as [string, [string, unknown][]][])[0]![1][0]![0]
  }
  await untilPassed(client, threeSinks, 1, soon())
  await intake.append([envelope('t', 'first')])
  await assert.rejects(
    untilPassed(client, threeSinks, 1, soon()),
    /group process did not finish the received events in time/,
  )
  const id = await read(stream, 'process')
  await intake.append([envelope('t', 'second')])
  await assert.rejects(untilPassed(client, threeSinks, 1, soon()), /group process/, 'a delivered entry is not finished')
  assert.notEqual(await read(stream, 'process'), id)
  await client.xack(stream, 'process', (await client.xrange(stream, '-', '+'))[1]![0])
  await assert.rejects(untilPassed(client, threeSinks, 1, soon()), /group process/, 'an earlier one is still pending')

  const looks = async () => /cmdstat_xpending:calls=(\d+)/.exec(await client.info('commandstats'))?.[1]
  const before = await looks()
  const passed = untilPassed(client, threeSinks, 1, late())
  // It has set its mark before it checks which groups have passed it.
  await until(async () => (await looks()) !== before)
  await intake.append([envelope('t', 'after the mark')])
  await client.xadd(enriched, '*', 'what', 'came of it')
  await client.xack(stream, 'process', id)
  await client.xack(enriched, 'clickhouse', await read(enriched, 'clickhouse'))
  await passed

  const whole = await read(stream, 'process')
  const seen = await looks()
  const apart = assert.rejects(untilPassed(client, threeSinks, 1, performance.now() + 1_000), /group process/)
  await until(async () => (await looks()) !== seen)
  const part = await client.xadd(stream, '*', 'put', 'back')
  await client.hincrby(keys.counters(0), counterFields.outcome('process', 'isolated'), 2)
  await client.xack(stream, 'process', whole)
  await apart
  assert.equal(await read(stream, 'process'), part, 'the barrier waited for it')
})
