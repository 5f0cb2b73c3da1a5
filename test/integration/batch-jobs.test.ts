import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ingest } from '../../pipelines/ingest.ts'
import type { BatchJob } from '../../schemas/api/batch.ts'
import { removeBatchJobs } from '../../src/operations/erasure/redis/jobs.ts'
import { NO_JOBS, waitingOf } from '../../src/operations/status/collect.ts'
import { readBatchJobs } from '../../src/operations/status/redis/jobs.ts'
import { readServers } from '../../src/operations/status/redis/servers.ts'
import { redisWarnings } from '../../src/operations/status/verdict.ts'
import { EmptyUploadError } from '../../src/pipeline/declaration/batch-jobs.ts'
import type { RejectedGroup } from '../../src/pipeline/declaration/source.ts'
import { RedisFeederStore } from '../../src/pipeline/sources/batch/redis/feeder-store.ts'
import { removeStrayProgress } from '../../src/pipeline/sources/batch/redis/stray-progress.ts'
import { spoolChunk, UPLOAD_TTL_MS } from '../../src/pipeline/sources/batch/redis/upload-spool.ts'
import { readStatus } from '../../src/pipeline/streams/status.ts'
import { BackpressureError } from '../../src/run/errors.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { completed, enricher, PARTITIONS, startBatch, startFeeder, upload } from '../support/batch.ts'
import { quiet, startWorker } from '../support/pipeline.ts'
import { until } from '../support/until.ts'

test('an upload that is aborted, blank, or died leaves nothing', async (t) => {
  const { redis, client, jobs } = await startBatch(t)
  const stopFeeder = await startFeeder(redis)
  const before = (await client.keys('*')).filter((name) => !name.includes('lease')).sort()
  const aborted = await jobs.begin('acme')
  await aborted.write(Buffer.alloc(600_000, '{"ip":"192.0.2.1"}\n'))
  await aborted.abort()
  assert.deepEqual(await client.keys('{job:*'), [])
  const blank = await jobs.begin('acme')
  await blank.write(Buffer.from(' \n\n'))
  await assert.rejects(blank.complete(), EmptyUploadError)
  await blank.abort()
  const dead = await jobs.begin('acme')
  await dead.write(Buffer.alloc(600_000, '{"ip":"192.0.2.1"}\n'))
  // They are compressed before they are sent.
  await until(
    () => client.keys('{job:*}:chunk:*'),
    (names) => names.length === 2,
  )
  // As after a kill: the upload is never aborted, and its keys expire.
  for (const name of await client.keys('{job:*')) await client.pexpire(name, 1)
  await until(
    () => client.keys('*'),
    (names) => names.filter((name) => !name.includes('lease')).length === before.length,
  )
  await dead.abort()
  await stopFeeder()
})

test('a tenant has a limit of open jobs, gets places back, and each new job is announced', async (t) => {
  const { redis, client, jobs } = await startBatch(t, 2)
  const listening = quiet(connectRedis(redis.url, { name: 'test-jobs', kind: 'loop' }))
  t.after(() => listening.disconnect())
  let announced = 0
  listening.on('message', () => announced++)
  await listening.subscribe(keys.jobsOpened())
  const first = await jobs.begin('acme')
  await jobs.begin('acme').then((second) => second.abort())
  await upload(jobs, 'acme', '{"ip":"192.0.2.1"}')
  await assert.rejects(jobs.begin('acme'), BackpressureError)
  await jobs.begin('other').then((other) => other.abort())
  await first.abort()
  await listening.ping()
  assert.equal(announced, 4)
  const worker = await startWorker(redis.url, ingest, 'process', PARTITIONS, enricher)
  const stopFeeder = await startFeeder(redis)
  const jobId = await upload(jobs, 'acme', '{"ip":"192.0.2.1"}')
  await completed(client, jobs, 'acme', jobId)
  await Promise.all([stopFeeder(), worker.stop()])
})

