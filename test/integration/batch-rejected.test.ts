import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ingest } from '../../pipelines/ingest.ts'
import { BATCH_LIMITS, type RejectedLine } from '../../schemas/api/batch.ts'
import { EventEnvelope } from '../../schemas/api/event.ts'
import { removeBatchJobs, removeQuotes } from '../../src/operations/erasure/redis/jobs.ts'
import type { RejectedOfJob } from '../../src/pipeline/declaration/batch-jobs.ts'
import type { ChunkCounts } from '../../src/pipeline/declaration/source.ts'
import { compileValidator } from '../../src/pipeline/event/validator.ts'
import type { OpenJob } from '../../src/pipeline/sources/batch/feeder-ports.ts'
import { RedisFeederStore } from '../../src/pipeline/sources/batch/redis/feeder-store.ts'
import { RECORD_TTL_MS } from '../../src/pipeline/sources/batch/redis/job-record.ts'
import type { RedisBatchJobs } from '../../src/pipeline/sources/batch/redis/jobs.ts'
import { removeTexts } from '../../src/pipeline/sources/batch/redis/kept-lines.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { completed, enricher, PARTITIONS, startBatch, startFeeder, upload } from '../support/batch.ts'
import { quiet, startWorker } from '../support/pipeline.ts'
import { until } from '../support/until.ts'

const check = compileValidator(EventEnvelope)

async function rejectedOf(jobs: RedisBatchJobs, tenant: string, jobId: string) {
  const found = (await jobs.rejected(tenant, jobId)) as RejectedOfJob
  let text = ''
  for await (const piece of found.pieces) {
    assert.ok(piece.length <= 65_536, `${piece.length} characters`)
    text += piece
  }
  const lines = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as RejectedLine)
  return { kept: found.kept, complete: found.complete, lines }
}

/** A feeder whose process ends at each chunk, once before the job advances and once before it knows so. */
class DyingStore extends RedisFeederStore {
  readonly #ends = new Map<number, number>()
  override async advance(job: OpenJob, counts: ChunkCounts): Promise<boolean> {
    const ends = this.#ends.get(job.next) ?? 0
    this.#ends.set(job.next, ends + 1)
    if (ends === 0) throw new Error('ended before')
    const result = await super.advance(job, counts)
    if (ends === 1) throw new Error('ended after')
    return result
  }
}

test('each rejected line comes back once, whenever a feeder ends', async (t) => {
  const { redis, client, jobs } = await startBatch(t)
  const worker = await startWorker(redis.url, ingest, 'process', PARTITIONS, enricher)
  const feeding = quiet(connectRedis(redis.url, { name: 'test-dying', kind: 'loop' }))
  t.after(() => feeding.disconnect())
  const store = new DyingStore({ client: feeding, pipeline: ingest, partitions: PARTITIONS })
  const lines: string[] = []
  const wanted: [line: number, code: string, text: string | undefined][] = []
  const reject = (text: string, code: string) => {
    lines.push(text)
    wanted.push([lines.length, code, text])
  }
  for (let i = 0; i < 14_000; i++) {
    if (i % 100 === 1) reject(`nonsense ${i} "é"`, 'not_json')
    if (i % 100 === 2) reject(`{"ip":"192.0.2.1","session_id":"${i}"}`, 'schema')
    if (i % 100 === 3) reject(`{"ip":"nowhere","event_id":"n${i}"}`, 'invalid_ip')
    if (i % 500 === 4) reject(`${'['.repeat(200)}${']'.repeat(200)}`, 'too_deep')
    lines.push(`{"ip":"192.0.2.${i % 200}","event_id":"e${i}"}`)
  }
  const jobId = await upload(jobs, 'acme', lines.join('\r\n'))
  assert.deepEqual((await jobs.find('acme', jobId))!.rejected_lines, { kept: 0, complete: false, expires_at: null })
  const stopFeeder = await startFeeder(redis, 1_000_000, { store, check })
  const job = await completed(client, jobs, 'acme', jobId)
  const found = await rejectedOf(jobs, 'acme', jobId)
  assert.deepEqual(
    found.lines.map(({ line, code, text }) => [line, code, text]),
    wanted,
  )
  assert.deepEqual([found.kept, found.complete], [wanted.length, true])
  assert.match(found.lines[0]!.detail, /^is not JSON: /)
  assert.equal(found.lines[1]!.detail, 'session_id must be an integer')
  const { kept, complete, expires_at } = job.rejected_lines!
  assert.deepEqual([kept, complete], [wanted.length, true])
  assert.equal(Date.parse(expires_at!) - Date.parse(job.ended_at!), 86_400_000)
  assert.ok(Date.parse(job.started_at!) <= Date.parse(job.ended_at!))
  assert.deepEqual([job.stored, job.cancelled, job.label], [14_000, false, null])
  assert.ok((await jobs.rejected('other', jobId)) === undefined, "another tenant's job")
  const ttlMs = await until(
    () => client.pttl(keys.jobRejected(jobId)),
    (ms) => ms <= 86_400_000,
  )
  assert.ok(ttlMs > 0.9 * 86_400_000)
  await client.del(keys.jobRejected(jobId))
  assert.equal(await jobs.rejected('acme', jobId), 'expired')
  await Promise.all([stopFeeder(), worker.stop()])
})

