import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ingest } from '../../pipelines/ingest.ts'
import type { ClickHouseVisits } from '../../src/alerts/evaluation/visits.ts'
import type { Message } from '../../src/alerts/messages.ts'
import { RedisAlerts } from '../../src/alerts/redis/alert-store.ts'
import { RedisDeliveries } from '../../src/alerts/redis/delivery-store.ts'
import { RedisOccurrences } from '../../src/alerts/redis/occurrence-store.ts'
import { Segments } from '../../src/companies/segments/segments.ts'
import { RedisExports } from '../../src/exports/redis/export-store.ts'
import type { FileFacts } from '../../src/pipeline/declaration/batch-jobs.ts'
import { EndedJobs } from '../../src/pipeline/sources/batch/redis/ended-jobs.ts'
import { RECORD_TTL_MS } from '../../src/pipeline/sources/batch/redis/job-record.ts'
import { systemClock } from '../../src/run/clock.ts'
import { connectRedis, type RedisClient } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { Membership } from '../../src/stores/redis/membership.ts'
import { RedisTenantStore } from '../../src/tenants/redis/tenant-store.ts'
import { completed, enricher, PARTITIONS, startBatch, startFeeder } from '../support/batch.ts'
import { testAlertAdmin } from '../support/dashboard.ts'
import { Killer, SteppedEvaluator } from '../support/killer.ts'
import { quiet, silent, startWorker } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

/* Alerts about uploads that have ended, on a real Redis. */

const redis = await startTestRedis()

async function startWorld(t: TestContext, perHour = 100) {
  const leases = quiet(connectRedis(redis.url, { name: 'test-leases', kind: 'loop' }))
  await leases.flushall()
  const { client, jobs } = await startBatch(t, 50, redis)
  const tenants = new RedisTenantStore(client)
  const createdAt = '2026-01-01T00:00:00.000Z'
  for (const id of ['acme', 'other'])
    await tenants.createTenant({ id, plan: 'starter', archive: false, addresses: 'full', createdAt })
  const admin = testAlertAdmin(client, systemClock)
  const lease = new Membership({ client: leases, name: 'alerts' }).share(0)
  await lease.acquire(AbortSignal.timeout(10_000))
  t.after(async () => {
    await lease.release()
    leases.disconnect()
  })
  const evaluator = (killer = new Killer()) => {
    const store = killer.over(client, [
      'smembers',
      'hget',
      'hgetall',
      'hmget',
      'zrangebyscore',
      'zmscore',
    ]) as RedisClient
    return new SteppedEvaluator({
      ...{ lease, clock: systemClock, log: silent, retentionDays: undefined, settleMs: 0 },
      ...{ alerts: new RedisAlerts(store), segments: new Segments(client, systemClock) },
      occurrences: new RedisOccurrences(store, killer.over(lease, ['run']), perHour),
      ...{ exports: new RedisExports(client), waiting: async () => 0 },
      visits: {} as ClickHouseVisits,
      jobs: new EndedJobs(store, PARTITIONS, systemClock),
      readWeek: async () => assert.fail('there is no digest'),
      getTenant: (id) => tenants.getTenant(id),
      dashboardUrl: 'http://dash.example',
    })
  }
  const uploaded = async (tenant: string, file: FileFacts, body = '{"ip":"192.0.2.1"}') => {
    const begun = await jobs.begin(tenant, false, 'full', file)
    await begun.write(Buffer.from(body))
    return (await begun.complete()).jobId
  }
  const cancelled = async (tenant: string, file: FileFacts = {}) => {
    const jobId = await uploaded(tenant, file)
    await jobs.cancel(tenant, jobId)
    return jobId
  }
  const messages = async () =>
    Object.values(await client.hgetall(keys.deliveries('acme'))).map((json) => {
      const { type, body, companyName } = JSON.parse(json) as { type: string; body: string; companyName: string }
      return { type, name: companyName, data: (JSON.parse(body) as Message).data }
    })
  const create = () =>
    admin.create('acme', { name: 'Uploads', on: 'job.ended', to: 'webhook', target: 'https://1.1.1.1/hook' })
  return { client, jobs, admin, evaluator, uploaded, cancelled, messages, create }
}

