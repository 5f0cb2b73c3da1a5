import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ingest } from '../../pipelines/ingest.ts'
import { EventEnvelope } from '../../schemas/api/event.ts'
import { NOTHING_KNOWN } from '../../src/enrichment/answers/answer.ts'
import type { Lane } from '../../src/pipeline/declaration/lane.ts'
import type { Address } from '../../src/pipeline/event/address.ts'
import { compileValidator } from '../../src/pipeline/event/validator.ts'
import { makeParts } from '../../src/pipeline/sinks/archive/part.ts'
import { Feeder } from '../../src/pipeline/sources/batch/feeder.ts'
import { readChunk } from '../../src/pipeline/sources/batch/read-chunk.ts'
import { RedisFeederStore } from '../../src/pipeline/sources/batch/redis/feeder-store.ts'
import { RedisBatchJobs } from '../../src/pipeline/sources/batch/redis/jobs.ts'
import { acceptEvents } from '../../src/pipeline/sources/live/keep.ts'
import { type RawEntry, readEntry } from '../../src/pipeline/streams/entries.ts'
import { agreeOnPartitions, createGroups } from '../../src/pipeline/streams/topology.ts'
import { systemClock } from '../../src/run/clock.ts'
import { connectRedis, type RedisClient } from '../../src/stores/redis/connect.ts'
import { counterFields, keys } from '../../src/stores/redis/keys.ts'
import { readWhole } from '../support/batch.ts'
import { quiet, silent, startIntake } from '../support/pipeline.ts'
import { readEvents } from '../support/read-events.ts'
import { startTestRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

const NO_ADDRESS = '{"events":[{"ip":"no"}]}'

const PARTITIONS = 2
const check = compileValidator(EventEnvelope)

/** Addresses are noise when their host name was asked for in this turn: the cached answer has expired. */
class Names {
  readonly asked = new Set<string>()
  readonly enricher = { enrich: ({ text }: Address) => ({ ...NOTHING_KNOWN, noise: this.asked.has(text) }) }

  async prefetch(addresses: readonly Address[]): Promise<void> {
    for (const { text } of addresses) this.asked.add(text)
    setImmediate(() => this.asked.clear())
  }
}

async function start(t: TestContext) {
  const redis = await startTestRedis(t)
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop', timeoutMs: 5_000 }))
  t.after(() => client.disconnect())
  await agreeOnPartitions(client, PARTITIONS)
  await createGroups(client, ingest, PARTITIONS)
  const limits = { openMax: 3, deadlineMs: 2_000, clock: systemClock, closedBecause: () => undefined }
  const jobs = new RedisBatchJobs({ client, partitions: PARTITIONS, ...limits })
  const store = new RedisFeederStore({ client, pipeline: ingest, partitions: PARTITIONS })
  const upload = async (tenant: string, archived: boolean, lines: readonly string[]) => {
    const begun = await jobs.begin(tenant, archived)
    await begun.write(Buffer.from(lines.join('\n')))
    return (await begun.complete()).jobId
  }
  return { url: redis.url, client, store, upload }
}

/** All entries of a stream, in all partitions. */
async function entriesOf(client: RedisClient, stream: string, lane: Lane) {
  const found = []
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const raw = (await client.callBuffer('XRANGE', keys.stream(partition, stream, lane), '-', '+')) as RawEntry[]
    for (const one of raw) {
      const entry = readEntry(one, lane, partition, 1)
      assert.ok('block' in entry)
      found.push(entry)
    }
  }
  return found
}