test('lines that are not UTF-8 come back as bytes, and lines that were not stored without text', async (t) => {
  const { redis, client, jobs } = await startBatch(t)
  const worker = await startWorker(redis.url, ingest, 'process', PARTITIONS, enricher)
  const stopFeeder = await startFeeder(redis)
  const bad = Buffer.from('{"ip":"192.0.2.1","x":"\xff"}', 'latin1')
  const tooLong = Buffer.alloc(BATCH_LIMITS.lineMaxBytes + 10, 'x')
  const begun = await jobs.begin('acme')
  for (const part of [bad, Buffer.from('\r\n\n'), tooLong, Buffer.from('\n{"ip":"192.0.2.1"}')]) await begun.write(part)
  const { jobId } = await begun.complete()
  await completed(client, jobs, 'acme', jobId)
  const { lines } = await rejectedOf(jobs, 'acme', jobId)
  assert.deepEqual(lines, [
    { line: 1, code: 'not_utf8', detail: 'is not UTF-8', text_base64: bad.toString('base64') },
    { line: 3, code: 'too_long', detail: `is longer than ${BATCH_LIMITS.lineMaxBytes} bytes` },
  ])
  await Promise.all([stopFeeder(), worker.stop()])
})

test('lines as long as a line may be come back cut, and in small pieces', async (t) => {
  const { redis, client, jobs } = await startBatch(t)
  const stopFeeder = await startFeeder(redis)
  // Each control character takes six bytes in JSON, and a character of three bytes lies across every boundary of pieces.
  const lines = ['\u0001', '€'].map((one) => one.repeat(Math.floor(BATCH_LIMITS.lineMaxBytes / Buffer.byteLength(one))))
  const jobId = await upload(jobs, 'acme', lines.join('\n'))
  await completed(client, jobs, 'acme', jobId)
  const found = await rejectedOf(jobs, 'acme', jobId)
  const { rejectedTextMaxBytes: maxBytes } = BATCH_LIMITS
  assert.deepEqual(
    found.lines.map(({ line, text, text_cut }) => [line, text, text_cut]),
    [
      [1, '\u0001'.repeat(maxBytes), true],
      [2, '€'.repeat(Math.floor(maxBytes / 3)), true],
    ],
  )
  assert.equal(found.complete, true)
  await stopFeeder()
})

