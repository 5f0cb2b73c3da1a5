import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { ingest } from '../../pipelines/ingest.ts'
import type { Addresses } from '../../schemas/tenant.ts'
import { NOTHING_KNOWN } from '../../src/enrichment/answers/answer.ts'
import type { ChunkReading, ReadLines } from '../../src/pipeline/declaration/source.ts'
import { enrichmentColumns } from '../../src/pipeline/event/row.ts'
import { Feeder, type FeederOptions } from '../../src/pipeline/sources/batch/feeder.ts'
import { readChunk } from '../../src/pipeline/sources/batch/read-chunk.ts'
import { RedisFeederStore } from '../../src/pipeline/sources/batch/redis/feeder-store.ts'
import { RedisBatchJobs } from '../../src/pipeline/sources/batch/redis/jobs.ts'
import { agreeOnPartitions, createGroups } from '../../src/pipeline/streams/topology.ts'
import { systemClock } from '../../src/run/clock.ts'
import { Announcements } from '../../src/stores/redis/announcements.ts'
import { connectRedis, type RedisClient } from '../../src/stores/redis/connect.ts'
import { counterFields, keys } from '../../src/stores/redis/keys.ts'
import { quiet, silent } from './pipeline.ts'
import { startTestRedis, type TestRedis } from './redis.ts'
import { until } from './until.ts'

export const PARTITIONS = 2
const PAUSES_MAX = 100

const known = (domain: string, noise: boolean) => {
  const part = {
    companyId: domain,
    classification: noise ? ('cloud' as const) : ('business' as const),
    quality: 50,
    data: {},
  }
  return { ...part, noise, answerJson: '', ...enrichmentColumns(part) }
}
export const company = known('example.com', false)
export const cloud = known('cloud.example', true)
/** 203.… is noise, all others an organisation. */
export const enricher = { enrich: (address: { text: string }) => (address.text.startsWith('203.') ? cloud : company) }
const check = (value: unknown) =>
  typeof (value as { ip?: unknown })?.ip === 'string' ? [] : [{ path: 'ip', message: 'is required' }]

/** Reads a chunk without a pause. */
export function readWhole(...args: Parameters<typeof readChunk>): ChunkReading {
  const reading = readChunk(...args)
  for (;;) {
    const { done, value } = reading.next()
    if (done) return value
  }
}

/** Reads any chunk in this way, and requires that other work runs while it pauses. */
export function readingOf(reading: ChunkReading): ReadLines {
  return function* () {
    let hadTurn = false
    setImmediate(() => {
      hadTurn = true
    })
    for (let pauses = 0; !hadTurn; pauses++) {
      if (pauses === PAUSES_MAX) throw new Error('no other work had a turn')
      yield
    }
    return reading
  }
}

/** A Redis with the streams of the pipeline, and jobs in it. @param given a running one; by default its own */
export async function startBatch<Given extends Pick<TestRedis, 'url'> = TestRedis>(
  t: TestContext,
  openMax = 3,
  given?: Given,
  spoolBytesMax?: number,
) {
  const redis = (given ?? (await startTestRedis(t))) as Given
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  await agreeOnPartitions(client, PARTITIONS)
  await createGroups(client, ingest, PARTITIONS)
  const jobs = new RedisBatchJobs({
    client,
    partitions: PARTITIONS,
    openMax,
    deadlineMs: 2_000,
    clock: systemClock,
    closedBecause: () => undefined,
    ...(spoolBytesMax !== undefined && { spoolBytesMax }),
  })
  return { redis, client, jobs }
}

/** Returns the function that stops it. */
export async function startFeeder(
  redis: Pick<TestRedis, 'url'>,
  waitingEventsMax = 1_000_000,
  options: Partial<FeederOptions> = {},
) {
  const client = quiet(connectRedis(redis.url, { name: 'test-feeder', kind: 'loop', timeoutMs: 2_000 }))
  const store = new RedisFeederStore({ client, pipeline: ingest, partitions: PARTITIONS })
  const listening = quiet(connectRedis(redis.url, { name: 'test-jobs', kind: 'loop' }))
  const feeder = new Feeder({
    store,
    opened: new Announcements(listening, keys.jobsOpened()),
    readerOf: () => readChunk,
    check,
    enricher: { enrich: () => NOTHING_KNOWN },
    hostnames: undefined,
    partitions: PARTITIONS,
    waitingEventsMax,
    waitingPayloadsMax: waitingEventsMax,
    clock: systemClock,
    log: silent,
    ...options,
  })
  await feeder.start()
  return async () => {
    await feeder.stop()
    client.disconnect()
  }
}

/** Like the real sink, counts only acknowledged entries: a fail-over may have lost one. */
const SETTLE = `
  if redis.call('XACK', KEYS[1], 'clickhouse', ARGV[1]) == 1 then
    redis.call('HINCRBY', KEYS[2], ARGV[2], ARGV[3])
    redis.call('HINCRBY', KEYS[3], 'stored', ARGV[3])
  end`

/** Replaces the ClickHouse sink: acknowledges its entries, and counts them as inserted. */
export async function drainAsSink(client: RedisClient): Promise<number> {
  let drained = 0
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const stream = keys.stream(partition, 'enriched', 'batch')
    // The first are those that it read and did not acknowledge.
    for (const from of ['0', '>']) {
      const group = ['GROUP', 'clickhouse', 's', 'COUNT', 10]
      const reply = (await client.call('XREADGROUP', ...group, 'STREAMS', stream, from)) as
        | [string, [string, string[]][]][]
        | null
      for (const [id, fields] of reply?.[0]?.[1] ?? []) {
        const field = (name: string) => fields[fields.findIndex((value, i) => i % 2 === 0 && value === name) + 1]!
        const events = Number(field('n'))
        const done = counterFields.done('clickhouse', 'enriched', 'batch', 'events')
        const names = [stream, keys.counters(partition), keys.jobProgress(partition, field('j'))]
        await client.call('EVAL', SETTLE, names.length, ...names, id, done, events)
        drained += events
      }
    }
  }
  return drained
}

export async function upload(
  jobs: RedisBatchJobs,
  tenant: string,
  body: string,
  addresses?: Addresses,
): Promise<string> {
  const begun = await jobs.begin(tenant, false, addresses)
  const bytes = Buffer.from(body)
  for (let at = 0; at < bytes.length; at += 100_000) await begun.write(bytes.subarray(at, at + 100_000))
  return (await begun.complete()).jobId
}

/** Waits for the end of a job, and drains its events from the pipeline meanwhile. */
export async function completed(client: RedisClient, jobs: RedisBatchJobs, tenant: string, jobId: string) {
  let current = 0
  return until(
    async () => {
      await drainAsSink(client)
      const job = (await jobs.find(tenant, jobId))!
      assert.ok(job.progress_current >= current, 'progress never goes back')
      assert.ok(job.progress_current <= job.progress_total)
      current = job.progress_current
      return job
    },
    (job) => job.status === 'completed',
  )
}
