import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { RedisBulkJobs } from '../../src/lookup/bulk/jobs.ts'
import { UnavailableError } from '../../src/run/errors.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { addresses, bulkQueue, heldLookups, startIngress, startWorker } from '../support/bulk.ts'
import { ACME, lookupOf, TestLookups } from '../support/lookups.ts'
import { startTestRedis } from '../support/redis.ts'
import { handClock } from '../support/tenants.ts'
import { until } from '../support/until.ts'

test('a job is queued, done and kept for its tenant only: results in order, JSON or lines', async (t) => {
  const redis = await startTestRedis(t)
  const { submit, job, completed, request, client } = await startIngress(t, redis)
  const ips = [...addresses(40), 'no address', '::ffff:198.51.100.1', 'ä\n"']
  const { status, headers, json } = await submit({ ips, fields: ['asn', 'city'], redact: ['geo'], quality_min: 61 })
  assert.deepEqual([status, Object.keys(json), json.status], [202, ['job_id', 'status'], 'queued'])
  assert.equal(headers.get('x-quota-used'), '41')
  const id = json.job_id
  const fresh = { job_id: id, status: 'queued', progress_current: 0, progress_total: 43, results: null }
  assert.deepEqual(await job(id), fresh)
  await startWorker(t, redis)
  const done = await completed(id)
  const expected = ips.map((ip, i) =>
    i === 40 || i === 42
      ? { ip, status: 'invalid_ip' }
      : { ip, tenant_id: 'acme', quality: 60, status: 'insufficient_quality', data: { asn: 64_500 } },
  )
  assert.deepEqual(done, { ...fresh, status: 'completed', progress_current: 43, results: expected })
  const lines = await request(`/v1/bulk/${id}`, { headers: { accept: 'text/html, Application/X-NDJSON;q=0.9' } })
  assert.equal(lines.headers.get('content-type'), 'application/x-ndjson')
  assert.equal(await lines.text(), expected.map((result) => `${JSON.stringify(result)}\n`).join(''))
  const head = await request(`/v1/bulk/${id}`, { method: 'HEAD' })
  assert.deepEqual([head.status, await head.text()], [200, ''])
  for (const [path, tenant] of [
    [id, 'other'],
    [randomUUID(), 'acme'],
    ['nothing', 'acme'],
    ['%7Bbulk%7D', 'acme'],
  ] as const) {
    const answer = await request(`/v1/bulk/${path}`, {}, tenant)
    assert.equal(answer.status, 404)
    assert.equal(typeof ((await answer.json()) as { detail: string }).detail, 'string')
  }
  const ttlMs = await client.pttl(`{bulk}:job:${id}`)
  assert.ok(ttlMs > 86_000_000 && ttlMs <= 86_400_000)
  assert.equal(await client.xlen('{bulk}:jobs'), 0)
  assert.equal(await client.exists('{bulk}:open:acme'), 0)
})

test('of long texts that are no addresses, Redis and the answer have the start', async (t) => {
  const redis = await startTestRedis(t)
  const { submit, completed, client, post } = await startIngress(t, redis)
  const ips = Array.from({ length: 512 }, (_, i) => `${i}${'\u0001'.repeat(200)}`)
  const { status, json } = await submit({ ips })
  assert.equal(status, 202)
  const key = `{bulk}:job:${json.job_id}`
  assert.ok((await client.memory('USAGE', key))! < 300_000)
  await startWorker(t, redis)
  const expected = ips.map((ip) => ({ ip: ip.slice(0, 64), status: 'invalid_ip' }))
  assert.deepEqual((await completed(json.job_id)).results, expected)
  assert.ok((await client.memory('USAGE', key))! < 50_000)
  const now = await (await post('/v1/bulk', { ips })).text()
  assert.equal(now, expected.map((result) => `${JSON.stringify(result)}\n`).join(''))
})