test('a job keeps its first rejected lines up to its limit, and says that these are not all', async (t) => {
  const { redis, client, jobs } = await startBatch(t)
  const stopFeeder = await startFeeder(redis)
  const { rejectedLinesMax, rejectedTenantBytesMax } = BATCH_LIMITS
  const jobId = await upload(jobs, 'acme', 'x\n'.repeat(rejectedLinesMax + 50_000))
  const job = await completed(client, jobs, 'acme', jobId)
  assert.equal(job.rejected, rejectedLinesMax + 50_000)
  const found = await rejectedOf(jobs, 'acme', jobId)
  assert.deepEqual([found.kept, found.complete, found.lines.length], [rejectedLinesMax, false, rejectedLinesMax])
  assert.deepEqual([found.lines[0]!.line, found.lines.at(-1)!.line], [1, rejectedLinesMax])
  assert.equal(job.rejected_lines!.complete, false)
  const kept = await client.memory('USAGE', keys.jobRejected(jobId))
  assert.ok(kept! < 4_000_000, `${kept} bytes`)

  // The tenant has a limit too; what expires makes room again.
  const bytes = keys.rejectedBytesOf('acme')
  assert.equal(await client.hget(bytes, 'all'), await client.hget(bytes, jobId))
  await client.hset(bytes, 'all', rejectedTenantBytesMax, 'earlier', rejectedTenantBytesMax)
  await client.zadd(keys.rejectedUntil('acme'), Date.now() + 60_000, 'earlier')
  const full = await upload(jobs, 'acme', 'nonsense')
  await completed(client, jobs, 'acme', full)
  assert.deepEqual(await rejectedOf(jobs, 'acme', full), { kept: 0, complete: false, lines: [] })
  await client.zadd(keys.rejectedUntil('acme'), 1, 'earlier')
  const after = await upload(jobs, 'acme', 'nonsense')
  await completed(client, jobs, 'acme', after)
  assert.equal((await rejectedOf(jobs, 'acme', after)).complete, true)
  assert.equal(await client.hexists(bytes, 'earlier'), 0)
  const ttlMs = await client.pttl(bytes)
  assert.ok(ttlMs > 0 && ttlMs <= RECORD_TTL_MS)
  await stopFeeder()
})

test('a chunk in hand of a cancelled job reserves no bytes, and what a lost job reserved becomes free', async (t) => {
  const { client, jobs } = await startBatch(t)
  const store = new RedisFeederStore({ client, pipeline: ingest, partitions: PARTITIONS })
  const counts: ChunkCounts = {
    ...{ fed: 0, rejected: 1, invalidIp: 0, errors: [], reasons: [] },
    lines: [{ lines: 1, text: '{"line":1}\n' }],
  }
  const cancelled = await upload(jobs, 'acme', 'nonsense')
  const [inHand] = await store.openJobs()
  await jobs.cancel('acme', cancelled)
  assert.equal(await store.advance(inHand!, counts), false)
  const bytes = keys.rejectedBytesOf('acme')
  assert.equal(await client.exists(bytes), 0)
  const { rejectedTenantBytesMax: maxBytes } = BATCH_LIMITS
  await client.hset(bytes, 'all', maxBytes, 'lost', maxBytes)
  const jobId = await upload(jobs, 'acme', 'nonsense')
  const open = (await store.openJobs()).find(({ id }) => id === jobId)!
  assert.equal(await store.advance(open, counts), true)
  assert.equal((await rejectedOf(jobs, 'acme', jobId)).kept, 1)
  assert.deepEqual(Object.keys(await client.hgetall(bytes)).sort(), ['all', jobId].sort())
})

test('the bytes of rejected lines may expire before the record of their jobs', async (t) => {
  const { client, jobs } = await startBatch(t)
  const store = new RedisFeederStore({ client, pipeline: ingest, partitions: PARTITIONS })
  await client.zadd(keys.rejectedUntil('acme'), 1, 'earlier')
  const jobId = await upload(jobs, 'acme', 'nonsense')
  const [open] = await store.openJobs()
  const lines = [{ lines: 1, text: '{"line":1}\n' }]
  assert.equal(await store.advance(open!, { fed: 0, rejected: 1, invalidIp: 0, errors: [], reasons: [], lines }), true)
  assert.equal((await rejectedOf(jobs, 'acme', jobId)).kept, 1)
  assert.equal(await client.exists(keys.rejectedUntil('acme')), 0)
})