test('a late heartbeat does not let the chunks of a completed upload expire', async (t) => {
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

test('a repeated chunk changes nothing, after the end of its upload or after it was fed', async (t) => {
  const { client, jobs } = await startBatch(t)
  const again = (jobId: string, number: number, lines: string) =>
    spoolChunk(client, { jobId, number }, { firstLine: 1, gaps: [], bytes: Buffer.from(lines) })
  const uploading = await jobs.begin('acme')
  const { jobId } = uploading
  assert.equal(await again(jobId, 2, 'b'), 2, 'too early')
  assert.equal(await again(jobId, 1, 'a'), 1)
  assert.equal(await again(jobId, 1, 'a'), 1)
  assert.equal(await again(jobId, 2, 'b'), 1)
  assert.equal(await client.xlen(keys.chunks(jobId)), 2)
  await uploading.abort()
  const done = await upload(jobs, 'acme', '{"ip":"192.0.2.1"}\n')
  const kept = await client.get(keys.chunk(done, 1))
  assert.equal(await again(done, 1, 'late'), 0)
  assert.deepEqual([await client.get(keys.chunk(done, 1)), await client.pttl(keys.chunk(done, 1))], [kept, -1])
  await client.unlink(keys.chunk(done, 1))
  assert.equal(await again(done, 1, 'late'), 0)
  const ttl = await client.pttl(keys.chunk(done, 1))
  assert.ok(ttl > 0 && ttl <= UPLOAD_TTL_MS, 'it goes by itself')
})

test('an upload that lost lines in Redis is refused', async (t) => {
  const { client, jobs } = await startBatch(t)
  const uploading = await jobs.begin('acme')
  await uploading.write(Buffer.alloc(600_000, '{"ip":"192.0.2.1"}\n'))
  await until(
    () => client.keys(keys.chunk(uploading.jobId, 1)),
    (names) => names.length === 1,
  )
  await client.del(keys.chunk(uploading.jobId, 1))
  await assert.rejects(uploading.complete(), /a chunk of the upload was lost/)
  await uploading.abort()
  assert.equal(await client.exists(keys.job(uploading.jobId)), 0)
  const another = await jobs.begin('acme')
  await another.write(Buffer.alloc(600_000, '{"ip":"192.0.2.1"}\n'))
  await until(async () => (await client.exists(keys.chunk(another.jobId, 2))) === 1)
  await client.del(keys.chunks(another.jobId))
  await assert.rejects(another.complete(), /a chunk of the upload was lost/)
  await another.abort()
})

test('an upload that a fail-over removed from the open jobs is refused', async (t) => {
  const { redis, jobs } = await startBatch(t)
  const feeders = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => feeders.disconnect())
  for (const isForgotten of [true, false]) {
    const begun = await jobs.begin('acme')
    await begun.write(Buffer.from('{"ip":"192.0.2.1"}'))
    if (isForgotten) await feeders.hdel(keys.openJobs(), begun.jobId)
    await feeders.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    if (isForgotten) await assert.rejects(begun.complete(), /the upload was interrupted for too long/)
    else assert.equal((await begun.complete()).received, 1)
    await begun.abort()
  }
})

test('lines are removed with their job and with an unfinished upload, whatever is left of them', async (t) => {
  const { redis, client, jobs } = await startBatch(t)
  const lines = '{"ip":"192.0.2.1"}\n'.repeat(40_000)
  const left = async () => (await client.keys('{job:*')).filter((name) => !name.endsWith(':upload'))
  await upload(jobs, 'acme', lines)
  assert.equal(await removeBatchJobs(client, 'acme', PARTITIONS), 1)
  assert.deepEqual(await left(), [])
  const uploading = await jobs.begin('acme')
  await uploading.write(Buffer.from(lines))
  await until(async () => (await client.exists(keys.chunk(uploading.jobId, 2))) === 1)
  assert.equal(await removeBatchJobs(client, 'acme', PARTITIONS), 0)
  assert.deepEqual(await left(), [])
  await assert.rejects(uploading.complete(), /a chunk of the upload was lost/)
  for (const name of await left()) assert.ok((await client.pttl(name)) > 0, `${name} stays`)
  await uploading.abort()
  const old = await upload(jobs, 'acme', lines)
  await jobs.cancel('acme', old)
  // As after seven days without a feeder.
  await client.del(keys.job(old))
  const stopFeeder = await startFeeder(redis)
  await until(async () => (await client.hlen(keys.openJobs())) === 0)
  assert.deepEqual(await left(), [])
  await stopFeeder()
})

test('an operator sees the jobs of all tenants with the lines not fed yet', async (t) => {
  const { redis, client, jobs } = await startBatch(t, 10)
  assert.deepEqual(await readBatchJobs(client), NO_JOBS)
  const uploading = await jobs.begin('other')
  const first = await upload(jobs, 'acme', '{"ip":"192.0.2.1"}\n'.repeat(700))
  await upload(jobs, 'other', '{"ip":"192.0.2.1"}\nbroken\n')
  const receivedAtMs = Number(await client.hget(keys.job(first), 'received_at'))
  const queued = await readBatchJobs(client, receivedAtMs + 60_000)
  const { uploading: uploads, lines, lines_waiting: waiting, oldest_ms: oldest } = queued
  assert.deepEqual([uploads, queued.queued, queued.running, lines, waiting, oldest], [1, 2, 0, 702, 702, 60_000])
  assert.deepEqual(queued.oldest_jobs[0], {
    ...{ job_id: first, tenant_id: 'acme', status: 'queued', lines: 700, lines_waiting: 700, age_ms: 60_000 },
  })
  await uploading.abort()
  const stopFeeder = await startFeeder(redis)
  // No worker runs: the lines are fed, and wait in the streams.
  const fed = await until(
    () => readBatchJobs(client),
    ({ lines_waiting: left }) => left === 0,
  )
  assert.deepEqual([fed.uploading, fed.queued, fed.running, fed.lines], [0, 0, 2, 702])
  const { streams } = await readStatus(client, ingest, { onlyWaiting: true })
  const process = waitingOf(streams).filter(({ group }) => group === 'process')
  assert.deepEqual(
    process.map(({ lane, events }) => [lane, events]),
    [['batch', 701]],
  )
  await stopFeeder()
  const { evicts, append_only: isSafe, max_bytes: max, used_bytes: used } = await readServers(client)
  assert.deepEqual([evicts, isSafe, max, used > 0], [false, true, 0, true])
  await client.config('SET', 'maxmemory', 2 ** 30)
  await client.config('SET', 'maxmemory-policy', 'volatile-lru')
  await client.config('SET', 'appendonly', 'no')
  const unsafe = await readServers(client)
  assert.deepEqual([unsafe.evicts, unsafe.append_only, unsafe.max_bytes], [true, false, 2 ** 30])
  assert.equal(redisWarnings(unsafe).length, 2)
})

test('a tenant sees its own jobs, newest first, in pages, until their records expire', async (t) => {
  const { redis, client, jobs } = await startBatch(t, 10)
  const ids: string[] = []
  for (let i = 0; i < 5; i++) ids.unshift(await upload(jobs, 'acme', `{"ip":"192.0.2.1","event_id":"${i}"}`))
  await upload(jobs, 'other', '{"ip":"192.0.2.1"}')
  const open = await jobs.begin('acme')
  const pages: string[][] = []
  for (let before: string | undefined; ; ) {
    const page = (await jobs.list('acme', { limit: 2, before }))!
    pages.push(page.jobs.map(({ job_id }) => job_id))
    if (page.next === null) break
    before = page.next
  }
  // Jobs of the same millisecond have a fixed order.
  assert.deepEqual([pages.map((page) => page.length), pages.flat().sort()], [[2, 2, 1], [...ids].sort()])
  assert.deepEqual(await jobs.list('nobody', { limit: 2, before: undefined }), { jobs: [], next: null })
  assert.equal((await jobs.find('acme', ids[0]!))?.status, 'queued')
  assert.equal(await jobs.find('other', ids[0]!), undefined)
  assert.equal(await jobs.cancel('other', ids[0]!), undefined)
  assert.equal((await jobs.find('acme', ids[0]!))?.status, 'queued', 'it goes on')
  assert.equal(await jobs.list('acme', { limit: 2, before: 'x' }), undefined)
  await open.abort()
  const worker = await startWorker(redis.url, ingest, 'process', PARTITIONS, enricher)
  const stopFeeder = await startFeeder(redis)
  for (const id of ids) await completed(client, jobs, 'acme', id)
  await until(async () => (await client.zcard(keys.endedBatches())) >= 5)
  // As after they expired; the next job that ends removes them.
  for (const member of await client.zrevrange(keys.endedBatches(), 0, -1))
    await client.zadd(keys.endedBatches(), '1', member)
  await client.del(...ids.map((id) => keys.job(id)))
  assert.deepEqual(await jobs.list('acme', { limit: 2, before: undefined }), { jobs: [], next: null })
  const last = await upload(jobs, 'other', '{"ip":"192.0.2.1"}')
  await completed(client, jobs, 'other', last)
  await until(async () => (await client.exists(keys.batchesOf('acme'))) === 0)
  await Promise.all([stopFeeder(), worker.stop()])
})

test('progress without an open job is removed, except what a failed job still counts', async (t) => {
  const { client, jobs } = await startBatch(t)
  const [open, failed] = [
    await upload(jobs, 'acme', '{"ip":"192.0.2.1"}'),
    await upload(jobs, 'acme', '{"ip":"192.0.2.1"}'),
  ]
  await jobs.cancel('acme', failed)
  for (const id of [open, failed, 'ended']) await client.hincrby(keys.jobProgress(1, id), 'stored', 1)
  assert.equal(await removeStrayProgress(client), 1)
  assert.equal(await removeStrayProgress(client), 0)
  assert.equal(await client.hget(keys.jobProgress(1, open), 'stored'), '1')
  assert.equal(await client.hget(keys.jobProgress(1, failed), 'stored'), '1')
  assert.equal(await client.exists(keys.jobProgress(1, 'ended')), 0)
})

test('of a cancel and a normal end, the first one counts', async (t) => {
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
    if (!isCompleted)
      assert.equal(await store.advance(job, { fed: 1, rejected: 0, invalidIp: 0, errors: [], reasons: [] }), false)
    assert.equal((await jobs.find('acme', id))!.status, status)
  }
  assert.deepEqual([...outcomes].sort(), ['completed', 'failed'])
  assert.deepEqual(await client.keys('*open*'), [])
})