test('a tenant whose kept results take too many bytes gets no further job until one expires', async (t) => {
  const redis = await startTestRedis(t)
  const { submit, completed, client, used } = await startIngress(t, redis, { keptBytesMax: 2 ** 11 })
  await startWorker(t, redis)
  const send = async (tenant?: string) => await submit({ ips: addresses(5) }, tenant)
  const ids: string[] = []
  for (let i = 0; i < 2; i++) {
    const { status, json } = await send()
    assert.equal(status, 202)
    await completed(json.job_id)
    ids.push(json.job_id)
  }
  const refused = await send()
  assert.deepEqual(
    [refused.status, refused.json.detail?.split(':')[0]],
    [429, 'results of bulk lookup jobs take 0.001953125 MiB already, and are kept for 24 hours'],
  )
  const seconds = Number(refused.headers.get('retry-after'))
  assert.ok(seconds > 86_000 && seconds <= 86_400, String(seconds))
  assert.equal(await used(), 10, 'a refused job takes no quota')
  const { status, json } = await send('other')
  assert.equal(status, 202)
  await completed(json.job_id, 'other')

  // The list has what Redis holds, and what expires makes room.
  const kept = keys.endedBulkJobsOf('acme')
  const members = await client.zrange(kept, '0', '-1')
  assert.deepEqual(members.map((member) => member.split(' ')[0]).sort(), ids.sort())
  const sum = members.reduce((bytes, member) => bytes + Number(member.split(' ')[1]), 0)
  assert.equal(Number(await client.get(keys.bulkBytesOf('acme'))), sum)
  const held = (await client.memory('USAGE', keys.bulkJob(ids[0]!)))!
  assert.ok(held < sum / 2 + 512, `${held} bytes`)
  await client.zadd(kept, '1', members[0]!)
  assert.equal((await send()).status, 202)
  assert.equal(await client.zscore(kept, members[0]!), null)
  const ttlMs = await client.pttl(keys.bulkBytesOf('acme'))
  assert.ok(ttlMs > 86_000_000 && ttlMs <= 86_400_000)
})

test('a running job reports its progress', async (t) => {
  const redis = await startTestRedis(t)
  const { submit, job, completed } = await startIngress(t, redis)
  const { lookups, held, release } = heldLookups(20)
  await startWorker(t, redis, lookups)
  const { json } = await submit({ ips: addresses(30) })
  const running = await until(
    () => job(json.job_id),
    ({ progress_current }) => progress_current >= 20,
  )
  assert.deepEqual([running.status, running.progress_total, running.results], ['running', 30, null])
  await until(
    async () => held.length,
    (count) => count === 10,
  )
  release()
  assert.equal((await completed(json.job_id)).progress_current, 30)
})

test('another worker takes a job whose worker was cut off, and progress does not decrease', async (t) => {
  const redis = await startTestRedis(t)
  const { submit, job, completed, client } = await startIngress(t, redis)
  const { lookups, release } = heldLookups(25)
  const dead = await startWorker(t, redis, lookups)
  const { json } = await submit({ ips: addresses(30) })
  await until(
    () => job(json.job_id),
    ({ progress_current }) => progress_current >= 20,
  )
  dead.drop()
  const second = heldLookups(0)
  await startWorker(t, redis, second.lookups)
  await until(
    async () => second.held.length,
    (count) => count > 0,
  )
  const taken = await job(json.job_id)
  assert.equal(taken.status, 'running')
  assert.ok(taken.progress_current >= 20)
  release()
  await until(
    async () => {
      second.release()
      return job(json.job_id)
    },
    ({ status }) => status === 'completed',
  )
  const done = await completed(json.job_id)
  assert.equal(done.results?.length, 30)
  assert.deepEqual(
    done.results?.map(({ ip }) => ip),
    addresses(30),
  )
  assert.equal(await client.zcard('{bulk}:open:acme'), 0)
})

test('a long job is not given to another worker', async (t) => {
  const redis = await startTestRedis(t)
  const { submit, completed, client } = await startIngress(t, redis)
  const first = heldLookups(0)
  await startWorker(t, redis, first.lookups)
  const { json } = await submit({ ips: addresses(1) })
  await until(
    async () => first.held.length,
    (count) => count === 1,
  )
  const other = new TestLookups()
  await startWorker(t, redis, other)
  // Each round of a worker ends with a read, and the other worker claims idle jobs twice per claimIdleMs.
  const reads = async () => Number(/cmdstat_xreadgroup:calls=(\d+)/.exec(await client.info('commandstats'))?.[1] ?? 0)
  const before = await reads()
  await until(reads, (calls) => calls > before + 8)
  assert.equal(other.asked.length, 0)
  first.release()
  await completed(json.job_id)
})