test('rejected lines of all tenants together are bounded, and a full bound leaves jobs as they are', async (t) => {
  const { redis, client, jobs } = await startBatch(t)
  const worker = await startWorker(redis.url, ingest, 'process', PARTITIONS, enricher)
  const stopFeeder = await startFeeder(redis)
  const { rejectedAllBytesMax: maxBytes, rejectedTenantBytesMax } = BATCH_LIMITS
  assert.equal(rejectedTenantBytesMax, maxBytes / 4)
  const all = keys.rejectedBytes()
  const bytesOf = async () => ((await client.hgetall(all)) ?? {}) as Record<string, string>
  const keep = async (tenant: string, bytes: number) => {
    await client.hset(keys.rejectedBytesOf(tenant), 'all', bytes, 'kept', bytes)
    await client.zadd(keys.rejectedUntil(tenant), Date.now() + 3_600_000, 'kept')
    await client.hset(all, tenant, bytes)
    await client.hincrby(all, '*all', bytes)
  }
  const text = 'nonsense\n{"ip":"192.0.2.1"}'
  const send = async () => {
    const jobId = await upload(jobs, 'acme', text)
    const { rejected, stored, result_summary } = await completed(client, jobs, 'acme', jobId)
    assert.deepEqual([rejected, stored, result_summary!.processed], [1, 1, 2])
    const { kept, complete } = await rejectedOf(jobs, 'acme', jobId)
    return { jobId, kept, complete }
  }
  await keep('large', maxBytes - 100)
  const { jobId: first, ...none } = await send()
  assert.deepEqual(none, { kept: 0, complete: false })
  assert.equal(await client.exists(keys.jobRejected(first)), 0)

  // The lines of that tenant expire, and a fail-over brought a removed one back.
  await client.zadd(keys.rejectedUntil('large'), 1, 'kept')
  await client.hset(all, 'removed', 1)
  await client.hincrby(all, '*all', 1)
  assert.equal((await send()).kept, 0, 'the others are looked through again only after a while')
  await client.hdel(all, '*swept_at')
  const { kept, complete } = await send()
  assert.deepEqual([kept, complete], [1, true])
  const { acme, '*all': sum, '*swept_at': _, ...others } = await bytesOf()
  assert.deepEqual([others, sum, acme], [{}, acme, await client.hget(keys.rejectedBytesOf('acme'), 'all')])
  const ttlMs = await client.pttl(all)
  assert.ok(ttlMs > 0 && ttlMs <= RECORD_TTL_MS)

  // A tenant gets a quarter of what others leave free, so that one is always left for the next.
  await client.hset(all, '*swept_at', Date.now() + 60_000)
  await keep('half', maxBytes / 2)
  await client.hset(keys.rejectedBytesOf('acme'), 'all', maxBytes / 8, 'open', maxBytes / 8)
  await client.zadd(keys.rejectedUntil('acme'), Date.now() + 3_600_000, 'open')
  assert.equal((await send()).kept, 0)
  await client.hset(keys.rejectedBytesOf('acme'), 'all', maxBytes / 8 - 1_000, 'open', maxBytes / 8 - 1_000)
  assert.equal((await send()).kept, 1)
  await Promise.all([stopFeeder(), worker.stop()])
})

test('an erasure removes the texts of rejected lines, and the removal of a tenant all of them', async (t) => {
  const { redis, client, jobs } = await startBatch(t)
  const stopFeeder = await startFeeder(redis, 1_000_000, { check })
  const jobId = await upload(jobs, 'acme', 'of a person\n{"ip":"nowhere","event_id":"of-another"}')
  await completed(client, jobs, 'acme', jobId)
  assert.equal(await removeQuotes(client, 'acme'), 1)
  assert.equal(await removeQuotes(client, 'acme'), 0, 'may be repeated')
  const { lines, complete } = await rejectedOf(jobs, 'acme', jobId)
  assert.deepEqual(
    lines.map(({ line, code, text }) => [line, code, text]),
    [
      [1, 'not_json', undefined],
      [2, 'invalid_ip', undefined],
    ],
  )
  assert.doesNotMatch(JSON.stringify(lines), /person|another/)
  assert.equal(complete, true)
  // They expire while their texts are removed.
  const next = await upload(jobs, 'acme', 'of a third')
  await completed(client, jobs, 'acme', next)
  const expiring = new Proxy(client, {
    get: (target, name) => {
      const value = Reflect.get(target, name, target) as unknown
      if (name !== 'lindexBuffer') return typeof value === 'function' ? value.bind(target) : value
      return async (key: string, at: number) => {
        const part = await target.lindexBuffer(key, at)
        await target.del(key)
        return part
      }
    },
  })
  assert.equal(await removeTexts(expiring, next), false)
  await stopFeeder()
  await removeBatchJobs(client, 'acme', PARTITIONS)
  assert.deepEqual([...(await client.keys('{job:*')), ...(await client.keys('*rejected*'))], [])
})