test('a job advances once per chunk, however often asked, and a stale feeder does not fail it', async (t) => {
  const { redis, client, jobs } = await startBatch(t)
  const feeders = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => feeders.disconnect())
  const store = new RedisFeederStore({ client: feeders, pipeline: ingest, partitions: PARTITIONS })
  const id = await upload(jobs, 'acme', '{"ip":"192.0.2.1"}')
  const [job] = await store.openJobs()
  const counts = {
    fed: 1,
    rejected: 2,
    invalidIp: 3,
    errors: [{ line: 1, detail: 'bad' }],
    reasons: [{ reason: 'bad', count: 2, lines: [1, 3] }],
  }
  // The reply to the first was lost.
  assert.equal(await store.advance(job!, counts), true)
  assert.equal(await store.advance(job!, counts), true)
  const { fed, rejected, invalid_ip, next } = await client.hgetall(keys.job(id))
  assert.deepEqual({ fed, rejected, invalid_ip, next }, { fed: '1', rejected: '2', invalid_ip: '3', next: '2' })
  assert.equal(await client.llen(keys.jobErrors(id)), 1)
  const { rejected_reasons: reasons } = (await jobs.find('acme', id))!
  assert.deepEqual(reasons, [{ reason: 'bad', count: 2, lines: [1, 3] }])
  // A feeder that listed it before finds chunk 1 gone.
  assert.equal(await store.fail(job!, 'chunk 1 of 1 of the upload was lost'), false)
  assert.equal(await client.hget(keys.job(id), 'status'), 'running')
  assert.equal(await store.fail({ ...job!, next: 2 }, 'its tenant was deleted'), true)
  assert.equal(await client.hget(keys.job(id), 'status'), 'failed')
})

