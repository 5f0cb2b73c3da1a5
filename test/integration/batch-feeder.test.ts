import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ingest } from '../../pipelines/ingest.ts'
import { EventEnvelope } from '../../schemas/api/event.ts'
import { tenantEnricher } from '../../src/enrichment/judge.ts'
import type { ChunkReading } from '../../src/pipeline/declaration/source.ts'
import type { Address } from '../../src/pipeline/event/address.ts'
import { compileValidator } from '../../src/pipeline/event/validator.ts'
import type { LaneLevel, OpenJob } from '../../src/pipeline/sources/batch/feeder-ports.ts'
import { RedisFeederStore } from '../../src/pipeline/sources/batch/redis/feeder-store.ts'
import { UnavailableError } from '../../src/run/errors.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { RedisTenantStore } from '../../src/tenants/redis/tenant-store.ts'
import {
  cloud,
  company,
  completed,
  drainAsSink,
  enricher,
  PARTITIONS,
  startBatch,
  startFeeder,
  upload,
} from '../support/batch.ts'
import { quiet, startWorker } from '../support/pipeline.ts'
import { until } from '../support/until.ts'

test('a job counts every line, names the bad ones, and leaves its record and its rejected lines', async (t) => {
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
    filtered_reasons: { cloud: 1 },
    invalid_ip: 1,
    duplicates: 1,
    errors: [
      { line: 5, detail: job.result_summary!.errors[0]!.detail },
      { line: 6, detail: 'ip is required' },
    ],
    rejected_reasons: [
      { reason: 'is not JSON', count: 1, lines: [5] },
      { reason: 'ip is required', count: 1, lines: [6] },
    ],
  })
  assert.match(job.result_summary!.errors[0]!.detail, /^is not JSON: /)
  assert.deepEqual([job.progress_current, job.progress_total, job.progress_pct], [20_008, 20_008, 100])
  assert.equal(job.progress_message, 'all 20008 events finished, 2 rejected (1 of them: is not JSON)')
  assert.deepEqual([job.rejected, job.problem], [2, null])
  assert.deepEqual(job.rejected_reasons, job.result_summary!.rejected_reasons)
  assert.equal(await jobs.find('other', jobId), undefined, "another tenant's job")
  await until(
    async () => [...(await client.keys('*job*')), ...(await client.keys('*open*'))],
    (names) => names.length === 2,
  )
  assert.deepEqual((await client.keys('*job*')).sort(), [keys.job(jobId), keys.jobRejected(jobId)].sort())
  assert.deepEqual(await client.keys('*open*'), [])
  const ttl = await client.pttl(keys.job(jobId))
  assert.ok(ttl > 6.9 * 86_400_000 && ttl <= 7 * 86_400_000)
  await Promise.all([stopFeeder(), worker.stop()])
})

