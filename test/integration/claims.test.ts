import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ingest } from '../../pipelines/ingest.ts'
import { decodeBlock } from '../../src/pipeline/event/block.ts'
import type { Enricher } from '../../src/pipeline/event/enrichment.ts'
import { type Envelope, EnvelopeState, identityOf } from '../../src/pipeline/event/envelope.ts'
import { enrichmentColumns } from '../../src/pipeline/event/row.ts'
import { runStages } from '../../src/pipeline/runner/step-worker.ts'
import { readEntry } from '../../src/pipeline/streams/entries.ts'
import { StreamGroupReader } from '../../src/pipeline/streams/group-reader.ts'
import { RedisSeenStore } from '../../src/pipeline/streams/seen-store.ts'
import { createGroups } from '../../src/pipeline/streams/topology.ts'
import { systemClock } from '../../src/run/clock.ts'
import { connectRedis, type RedisClient } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { envelope, quiet, startIntake, startWorker } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

/*
 * A claim belongs to an event that is kept. When the data changes between two deliveries of an entry, one may claim an
 * event that the other judges as noise.
 */

const INTAKE = keys.stream(0, 'intake', 'live')
const { dedupWindowMs: windowMs } = ingest.limits
const [{ stages, group, from }] = ingest.steps as [(typeof ingest.steps)[number]]

function enricherOf(noise: boolean): Enricher {
  const part = { companyId: noise ? '' : 'example.com', classification: undefined, quality: 50, data: {} }
  return { enrich: () => ({ ...part, noise, answerJson: '', ...enrichmentColumns(part) }) }
}

function rawEvent(eventId: string): Envelope {
  const row = `192.0.2.1\tt\t${eventId}\t1\t1\t\t\\N\t\t\t\t\t`
  return { identity: identityOf('t', eventId), state: EnvelopeState.Raw, row }
}

async function setUp(t: TestContext) {
  const redis = await startTestRedis(t)
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  await createGroups(client, ingest, 1)
  const { intake, stop } = startIntake(redis.url, 1)
  t.after(stop)
  const seen = new RedisSeenStore({ client, clock: systemClock, group, from, windowMs })
  return { redis, client, intake, seen }
}

/** Reads the next entry as a consumer that then disappears. */
async function deliverTo(client: RedisClient, consumer: string) {
  const reply = (await client.callBuffer(
    'XREADGROUP',
    ...['GROUP', group, consumer, 'COUNT', 1, 'STREAMS', INTAKE, '>'],
  )) as [Buffer, [Buffer, Buffer[]][]][]
  const entry = readEntry(reply[0]![1][0]!, 'live', 0, 1)
  assert.ok('block' in entry)
  return entry
}

/** A reader that settles entries delivered to any consumer. */
function readerOf(url: string, t: TestContext): StreamGroupReader {
  const client = quiet(connectRedis(url, { name: 'reader', kind: 'loop' }))
  t.after(() => client.disconnect())
  const { readEntriesMax: entriesMax, dedupWindowMs } = ingest.limits
  const place = {
    partition: 0,
    group,
    consumer: 'late',
    from,
    to: 'enriched',
    joinsOutput: true,
    outcomesTo: 'outcomes',
    countsJobs: true,
    entriesMax,
    dedupWindowMs,
  }
  return new StreamGroupReader({ client, blocking: client, ...place, claimIdleMs: 1_000, ensureGroups: async () => {} })
}

async function storedIds(client: RedisClient): Promise<string[]> {
  const entries = (await client.callBuffer('XRANGE', keys.stream(0, 'enriched', 'live'), '-', '+')) as [
    Buffer,
    Buffer[],
  ][]
  const rows = entries.flatMap(([, fields]) => decodeBlock(fields).rows.toString().trimEnd().split('\n'))
  return rows.map((row) => row.split('\t')[2]!)
}

const settled = (client: RedisClient) => async () => {
  const [pending] = (await client.call('XPENDING', INTAKE, group)) as [number]
  return pending === 0
}