test('rejected lines are counted by reason, and those beyond the limits are counted together', async (t) => {
  const { redis, client, jobs } = await startBatch(t)
  const feeders = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => feeders.disconnect())
  const store = new RedisFeederStore({ client: feeders, pipeline: ingest, partitions: PARTITIONS })
  const line = `{"ip":"192.0.2.1","x":"${'x'.repeat(100_000)}"}`
  const id = await upload(jobs, 'acme', Array(12).fill(line).join('\n'))
  const [job] = await store.openJobs()
  assert.ok(job!.chunks >= 3)
  const advance = async (next: number, reasons: readonly RejectedGroup[]) => {
    const rejected = reasons.reduce((sum, { count }) => sum + count, 0)
    const counts = { fed: 0, rejected, invalidIp: 0, errors: [], reasons }
    for (let times = 0; times < 2; times++) assert.equal(await store.advance({ ...job!, next }, counts), true)
    return (await jobs.find('acme', id))!
  }
  const first = [
    { reason: 'ip is required', count: 7, lines: [1, 2, 3] },
    ...Array.from({ length: 18 }, (_, i) => ({ reason: `reason ${i}`, count: 1, lines: [10 + i] })),
  ]
  assert.deepEqual((await advance(1, first)).rejected_reasons, first)
  // One more fits, three do not, and they are added to those that did not fit in their chunk.
  const later = (
    await advance(2, [
      { reason: 'the last', count: 2, lines: [43, 48] },
      { reason: 'one more', count: 9, lines: [44, 45, 49, 50, 51] },
      { reason: 'ip is required', count: 3, lines: [46, 47, 52] },
      { reason: 'two more', count: 1, lines: [53] },
      { reason: '', count: 4, lines: [40, 41, 42, 54] },
    ])
  ).rejected_reasons
  assert.equal(later.length, 21)
  assert.deepEqual(later.slice(0, 3), [
    { reason: 'other reasons', count: 14, lines: [40, 41, 42, 44, 45] },
    { reason: 'ip is required', count: 10, lines: [1, 2, 3, 46, 47] },
    { reason: 'the last', count: 2, lines: [43, 48] },
  ])
  const last = await advance(3, [{ reason: 'one more', count: 1, lines: [60] }])
  assert.deepEqual(last.rejected_reasons[0], { reason: 'other reasons', count: 15, lines: [40, 41, 42, 44, 45] })
  assert.equal(last.rejected, 7 + 18 + 2 + 9 + 3 + 1 + 4 + 1)
  assert.match(last.progress_message, /, 45 rejected \(15 of them: other reasons\)$/)
  // The counts of a job that ends early stay.
  const cancelled = (await jobs.cancel('acme', id)) as BatchJob
  assert.deepEqual([cancelled.progress_message, cancelled.problem], ['cancelled', null])
  assert.deepEqual([cancelled.rejected, cancelled.rejected_reasons], [45, last.rejected_reasons])
  assert.deepEqual(await client.keys('*:errors'), [])
})