test('a delayed worker keeps its jobs, without a new delivery, and takes over from a dead one', async (t) => {
  const redis = await startTestRedis(t)
  const { submit, client } = await startIngress(t, redis)
  const { queue: slow } = bulkQueue(t, redis, 20)
  const jobs: string[] = []
  const submitOne = async () => jobs.push((await submit({ ips: addresses(1) })).json.job_id)
  for (let i = 0; i < 2; i++) {
    await submitOne()
    const [job] = await until(
      () => slow.take(1),
      (taken) => taken.length > 0,
    )
    assert.deepEqual([job?.jobId, job?.deliveries], [jobs[i], 1])
  }
  await submitOne()
  await client.call('XREADGROUP', 'GROUP', 'bulk', 'dead', 'STREAMS', '{bulk}:jobs', '>')
  const allIdle = () =>
    until(
      async () => (await client.call('XPENDING', '{bulk}:jobs', 'bulk', 'IDLE', 20, '-', '+', 9)) as unknown[],
      (idle) => idle.length === 3,
    )
  await allIdle()
  const [found] = await until(
    () => slow.take(1),
    (taken) => taken.length > 0,
  )
  assert.deepEqual([found?.jobId, found?.deliveries], [jobs[2], 2])
  for (let i = 0; i < 4; i++) {
    await allIdle()
    assert.deepEqual(await slow.take(9), [])
  }
  await allIdle()
  const given = await bulkQueue(t, redis, 20).queue.take(9)
  assert.deepEqual(
    given.map(({ jobId, deliveries }) => [jobId, deliveries]),
    [
      [jobs[0], 2],
      [jobs[1], 2],
      [jobs[2], 3],
    ],
  )
})

test('a job that kills its workers fails after some tries; others continue', async (t) => {
  const redis = await startTestRedis(t)
  const { submit, job, completed, client } = await startIngress(t, redis)
  const lookups = new TestLookups(async (address) => {
    if (address.text === '198.51.100.66') throw new Error('poison')
    return lookupOf(address.text, ACME)
  })
  await startWorker(t, redis, lookups)
  const bad = await submit({ ips: ['198.51.100.66'] })
  const good = await submit({ ips: ['198.51.100.1'] })
  await completed(good.json.job_id)
  const failed = await until(
    () => job(bad.json.job_id),
    ({ status }) => status === 'failed' || lookups.asked.length > 20,
  )
  assert.equal(failed.status, 'failed')
  assert.deepEqual([failed.results, failed.progress_current, failed.progress_total], [null, 0, 1])
  assert.equal(await client.zcard('{bulk}:open:acme'), 0)
  assert.ok((await client.pttl(`{bulk}:job:${bad.json.job_id}`)) > 0)
})

test('open jobs of a tenant are limited; a refused job is free, and places come back', async (t) => {
  const redis = await startTestRedis(t)
  const { submit, used, completed, client } = await startIngress(t, redis, { openMax: 3 })
  const answers = await Promise.all(Array.from({ length: 8 }, () => submit({ ips: addresses(1) })))
  const accepted = answers.filter(({ status }) => status === 202)
  const refused = answers.filter(({ status }) => status === 429)
  assert.deepEqual([accepted.length, refused.length], [3, 5])
  for (const { headers } of refused) assert.ok(Number(headers.get('retry-after')) >= 1)
  assert.equal(await used(), 3)
  assert.equal((await submit({ ips: addresses(1) }, 'other')).status, 202)
  // A place taken by an ingress that died becomes free when it expires.
  await client.zadd('{bulk}:open:third', 1, 'a', 2, 'b', Date.now() + 60_000, 'c')
  assert.equal((await submit({ ips: addresses(1) }, 'third')).status, 202)
  await startWorker(t, redis)
  for (const { json } of accepted) await completed(json.job_id)
  assert.equal((await submit({ ips: addresses(1) })).status, 202)
})

test('a job is charged when accepted; over quota nothing is queued, and the place is free', async (t) => {
  const redis = await startTestRedis(t)
  const { submit, client, used } = await startIngress(t, redis)
  assert.equal((await submit({ ips: [...addresses(60), 'x'] })).headers.get('x-quota-remaining'), '40')
  const refused = await submit({ ips: addresses(41) })
  assert.equal(refused.status, 429)
  assert.match(refused.json.detail!, /daily quota/)
  assert.equal(refused.headers.get('x-quota-used'), '60')
  assert.equal(await used(), 60)
  assert.equal(await client.zcard('{bulk}:open:acme'), 1)
  assert.equal(await client.xlen('{bulk}:jobs'), 1)
})

