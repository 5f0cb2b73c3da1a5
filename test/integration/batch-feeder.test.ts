import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ingest } from '../../pipelines/ingest.ts'
import { Feeder } from '../../src/batch/feeder.ts'
import { EmptyUploadError } from '../../src/batch/jobs.ts'
import { enrichmentColumns } from '../../src/core/event/row.ts'
import { systemClock } from '../../src/core/run/clock.ts'
import { BackpressureError } from '../../src/core/run/errors.ts'
import { NOTHING_KNOWN } from '../../src/enrichment/answers/answer.ts'
import { RedisFeederStore } from '../../src/redis/batch/feeder-store.ts'
import { RedisBatchJobs } from '../../src/redis/batch/jobs.ts'
import { connectRedis, type RedisClient } from '../../src/redis/connect.ts'
import { counterFields, keys } from '../../src/redis/keys.ts'
import { agreeOnPartitions, createGroups } from '../../src/redis/streams/topology.ts'
import { quiet, silent, startWorker } from '../support/pipeline.ts'
import { startTestRedis, type TestRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

const PARTITIONS = 2

const known = (domain: string, noise: boolean) => {
  const part = {
    companyId: domain,
    classification: noise ? ('cloud' as const) : ('business' as const),
    quality: 50,
    data: {},
  }
  return { ...part, noise, answerJson: '', columns: enrichmentColumns(part) }
}
const company = known('example.com', false)
const cloud = known('cloud.example', true)
const enricher = { enrich: (address: { text: string }) => (address.text.startsWith('203.') ? cloud : company) }
const check = (value: unknown) =>
  typeof (value as { ip?: unknown })?.ip === 'string' ? [] : [{ path: 'ip', message: 'is required' }]

async function startBatch(t: import('node:test').TestContext, openMax = 3) {
  const redis = await startTestRedis(t)
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
  })
  return { redis, client, jobs }
}

async function startFeeder(redis: TestRedis, waitingEventsMax = 1_000_000) {
  const client = quiet(connectRedis(redis.url, { name: 'test-feeder', kind: 'loop', timeoutMs: 2_000 }))
  const store = new RedisFeederStore({ client, pipeline: ingest, partitions: PARTITIONS })
  const feeder = new Feeder({
    store,
    source: ingest.sources.batch,
    check,
    enricher: { enrich: () => NOTHING_KNOWN },
    hostnames: undefined,
    partitions: PARTITIONS,
    waitingEventsMax,
    waitingPayloadsMax: waitingEventsMax,
    log: silent,
  })
  await feeder.start()
  return async () => {
    await feeder.stop()
    client.disconnect()
  }
}

/** Stands in for the ClickHouse sink: acknowledges what it reads, and counts it as inserted. */
async function drainAsSink(client: RedisClient): Promise<number> {
  let drained = 0
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const stream = keys.stream(partition, 'enriched', 'batch')
    const reply = (await client.call('XREADGROUP', 'GROUP', 'clickhouse', 's', 'COUNT', 10, 'STREAMS', stream, '>')) as
      | [string, [string, string[]][]][]
      | null
    for (const [id, fields] of reply?.[0]?.[1] ?? []) {
      const field = (name: string) => fields[fields.findIndex((value, i) => i % 2 === 0 && value === name) + 1]!
      const events = Number(field('n'))
      const done = counterFields.done('clickhouse', 'enriched', 'batch', 'events')
      await client
        .multi()
        .xack(stream, 'clickhouse', id)
        .hincrby(keys.counters(partition), done, events)
        .hincrby(keys.jobProgress(partition, field('j')), 'stored', events)
        .exec()
      drained += events
    }
  }
  return drained
}

async function upload(jobs: RedisBatchJobs, tenant: string, body: string): Promise<string> {
  const begun = await jobs.begin(tenant)
  const bytes = Buffer.from(body)
  for (let at = 0; at < bytes.length; at += 100_000) await begun.write(bytes.subarray(at, at + 100_000))
  return (await begun.complete()).jobId
}