test('payloads name the commit of their events, live and of a job, and are added once', async (t) => {
  const { url, client, store, upload } = await start(t)
  const { intake, stop } = startIntake(url, PARTITIONS)
  t.after(stop)
  const receipt = { tenantId: 'acme', archived: true, receivedAtMs: Date.now() }
  const events = Array.from({ length: 20 }, (_, i) => ({
    ip: i % 5 === 0 ? 'nowhere' : '192.0.2.1',
    event_id: `e${i}`,
  }))
  const enricher = { enrich: () => NOTHING_KNOWN }
  const text = JSON.stringify({ events })
  const { envelopes, payloads } = acceptEvents(text, readEvents(text), receipt, enricher)
  await intake.append(envelopes, payloads)
  // None of it enters the intake.
  const alone = acceptEvents(NO_ADDRESS, readEvents(NO_ADDRESS), receipt, enricher)
  await intake.append(alone.envelopes, alone.payloads)

  await upload(
    'acme',
    true,
    events.map((event) => JSON.stringify(event)),
  )
  const [job] = await store.openJobs()
  const chunk = (await store.readChunk(job!))!
  const context = {
    ...receipt,
    receivedAtMs: job!.receivedAtMs,
    job: job!.id,
    partitions: PARTITIONS,
    check,
    enricher,
  }
  const reading = readWhole(chunk, context)
  // A feeder that died after it feeds the chunk again.
  for (let i = 0; i < 3; i++) await store.feed(job!, reading)

  for (const lane of ['live', 'batch'] as const) {
    const taken = new Map(
      (await entriesOf(client, 'intake', lane)).map(({ partition, block }) => [
        `${partition} ${block.commit}`,
        block.count,
      ]),
    )
    assert.equal(taken.size, PARTITIONS)
    const archived = await entriesOf(client, 'archive', lane)
    for (const { partition, block } of archived) {
      const invalid = block.rows.toString().match(/invalid_ip/g)?.length ?? 0
      assert.equal(taken.get(`${partition} ${block.commit}`) ?? 0, block.count - invalid)
    }
    assert.equal(archived.length, lane === 'live' ? PARTITIONS + 1 : PARTITIONS)
    const parts = await makeParts(archived)
    const lines = parts.reduce((sum, { index }) => sum + index.lines, 0)
    assert.equal(lines, lane === 'live' ? 21 : 20)
  }
  assert.deepEqual(await store.payloadsInLane(), { waiting: 20, added: 20 })
})

test('a job waits while too much of it waits for the archive; other tenants continue', async (t) => {
  const { client, store, upload } = await start(t)
  const lines = (tenant: string) =>
    Array.from({ length: 3_000 }, (_, i) => `{"ip":"192.0.2.1","k":"${tenant}${i}${'x'.repeat(200)}"}`)
  const archivedJob = await upload('acme', true, lines('acme'))
  const otherJob = await upload('other', false, lines('other'))
  const names = new Names()
  const feeder = new Feeder({
    store,
    readerOf: () => readChunk,
    check,
    enricher: names.enricher,
    hostnames: names,
    partitions: PARTITIONS,
    waitingEventsMax: 1_000_000,
    waitingPayloadsMax: 500,
    clock: systemClock,
    log: silent,
  })
  await feeder.start()
  t.after(() => feeder.stop())
  const fed = async (jobId: string) => Number(await client.hget(keys.job(jobId), 'fed'))
  await until(async () => (await fed(otherJob)) === 3_000)
  const first = await fed(archivedJob)
  assert.ok(first >= 500 && first < 1_500, `${first} are fed`)
  assert.deepEqual(await store.payloadsInLane(), { waiting: first, added: first })
  // Events whose host names were resolved first get the same verdict as the step's.
  const [entry] = await entriesOf(client, 'archive', 'batch')
  const rows = entry!.block.rows.toString()
  assert.match(rows, /"_status":"filtered"/)
  assert.doesNotMatch(rows, /"_status":"ok"/)
  // The archiver starts again.
  await until(async () => {
    for (let partition = 0; partition < PARTITIONS; partition++) {
      const counters = await client.hgetall(keys.counters(partition))
      const added = counters[counterFields.added('archive', 'batch', 'events')] ?? 0
      await client.hset(keys.counters(partition), counterFields.done('archive', 'archive', 'batch', 'events'), added)
    }
    return (await fed(archivedJob)) === 3_000
  })
})