test('two ingress processes share one quota exactly, over all kinds of lookups, by UTC day', async (t) => {
  const redis = await startTestRedis(t)
  const clock = handClock(Date.UTC(2026, 10, 21, 23, 59, 30))
  const servers = await Promise.all([startIngress(t, redis, { clock }), startIngress(t, redis, { clock })])
  const lookup = (i: number) => servers[i % 2]!.post('/v1/lookup', { ip: '198.51.100.1' })
  const bulk = await servers[0]!.post('/v1/bulk', { ips: [...addresses(50), 'x'] })
  assert.equal(bulk.headers.get('x-quota-used'), '50')
  await bulk.text()
  assert.equal((await servers[1]!.submit({ ips: addresses(20) })).headers.get('x-quota-used'), '70')
  const answers = await Promise.all(Array.from({ length: 60 }, (_, i) => lookup(i)))
  const counted = answers.filter(({ status }) => status === 200)
  assert.equal(counted.length, 30)
  type Quota = { daily_limit: number; daily_used: number; daily_remaining: number; reset_at: string }
  const quotas = await Promise.all(counted.map(async (answer) => ((await answer.json()) as { quota: Quota }).quota))
  assert.deepEqual(
    quotas.map(({ daily_used }) => daily_used).sort((a, b) => a - b),
    range(71, 100),
  )
  for (const { daily_limit, daily_used, daily_remaining, reset_at } of quotas) {
    assert.equal(daily_used + daily_remaining, daily_limit)
    assert.equal(reset_at, '2026-11-22T00:00:00+00:00')
  }
  for (const answer of answers.filter(({ status }) => status !== 200)) {
    assert.deepEqual([answer.status, answer.headers.get('retry-after')], [429, '30'])
  }
  assert.equal((await servers[0]!.post('/v1/bulk', { ips: ['x'] })).status, 200, 'no address, no lookup')
  clock.nowMs += 29_999
  assert.deepEqual([(await lookup(0)).status, (await lookup(1)).headers.get('retry-after')], [429, '1'])
  clock.nowMs += 1
  const next = (await (await lookup(0)).json()) as { quota: Quota }
  assert.deepEqual([next.quota.daily_used, next.quota.reset_at], [1, '2026-11-23T00:00:00+00:00'])
})

const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, i) => first + i)

test('without Redis lookups and jobs are 500 with Retry-After; queued jobs run afterwards', async (t) => {
  const redis = await startTestRedis(t, ['--appendfsync', 'always'])
  const { submit, post, request, completed } = await startIngress(t, redis)
  await startWorker(t, redis, new TestLookups())
  const first = heldLookups(0)
  await startWorker(t, redis, first.lookups)
  const { json } = await submit({ ips: addresses(2) })
  await redis.kill()
  for (const answer of [
    await post('/v1/lookup', { ip: '198.51.100.1' }),
    await post('/v1/bulk', { ips: ['198.51.100.1'] }),
    await post('/v1/bulk?mode=async', { ips: ['198.51.100.1'] }),
    await request(`/v1/bulk/${json.job_id}`),
  ]) {
    assert.equal(answer.status, 500)
    assert.ok(Number(answer.headers.get('retry-after')) >= 1)
  }
  await redis.restart()
  first.lookups.answer = (address) => lookupOf(address.text, ACME)
  first.release()
  assert.equal((await completed(json.job_id)).results?.length, 2)
})

test('a stopping worker leaves slow jobs to the next one', async (t) => {
  const redis = await startTestRedis(t)
  const { submit, completed } = await startIngress(t, redis)
  const held = heldLookups(0)
  const { worker } = await startWorker(t, redis, held.lookups)
  const { json } = await submit({ ips: addresses(1) })
  await until(
    async () => held.held.length,
    (count) => count === 1,
  )
  await worker.stop()
  await worker.stop()
  await startWorker(t, redis)
  assert.equal((await completed(json.job_id)).results?.length, 1)
})