async function completed(client: RedisClient, jobs: RedisBatchJobs, tenant: string, jobId: string) {
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

test('a job counts every line, names the bad ones, and leaves nothing but its record', async (t) => {
  const { redis, client, jobs } = await startBatch(t)
  const worker = await startWorker(redis.url, ingest, 'process', PARTITIONS, enricher)
  const stopFeeder = await startFeeder(redis)
  const lines = [
    '',
    '{"ip":"192.0.2.1","event_id":"a"}',
    '{"ip":"192.0.2.1","event_id":"a"}\r',
    '{"ip":"x"}',
    'nonsense',
  ]
  lines.push('{"no":"ip"}', '  ', '{"ip":"203.0.113.1"}', '{"ip":"192.0.2.2"}', '{"ip":"192.0.2.2"}')
  for (let i = 0; i < 20_000; i++) lines.push(`{"ip":"192.0.2.${i % 200}","event_id":"e${i}"}`)
  const jobId = await upload(jobs, 'acme', lines.join('\n'))
  const job = await completed(client, jobs, 'acme', jobId)
  assert.deepEqual(job.result_summary, {
    processed: 20_008,
    valid_ips: 20_005,
    identified_ips: 20_004,
    rejected: 2,
    filtered: 1,
    invalid_ip: 1,
    duplicates: 1,
    errors: [
      { line: 5, detail: job.result_summary!.errors[0]!.detail },
      { line: 6, detail: 'ip is required' },
    ],
  })
  assert.match(job.result_summary!.errors[0]!.detail, /^is not JSON: /)
  assert.deepEqual([job.progress_current, job.progress_total, job.progress_pct], [20_008, 20_008, 100])
  assert.equal(await jobs.find('other', jobId), undefined, "another tenant's job")
  await until(
    () => client.keys('*job*'),
    (names) => names.length === 1,
  )
  assert.deepEqual(await client.keys('*job*'), [keys.job(jobId)])
  assert.deepEqual(await client.keys('*open*'), [])
  const ttl = await client.pttl(keys.job(jobId))
  assert.ok(ttl > 6.9 * 86_400_000 && ttl <= 7 * 86_400_000)
  await Promise.all([stopFeeder(), worker.stop()])
})

test('an upload that is aborted, blank, or died leaves nothing behind', async (t) => {
  const { redis, client, jobs } = await startBatch(t)
  const stopFeeder = await startFeeder(redis)
  const before = (await client.keys('*')).filter((name) => !name.includes('lease')).sort()
  const aborted = await jobs.begin('acme')
  await aborted.write(Buffer.alloc(600_000, '{"ip":"192.0.2.1"}\n'))
  await aborted.abort()
  const blank = await jobs.begin('acme')
  await blank.write(Buffer.from(' \n\n'))
  await assert.rejects(blank.complete(), EmptyUploadError)
  await blank.abort()
  const dead = await jobs.begin('acme')
  await dead.write(Buffer.alloc(600_000, '{"ip":"192.0.2.1"}\n'))
  // As when the process was killed: nobody aborts, and the keys expire.
  for (const name of await client.keys('{job:*')) await client.pexpire(name, 1)
  await until(
    () => client.keys('*'),
    (names) => names.filter((name) => !name.includes('lease')).length === before.length,
  )
  await dead.abort()
  await stopFeeder()
})

test('a tenant has only so many open jobs, and gets its place back', async (t) => {
  const { redis, client, jobs } = await startBatch(t, 2)
  const first = await jobs.begin('acme')
  await jobs.begin('acme').then((second) => second.abort())
  await upload(jobs, 'acme', '{"ip":"192.0.2.1"}')
  await assert.rejects(jobs.begin('acme'), BackpressureError)
  await jobs.begin('other').then((other) => other.abort())
  await first.abort()
  const worker = await startWorker(redis.url, ingest, 'process', PARTITIONS, enricher)
  const stopFeeder = await startFeeder(redis)
  const jobId = await upload(jobs, 'acme', '{"ip":"192.0.2.1"}')
  await completed(client, jobs, 'acme', jobId)
  await Promise.all([stopFeeder(), worker.stop()])
})

test('many jobs of one tenant do not starve another', async (t) => {
  const { redis, client, jobs } = await startBatch(t, 10)
  const large = Array.from({ length: 20_000 }, (_, i) => `{"ip":"192.0.2.1","event_id":"l${i}"}`).join('\n')
  const worker = await startWorker(redis.url, ingest, 'process', PARTITIONS, enricher)
  const largeIds = []
  for (let i = 0; i < 10; i++) largeIds.push(await upload(jobs, 'large', large))
  const smallId = await upload(jobs, 'small', '{"ip":"192.0.2.1"}')
  const stopFeeder = await startFeeder(redis, 5_000)
  await completed(client, jobs, 'small', smallId)
  const open = await Promise.all(largeIds.map((id) => jobs.find('large', id)))
  assert.ok(open.filter((job) => job!.status !== 'completed').length >= 9, 'the large ones were not done before it')
  await Promise.all([stopFeeder(), worker.stop()])
})

test('lost data fails the job with its reason, and its place is free again', async (t) => {
  const { redis, client, jobs } = await startBatch(t, 1)
  const jobId = await upload(jobs, 'acme', '{"ip":"192.0.2.1"}')
  await client.del(keys.chunks(jobId))
  const stopFeeder = await startFeeder(redis)
  const job = await until(
    () => jobs.find('acme', jobId),
    (found) => found!.status === 'failed',
  )
  assert.equal(job!.progress_message, 'part 1 of 1 of the upload is gone')
  assert.equal(job!.result_summary, null)
  await until(
    () => client.keys('*open*'),
    (names) => names.length === 0,
  )
  await stopFeeder()
})

test('a sign of life that comes late does not let the chunks of a completed upload expire', async (t) => {
  const { client, jobs } = await startBatch(t)
  const pexpire = client.pexpire.bind(client)
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const beats: Promise<number>[] = []
  client.pexpire = ((...args: Parameters<typeof pexpire>) => {
    const beat = released.then(() => pexpire(...args))
    beats.push(beat)
    return beat
  }) as typeof client.pexpire
  const done = upload(jobs, 'acme', '{"ip":"192.0.2.1"}\n')
  await until(
    () => client.keys('*chunks*'),
    (names) => names.length === 1,
  )
  for (let turn = 0; turn < 10; turn++) await client.ping()
  release()
  await done
  assert.ok((await Promise.all(beats)).length > 0)
  const [chunks] = await client.keys('*chunks*')
  assert.equal(await client.pttl(chunks!), -1)
})

test('a tenant sees its own jobs, the newest first, page by page, until their records are gone', async (t) => {
  const { redis, client, jobs } = await startBatch(t, 10)
  const ids: string[] = []
  for (let i = 0; i < 5; i++) ids.unshift(await upload(jobs, 'acme', `{"ip":"192.0.2.1","event_id":"${i}"}`))
  await upload(jobs, 'other', '{"ip":"192.0.2.1"}')
  const open = await jobs.begin('acme')
  const pages: string[][] = []
  for (let before: string | undefined; ; ) {
    const page = await jobs.list('acme', { limit: 2, before })
    pages.push(page.jobs.map(({ job_id }) => job_id))
    if (page.next === null) break
    before = page.next
  }
  // Those of one millisecond have an order of their own.
  assert.deepEqual([pages.map((page) => page.length), pages.flat().sort()], [[2, 2, 1], [...ids].sort()])
  assert.deepEqual(await jobs.list('nobody', { limit: 2, before: undefined }), { jobs: [], next: null })
  await assert.rejects(jobs.list('acme', { limit: 2, before: 'x' }), { name: 'InputError' })
  await open.abort()
  const worker = await startWorker(redis.url, ingest, 'process', PARTITIONS, enricher)
  const stopFeeder = await startFeeder(redis)
  for (const id of ids) await completed(client, jobs, 'acme', id)
  await until(async () => (await client.zcard(keys.endedBatches())) >= 5)
  // As when their time is over; the next job that ends takes them along.
  for (const member of await client.zrevrange(keys.endedBatches(), 0, -1))
    await client.zadd(keys.endedBatches(), '1', member)
  await client.del(...ids.map((id) => keys.job(id)))
  assert.deepEqual(await jobs.list('acme', { limit: 2, before: undefined }), { jobs: [], next: null })
  const last = await upload(jobs, 'other', '{"ip":"192.0.2.1"}')
  await completed(client, jobs, 'other', last)
  await until(async () => (await client.exists(keys.batchesOf('acme'))) === 0)
  await Promise.all([stopFeeder(), worker.stop()])
})

test('a cancelled job feeds nothing more, frees its place at once, and its progress does not go back', async (t) => {
  const { redis, client, jobs } = await startBatch(t, 1)
  const lines = Array.from({ length: 60_000 }, (_, i) => `{"ip":"192.0.2.1","event_id":"e${i}"}`)
  const jobId = await upload(jobs, 'acme', lines.join('\n'))
  const worker = await startWorker(redis.url, ingest, 'process', PARTITIONS, enricher)
  // Far from all of it may be in the pipeline.
  const stopFeeder = await startFeeder(redis, 1_000)
  const fed = async () => Number(await client.hget(keys.job(jobId), 'fed'))
  await until(async () => (await fed()) > 0)
  assert.equal(await jobs.cancel('other', jobId), undefined)
  const cancelled = await jobs.cancel('acme', jobId)
  assert.ok(typeof cancelled === 'object')
  assert.deepEqual([cancelled.status, cancelled.progress_message], ['failed', 'cancelled'])
  await jobs.begin('acme').then((next) => next.abort())
  const fedAtCancel = await fed()
  assert.ok(fedAtCancel < 60_000, `${fedAtCancel}`)
  assert.deepEqual(await jobs.cancel('acme', jobId), cancelled)
  let current = cancelled.progress_current
  await until(async () => {
    await drainAsSink(client)
    const job = (await jobs.find('acme', jobId))!
    assert.deepEqual([job.status, job.progress_message, job.result_summary], ['failed', 'cancelled', null])
    assert.ok(job.progress_current >= current)
    current = job.progress_current
    return current >= fedAtCancel
  })
  const next = await upload(jobs, 'acme', '{"ip":"192.0.2.1","event_id":"next"}')
  await completed(client, jobs, 'acme', next)
  // What the feeder had in hand at that moment, a chunk, and no more.
  assert.ok((await fed()) === fedAtCancel && current <= fedAtCancel + 10_000, `${current} of ${fedAtCancel}`)
  assert.deepEqual(await client.keys(`{job:${jobId}}:*`), [])
  await Promise.all([stopFeeder(), worker.stop()])
})

test('a cancel and an end by itself: the first one counts', async (t) => {
  const { redis, client, jobs } = await startBatch(t)
  const feeders = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => feeders.disconnect())
  const store = new RedisFeederStore({ client: feeders, pipeline: ingest, partitions: PARTITIONS })
  const summary = { processed: 1 } as never
  const jobOf = async (id: string) => (await store.openJobs()).find((job) => job.id === id)!
  const outcomes = new Set<string>()
  for (let i = 0; i < 20; i++) {
    const id = await upload(jobs, 'acme', '{"ip":"192.0.2.1"}')
    const job = await jobOf(id)
    const [first, second] = [() => jobs.cancel('acme', id), () => store.complete(job, summary)]
    const [a, b] = await Promise.all(i % 2 === 0 ? [first(), second()] : [second(), first()])
    const [cancelled, isCompleted] = i % 2 === 0 ? [a, b] : [b, a]
    const { status, result_summary } = (await jobs.find('acme', id))!
    assert.equal(isCompleted, cancelled === 'ended')
    assert.deepEqual([status, result_summary === null], isCompleted ? ['completed', false] : ['failed', true])
    outcomes.add(status)
    await store.cleanUp(job)
    if (!isCompleted) assert.equal(await store.advance(job, { fed: 1, rejected: 0, invalidIp: 0, errors: [] }), false)
    assert.equal((await jobs.find('acme', id))!.status, status)
  }
  assert.deepEqual([...outcomes].sort(), ['completed', 'failed'])
  assert.deepEqual(await client.keys('*open*'), [])
})