test('a job that rejects most lines completes, is reported as a problem, and shows the reason', async (t) => {
  const { redis, client, jobs } = await startBatch(t)
  const worker = await startWorker(redis.url, ingest, 'process', PARTITIONS, enricher)
  const stopFeeder = await startFeeder(redis, 1_000_000, { check: compileValidator(EventEnvelope) })
  // The job has several chunks.
  const lines = Array.from({ length: 30_000 }, (_, i) => `{"ip":"192.0.2.1","session_id":"s_${i}"}`)
  lines[10] = '{"ip":"192.0.2.1"}'
  lines[20] = '{"ip":"nowhere"}'
  lines[30] = 'nonsense'
  const jobId = await upload(jobs, 'acme', lines.join('\n'))
  const job = await completed(client, jobs, 'acme', jobId)
  const { errors, rejected_reasons: reasons, rejected, invalid_ip } = job.result_summary!
  assert.deepEqual(
    [job.status, job.progress_pct, rejected, invalid_ip, errors.length],
    ['completed', 100, 29_998, 1, 100],
  )
  assert.deepEqual(reasons, [
    { reason: 'session_id must be an integer', count: 29_997, lines: [1, 2, 3, 4, 5] },
    { reason: 'is not JSON', count: 1, lines: [31] },
  ])
  const text = '29998 rejected (29997 of them: session_id must be an integer)'
  assert.equal(job.progress_message, `all 30000 events finished, ${text}`)
  assert.equal(job.problem, `most of the 30000 lines were not kept: ${text}, 1 with an invalid address`)
  const [listed] = (await jobs.list('acme', { limit: 1, before: undefined }))!.jobs
  assert.deepEqual([listed!.rejected, listed!.problem, listed!.rejected_reasons], [29_998, job.problem, reasons])
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

test('the feeder is no faster than the batch lane drains', async (t) => {
  const { redis, client, jobs } = await startBatch(t, 1)
  const feeding = quiet(connectRedis(redis.url, { name: 'test-feeder', kind: 'loop' }))
  t.after(() => feeding.disconnect())
  let looks = 0
  class Watched extends RedisFeederStore {
    override eventsInLane(): Promise<LaneLevel> {
      looks++
      return super.eventsInLane()
    }
  }
  const store = new Watched({ client: feeding, pipeline: ingest, partitions: PARTITIONS })
  const lines = Array.from({ length: 60_000 }, (_, i) => `{"ip":"192.0.2.1","event_id":"e${i}"}`)
  const jobId = await upload(jobs, 'acme', lines.join('\n'))
  const stopFeeder = await startFeeder(redis, 100, { store })
  const fed = async () => Number(await client.hget(keys.job(jobId), 'fed'))
  const first = await until(fed)
  const seen = looks
  await until(() => looks > seen + 5)
  assert.equal(await fed(), first, 'a chunk is more than may wait')
  await stopFeeder()
})

test('lost data fails the job with a reason, and frees its place', async (t) => {
  const { redis, client, jobs } = await startBatch(t, 1)
  const jobId = await upload(jobs, 'acme', '{"ip":"192.0.2.1"}')
  await client.del(keys.chunk(jobId, 1))
  const stopFeeder = await startFeeder(redis)
  const job = await until(
    () => jobs.find('acme', jobId),
    (found) => found!.status === 'failed',
  )
  assert.equal(job!.progress_message, 'chunk 1 of 1 of the upload was lost')
  assert.equal(job!.result_summary, null)
  await until(
    () => client.keys('*open*'),
    (names) => names.length === 0,
  )
  await stopFeeder()
})

test('a job accepted by an earlier version is fed from its stream', async (t) => {
  const { redis, client, jobs } = await startBatch(t, 1)
  const line = '{"ip":"192.0.2.1","event_id":"before"}\n'
  const jobId = await upload(jobs, 'acme', line)
  await client.del(keys.chunk(jobId, 1), keys.chunks(jobId))
  await client.xadd(keys.chunks(jobId), '1-0', 'l', '1', 'b', line)
  const worker = await startWorker(redis.url, ingest, 'process', PARTITIONS, enricher)
  const stopFeeder = await startFeeder(redis)
  const job = await completed(client, jobs, 'acme', jobId)
  assert.equal(job.result_summary!.identified_ips, 1)
  await Promise.all([stopFeeder(), worker.stop()])
})

test('a cancelled job feeds nothing more, frees its place, and keeps its progress', async (t) => {
  const { redis, client, jobs } = await startBatch(t, 1)
  const lines = Array.from({ length: 60_000 }, (_, i) => `{"ip":"192.0.2.1","event_id":"e${i}"}`)
  const jobId = await upload(jobs, 'acme', lines.join('\n'))
  const worker = await startWorker(redis.url, ingest, 'process', PARTITIONS, enricher)
  // Few of its lines may be in the pipeline.
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
  // At most the chunk that the feeder held at that moment.
  assert.ok((await fed()) === fedAtCancel && current <= fedAtCancel + 10_000, `${current} of ${fedAtCancel}`)
  assert.deepEqual(await client.keys(`{job:${jobId}}:*`), [])
  await Promise.all([stopFeeder(), worker.stop()])
})

test('the feeder judges lines of tenants without addresses, host names included', async (t) => {
  const { redis, client, jobs } = await startBatch(t)
  const tenant = { id: 'acme', plan: 'starter', archive: false, addresses: 'dropped', createdAt: '' } as const
  await new RedisTenantStore(client).createTenant(tenant)
  // These are noise only because of their host names.
  const asked = new Set<string>()
  const prefetch = async (addresses: readonly Address[]) => addresses.forEach(({ text }) => void asked.add(text))
  const byName = { enrich: ({ text }: Address) => (asked.has(text) && text.startsWith('198.') ? cloud : company) }
  const never = {
    enrich: () => {
      throw new Error('a stage asked for an address')
    },
  }
  const worker = await startWorker(redis.url, ingest, 'process', PARTITIONS, never)
  const stopFeeder = await startFeeder(redis, 1_000, { enricher: byName, hostnames: { prefetch } })
  const lines = ['192.0.2.1', '198.51.100.1', '192.0.2.2'].map((ip) => `{"ip":"${ip}"}`).join('\n')
  const jobId = await upload(jobs, 'acme', lines, 'dropped')
  const { result_summary: summary } = await completed(client, jobs, 'acme', jobId)
  assert.deepEqual([summary!.valid_ips, summary!.identified_ips, summary!.filtered, summary!.rejected], [3, 2, 1, 0])
  assert.deepEqual(asked, new Set(['192.0.2.1', '198.51.100.1', '192.0.2.2']))

  await client.hdel(keys.tenants(), 'acme')
  const orphan = await upload(jobs, 'acme', lines, 'truncated')
  const failed = await until(
    () => jobs.find('acme', orphan),
    (job) => job!.status === 'failed',
  )
  assert.equal(failed.progress_message, 'its tenant was deleted')
  await Promise.all([stopFeeder(), worker.stop()])
})

test('a chunk fed in part and again under changed rules keeps each line once', async (t) => {
  const { redis, client, jobs } = await startBatch(t)
  const tenants = new RedisTenantStore(client)
  await tenants.createTenant({ id: 'acme', plan: 'starter', archive: false, addresses: 'full', createdAt: '' })
  let killed = 0
  class Killed extends RedisFeederStore {
    override async feed(job: OpenJob, reading: ChunkReading): Promise<void> {
      if (killed++ > 0) return await super.feed(job, reading)
      await super.feed(job, { ...reading, blocks: new Map([[0, reading.blocks.get(0)!]]) })
      await tenants.changeRules('acme', ['own 198.51.100.0/24'], [])
      throw new UnavailableError('killed between two partitions')
    }
  }
  const feeding = quiet(connectRedis(redis.url, { name: 'test-killed', kind: 'loop' }))
  t.after(() => feeding.disconnect())
  const store = new Killed({ client: feeding, pipeline: ingest, partitions: PARTITIONS })
  const worker = await startWorker(redis.url, ingest, 'process', PARTITIONS, enricher)
  const stopFeeder = await startFeeder(redis, 1_000, { store, enricher, tenantEnricher })
  const lines = Array.from({ length: 400 }, (_, i) => {
    return `{"ip":"${i % 2 ? '192.0.2' : '198.51.100'}.${i % 250}","event_id":"e${i}"}`
  })
  const { result_summary: summary } = await completed(
    client,
    jobs,
    'acme',
    await upload(jobs, 'acme', lines.join('\n')),
  )
  const { valid_ips, identified_ips, filtered, duplicates, rejected } = summary!
  assert.ok(killed > 1)
  assert.deepEqual([valid_ips, identified_ips + filtered, duplicates, rejected], [400, 400, 0, 0])
  assert.ok(filtered > 50 && filtered < 150, `filtered of 200, those in the second partition: ${filtered}`)
  await Promise.all([stopFeeder(), worker.stop()])
})