test('a worker dies after its claim and its event becomes noise: kept, and its repeat dropped', async (t) => {
  const { redis, client, intake, seen } = await setUp(t)
  await intake.append([rawEvent('e')])
  const entry = await deliverTo(client, 'dies')
  const settlement = await runStages(stages, entry.block, entry, {
    enricher: enricherOf(false),
    hostnames: undefined,
    seen,
  })
  assert.equal(settlement.output?.count, 1, 'it would have been kept, and is claimed')
  // Until the entry is taken over, a repeat is dropped because of the claim.
  const meanwhile = await startWorker(redis.url, ingest, group, 1, enricherOf(false), 60_000)
  t.after(meanwhile.stop)
  await intake.append([envelope('t', 'e')])
  await until(async () => (await client.hget(keys.counters(0), 'outcome:process:duplicates')) === '1')
  await meanwhile.stop()
  const second = await startWorker(redis.url, ingest, group, 1, enricherOf(true))
  t.after(second.stop)
  await until(settled(client))
  assert.deepEqual(await storedIds(client), ['e'])
  assert.equal(await client.hget(keys.counters(0), 'outcome:process:filtered'), null)
})

test('a clock that is ahead for a moment does not keep the claims of a lost worker', async (t) => {
  const { redis, client, intake } = await setUp(t)
  await intake.append([rawEvent('e')])
  await deliverTo(client, 'dies')
  const reader = readerOf(redis.url, t)
  const ahead = t.mock.method(Date, 'now', () => performance.timeOrigin + performance.now() + 3_600_000)
  assert.deepEqual((await reader.next()).entries, [], 'it has not been idle for long enough')
  ahead.mock.restore()
  // The first of these waits as if idle.
  await until(async () => (await reader.next()).entries.length > 0)
})

test('a delayed first delivery does not miss the claim of the next one', async (t) => {
  const { redis, client, intake, seen } = await setUp(t)
  await intake.append([rawEvent('e')])
  const late = await deliverTo(client, 'late')
  const tools = (noise: boolean) => ({ enricher: enricherOf(noise), hostnames: undefined, seen })
  const asNoise = await runStages(stages, late.block, late, tools(true))
  assert.equal(asNoise.output, undefined)
  await client.call('XCLAIM', INTAKE, group, 'next', 0, late.id)
  await runStages(stages, late.block, { ...late, repeated: true }, tools(false))
  const reader = readerOf(redis.url, t)
  assert.equal(await reader.settle(late, asNoise), 'contested')
  const again = { ...late, repeated: true }
  const kept = await runStages(stages, late.block, again, tools(true))
  assert.equal(await reader.settle(again, kept), 'written')
  assert.deepEqual(await storedIds(client), ['e'])
})