test('a repeat with an idempotency key is answered with the job of the first, and costs no quota', async (t) => {
  const redis = await startTestRedis(t)
  const { client, request, job, used } = await startIngress(t, redis)
  const send = async (key: string, body: object, tenant?: string, query = '&label=nightly') => {
    const init = { method: 'POST', headers: { 'idempotency-key': key }, body: JSON.stringify(body) }
    const answer = await request(`/v1/bulk?mode=async${query}`, init, tenant)
    const json = (await answer.json()) as { job_id: string; code?: string }
    return { status: answer.status, headers: answer.headers, json }
  }
  const ips = addresses(30)
  const first = await send('"a key"', { ips })
  assert.deepEqual([first.status, first.headers.get('idempotent-replayed')], [202, null])
  const again = await send('a key', { ips })
  assert.deepEqual([again.status, again.json], [202, first.json])
  assert.equal(again.headers.get('idempotent-replayed'), 'true')
  assert.deepEqual(
    ['location', 'x-quota-used'].map((name) => again.headers.get(name)),
    [`/v1/bulk/${first.json.job_id}`, '30'],
  )
  assert.equal(await used(), 30)
  assert.equal((await job(first.json.job_id)).label, 'nightly')
  for (const reused of [await send('a key', { ips: addresses(29) }), await send('a key', { ips }, undefined, '')])
    assert.deepEqual([reused.status, reused.json.code], [409, 'idempotency_key_reused'])
  const other = await send('a key', { ips }, 'other')
  assert.equal(other.status, 202)
  assert.notEqual(other.json.job_id, first.json.job_id)
  for (const key of ['x'.repeat(256), 'a\tb']) assert.equal((await send(key, { ips })).status, 422)
  assert.equal((await send('third', { ips }, undefined, '&label=%07')).status, 422)
  assert.equal(await client.xlen('{bulk}:jobs'), 2)
  // Many at the same moment are one job.
  const many = await Promise.all(Array.from({ length: 8 }, () => send('many', { ips: ['192.0.2.1'] })))
  const ids = new Set(many.filter(({ status }) => status === 202).map(({ json }) => json.job_id))
  assert.equal(ids.size, 1)
  for (const { status, json, headers } of many.filter((answer) => answer.status !== 202)) {
    assert.deepEqual([status, json.code], [409, 'idempotency_key_in_use'])
    assert.ok(Number(headers.get('retry-after')) >= 1)
  }
  assert.equal(await client.xlen('{bulk}:jobs'), 3)
})

test('a reservation that has expired queues no job, so its idempotency key has at most one', async (t) => {
  const redis = await startTestRedis(t)
  const { client, request } = await startIngress(t, redis)
  const jobs = new RedisBulkJobs({ client, openMax: 10 })
  const work = { tenantId: 'acme', ips: ['192.0.2.1'], choices: {} }
  const slow = await jobs.reserve('acme', 'k')
  assert.equal(await jobs.repeated('acme', 'k'), 'receiving')
  await assert.rejects(jobs.reserve('acme', 'k'), /idempotency-key/)
  // As after ten seconds.
  await client.zadd('{bulk}:open:acme', 1, slow.jobId)
  assert.equal(await jobs.repeated('acme', 'k'), undefined)
  // Every reservation removes those that have expired.
  await (await jobs.reserve('acme')).release()
  await assert.rejects(slow.queue(work, { fingerprint: 'f' }), UnavailableError)
  const second = await jobs.reserve('acme', 'k')
  await assert.rejects(slow.queue(work, { fingerprint: 'f' }), /idempotency-key/)
  await second.queue(work, { fingerprint: 'f' })
  assert.deepEqual(await jobs.repeated('acme', 'k'), { jobId: second.jobId, fingerprint: 'f' })
  assert.equal(await client.xlen('{bulk}:jobs'), 1)
  // A request that was refused leaves the key free.
  await (await jobs.reserve('acme', 'refused')).release()
  assert.equal(await jobs.repeated('acme', 'refused'), undefined)
  assert.equal((await client.keys('*idempotency*')).length, 1)
  const ttlMs = await client.pttl((await client.keys('*idempotency*'))[0]!)
  assert.ok(ttlMs > 86_000_000 && ttlMs <= 86_400_000)
  assert.equal((await request('/v1/bulk?label=x', { method: 'POST', body: '{"ips":["192.0.2.1"]}' })).status, 422)
})

test('after a fail-over that lost the claim of a key, one of two bulk requests with it is queued', async (t) => {
  const redis = await startTestRedis(t)
  const { client } = await startIngress(t, redis)
  const jobs = new RedisBulkJobs({ client, openMax: 10 })
  const work = { tenantId: 'acme', ips: ['192.0.2.1'], choices: {} }
  const first = await jobs.reserve('acme', 'k')
  await client.del(keys.idempotencyKey('acme', 'bulk', 'k'))
  const second = await jobs.reserve('acme', 'k')
  await assert.rejects(first.queue(work, { fingerprint: 'f' }), /idempotency-key/)
  await first.release()
  assert.equal(await jobs.repeated('acme', 'k'), 'receiving', 'the claim of the second stays')
  await client.del(keys.idempotencyKey('acme', 'bulk', 'k'))
  await second.queue(work, { fingerprint: 'f' })
  assert.deepEqual(await jobs.repeated('acme', 'k'), { jobId: second.jobId, fingerprint: 'f' })
  assert.equal(await client.xlen('{bulk}:jobs'), 1)
})