test('an upload that ends is reported once, with its counts', async (t) => {
  const world = await startWorld(t)
  const { client, jobs } = world
  await world.cancelled('acme')
  await world.create()
  const evaluator = world.evaluator()
  await evaluator.turn()
  const worker = await startWorker(redis.url, ingest, 'process', PARTITIONS, enricher)
  const stopFeeder = await startFeeder(redis)
  const body = '{"ip":"192.0.2.1","event_id":"a"}\n{"ip":"192.0.2.1","event_id":"a"}\nnonsense\n{"ip":"x"}'
  const jobId = await world.uploaded('acme', { label: 'crm' }, body)
  await completed(client, jobs, 'acme', jobId)
  await Promise.all([stopFeeder(), worker.stop()])
  const cancelled = await world.cancelled('acme', { name: 'visits.csv' })
  await world.cancelled('other')
  await world.cancelled('acme', { source: 'segment', sourceId: 'src_1' })
  for (let turn = 0; turn < 3; turn++) await evaluator.turn()
  // Another process looks back.
  await world.evaluator().turn()
  const found = (await world.messages()).sort((a, b) => a.name.localeCompare(b.name))
  assert.deepEqual(
    found.map(({ type, name, data: { job, url } }) => [type, name, job!.job_id, job!.status, job!.cancelled, url]),
    [
      ['job.ended', 'Upload crm', jobId, 'completed', false, 'http://dash.example/t/acme/uploads'],
      ['job.ended', 'Upload visits.csv', cancelled, 'failed', true, 'http://dash.example/t/acme/uploads'],
    ],
  )
  const { received, stored, rejected, invalid_ip, label, started_at, ended_at } = found[0]!.data.job!
  assert.deepEqual([received, stored, rejected, invalid_ip, label], [4, 1, 1, 1, 'crm'])
  assert.ok(Date.parse(started_at!) <= Date.parse(ended_at!))
})

test('each upload is reported once, whenever the evaluation is killed', async (t) => {
  const world = await startWorld(t)
  await world.create()
  const ids = [await world.cancelled('acme'), await world.cancelled('acme')]
  for (let calls = 0; ; calls++) {
    const killer = new Killer(calls)
    await world
      .evaluator(killer)
      .turnOnce()
      .catch(() => {})
    if (!killer.isDead) break
  }
  const reported = (await world.messages()).map(({ data }) => data.job!.job_id)
  assert.deepEqual(reported.sort(), ids.sort())
})

test('among 50,000 ended jobs of others, a turn looks at a part, and each upload is reported once', async (t) => {
  const world = await startWorld(t)
  const { client } = world
  await world.create()
  const ids = [await world.cancelled('acme', { label: 'first' })]
  const nowMs = Date.now()
  const score = nowMs + RECORD_TTL_MS
  for (let at = 0; at < 50_000; at += 1_000) {
    // Many end in the same millisecond.
    const members = Array.from({ length: 1_000 }, (_, i) => [score + (at >= 25_000 ? 1 : 0), `other ${at + i}`])
    await client.zadd(keys.endedBatches(), ...members.flat())
  }
  ids.push(await world.cancelled('acme', { label: 'second' }))
  // As a feeder of an earlier version ends a job.
  await client.hdel(keys.job(ids[1]!), 'ended_at')
  await client.zadd(keys.endedBatches(), score + 2, `acme ${ids[1]}`)
  const evaluator = world.evaluator()
  assert.equal(await evaluator.turn(), 0, 'it goes on at once')
  assert.equal((await world.messages()).length, 1)
  await until(
    () => evaluator.turn(),
    (delayMs) => delayMs > 0,
  )
  for (let turn = 0; turn < 4; turn++) await evaluator.turn()
  const found = (await world.messages()).map(({ data }) => data.job!)
  assert.deepEqual(found.map(({ job_id }) => job_id).sort(), [...ids].sort())
  const second = found.find(({ job_id }) => job_id === ids[1])!
  assert.equal(second.ended_at, new Date(nowMs + 2).toISOString())
})

test('above the limit of an hour, uploads become lines of a digest', async (t) => {
  const world = await startWorld(t, 2)
  await world.create()
  for (let i = 0; i < 5; i++) await world.cancelled('acme', { label: `u${i}` })
  await world.evaluator().turn()
  assert.equal((await world.messages()).length, 2)
  const [alert] = await world.admin.list('acme')
  const lines = await new RedisOccurrences(world.client, { run: async () => 1 }).digest(alert!.id)
  assert.equal(lines.length, 3)
  assert.ok(lines.every((line) => line!.job_id !== undefined && line!.why === 'was cancelled'))
})

test('an alert about uploads has no segment and no weekly digest, and its test is an example of an upload', async (t) => {
  const { client, admin, create } = await startWorld(t)
  const { alert } = await create()
  const wrong = { name: 'Wrong', on: 'job.ended', to: 'email', target: 'a@site.example' } as const
  await assert.rejects(admin.create('acme', { ...wrong, digest: 'weekly' }), /a digest is for alerts about companies/)
  await assert.rejects(admin.create('acme', { ...wrong, segment: 'Keen' }), /a segment is for alerts about companies/)
  const id = await admin.test(alert)
  const { type, body } = (await new RedisDeliveries(client).get('acme', id))!
  const message = JSON.parse(body) as Message
  assert.deepEqual([type, message.data.job!.status, message.data.company], ['alert.test', 'completed', undefined])
})