test('entries settled together become one; those delivered or settled elsewhere are kept apart', async (t) => {
  const { redis, client, intake, seen } = await setUp(t)
  const tools = { enricher: enricherOf(false), hostnames: undefined, seen }
  const reader = readerOf(redis.url, t)
  const counter = async (field: string) => Number((await client.hget(keys.counters(0), field)) ?? 0)
  const enriched = async () => Number(await client.xlen(keys.stream(0, 'enriched', 'live')))
  const deliver = async (...ids: string[]) => {
    const delivered: Awaited<ReturnType<typeof deliverTo>>[] = []
    for (const id of ids) {
      await intake.append([envelope('t', id), envelope('t', 'first-1')])
      delivered.push(await deliverTo(client, 'late'))
    }
    const settlements = await Promise.all(delivered.map((entry) => runStages(stages, entry.block, entry, tools)))
    const settle = () => Promise.all(delivered.map((entry, i) => reader.settle(entry, settlements[i]!)))
    return { delivered, settle }
  }

  const plain = await deliver('first-1', 'first-2', 'first-3')
  assert.deepEqual(await plain.settle(), ['written', 'written', 'written'])
  assert.equal(await enriched(), 1, 'one entry')
  assert.deepEqual(await storedIds(client), ['first-1', 'first-2', 'first-3'])
  assert.deepEqual(await plain.settle(), ['settled before', 'settled before', 'settled before'])
  assert.equal(await counter('outcome:process:kept'), 3)
  assert.equal(await counter('outcome:process:duplicates'), 3)
  assert.equal(await counter('done:process:intake:live:entries'), 3)
  const [[, outcome]] = (await client.xrange(keys.stream(0, 'outcomes', 'live'), '-', '+')) as [[string, string[]]]
  const sources = outcome[outcome.indexOf('r') + 1]!.trimEnd()
    .split('\n')
    .map((row) => row.split('\t')[0]!)
  const places = plain.delivered.map((entry) => `${entry.block.commit}/process:0:live:${entry.id}`)
  assert.deepEqual(sources, places, 'each names the commit that brought it')

  const taken = await deliver('second-1', 'second-2', 'second-3')
  await client.call('XCLAIM', INTAKE, group, 'next', 0, taken.delivered[1]!.id)
  assert.deepEqual(await taken.settle(), ['written', 'contested', 'written'])
  const again = { ...taken.delivered[1]!, repeated: true }
  assert.equal(await reader.settle(again, await runStages(stages, again.block, again, tools)), 'written')

  const partly = await deliver('third-1', 'third-2', 'third-3')
  const [ahead] = partly.delivered.slice(1)
  assert.equal(await reader.settle(ahead!, await runStages(stages, ahead!.block, ahead!, tools)), 'written')
  assert.deepEqual(await partly.settle(), ['written', 'settled before', 'written'])
  const expected = ['first', 'second', 'third'].flatMap((time) => [1, 2, 3].map((i) => `${time}-${i}`))
  assert.deepEqual((await storedIds(client)).sort(), expected)
  assert.equal(await counter('done:process:intake:live:entries'), 9)
})

test('a worker that wakes after its entry was settled claims nothing; filtered events are new', async (t) => {
  const { redis, client, intake, seen } = await setUp(t)
  await intake.append([rawEvent('e'), envelope('t', 'known')])
  const entry = await deliverTo(client, 'sleeps')
  const noisy = await startWorker(redis.url, ingest, group, 1, enricherOf(true))
  t.after(noisy.stop)
  await until(settled(client), (done) => done)
  await noisy.stop()
  const tools = { enricher: enricherOf(false), hostnames: undefined, seen }
  await assert.rejects(runStages(stages, entry.block, entry, tools), { name: 'SettledElsewhereError' })
  assert.deepEqual(
    await client.keys('{p0}:seen:*').then((names) => names.filter((name) => !/:[mn]$/.test(name)).length),
    1,
  )
  const worker = await startWorker(redis.url, ingest, group, 1, enricherOf(false))
  t.after(worker.stop)
  await intake.append([rawEvent('e'), envelope('t', 'known'), envelope('t', 'last')])
  const ids = await until(
    () => storedIds(client),
    (found) => found.includes('last'),
  )
  assert.deepEqual(ids, ['known', 'e', 'last'], 'a repeat of a kept event stays a duplicate')
  await worker.stop()
})

test('a block that crashes every process is split, with the claims of an earlier delivery', async (t) => {
  const { redis, client, intake, seen } = await setUp(t)
  const twins = [rawEvent('twin'), rawEvent('twin'), rawEvent('other')]
  await intake.append(twins)
  const entry = await deliverTo(client, 'dies')
  await runStages(stages, entry.block, entry, { enricher: enricherOf(false), hostnames: undefined, seen })
  await client.call('XCLAIM', INTAKE, group, 'dies', 0, entry.id, 'RETRYCOUNT', 9, 'IDLE', 60_000)
  const worker = await startWorker(redis.url, ingest, group, 1, enricherOf(false))
  t.after(worker.stop)
  const ids = await until(
    () => storedIds(client),
    (found) => found.length >= 2,
  )
  await until(settled(client), (done) => done)
  assert.deepEqual(ids.sort(), ['other', 'twin'])
  assert.deepEqual((await storedIds(client)).sort(), ['other', 'twin'])
  assert.equal(await client.hget(keys.counters(0), 'outcome:process:isolated'), '3')
  assert.equal(await client.hget(keys.counters(0), 'outcome:process:duplicates'), '1')
  await worker.stop()
})
