import { once } from 'node:events'
import type { TestContext } from 'node:test'
import type { BulkJob } from '../../schemas/api/bulk.ts'
import { RedisBulkJobs } from '../../src/lookup/bulk/jobs.ts'
import { RedisBulkQueue } from '../../src/lookup/bulk/queue.ts'
import { BulkWorker } from '../../src/lookup/bulk-worker.ts'
import type { LookupService } from '../../src/lookup/lookup.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { DAILY_LOOKUPS, SharedLimit } from '../../src/tenants/limits/limits.ts'
import { RedisTokenCounters } from '../../src/tenants/limits/redis/token-counters.ts'
import { acme, startHttp } from './http.ts'
import { ACME, lookupOf, TestLookups } from './lookups.ts'
import { quiet, silent } from './pipeline.ts'
import type { TestRedis } from './redis.ts'
import { handClock } from './tenants.ts'
import { until } from './until.ts'

export const CLAIM_IDLE_MS = 200

/** The key is the tenant's name; the plan allows 100 lookups a day. */
const named = {
  authenticate: (tenant: string) => ({
    tenant: { ...acme.tenant, id: tenant },
    plan: { ...acme.plan, daily_lookups: 100 },
  }),
}

export async function startIngress(
  t: TestContext,
  redis: TestRedis,
  options: { openMax?: number; keptBytesMax?: number; clock?: { now(): number } } = {},
) {
  const client = quiet(connectRedis(redis.url, { name: 'test-requests', kind: 'request', timeoutMs: 1_000 }))
  t.after(() => client.disconnect())
  await once(client, 'ready')
  const clock = options.clock ?? handClock()
  const quota = new SharedLimit(DAILY_LOOKUPS, new RedisTokenCounters(client), clock)
  const { openMax = 10, keptBytesMax } = options
  const bulkJobs = new RedisBulkJobs({ client, openMax, ...(keptBytesMax !== undefined && { keptBytesMax }) })
  const { url } = await startHttp(t, { authenticator: named, quota, bulkJobs, lookups: new TestLookups() })
  const request = (path: string, init: RequestInit = {}, tenant = 'acme') =>
    fetch(url + path, { ...init, headers: { 'x-api-key': tenant, ...init.headers } })
  const post = (path: string, body: unknown, tenant?: string) =>
    request(path, { method: 'POST', body: JSON.stringify(body) }, tenant)
  const submit = async (body: unknown, tenant?: string) => {
    const answer = await post('/v1/bulk?mode=async', body, tenant)
    const json = (await answer.json()) as { job_id: string; status: string; detail?: string }
    return { status: answer.status, headers: answer.headers, json }
  }
  const job = async (id: string, tenant?: string) =>
    (await (await request(`/v1/bulk/${id}`, {}, tenant)).json()) as BulkJob
  const completed = (id: string, tenant?: string) =>
    until(
      () => job(id, tenant),
      ({ status }) => status === 'completed',
    )
  const used = async () => (await quota.read(named.authenticate('acme'))).used
  return { client, used, request, post, submit, job, completed }
}

/** One worker's view of the jobs, with its own connections. */
export function bulkQueue(t: TestContext, redis: TestRedis, claimIdleMs = CLAIM_IDLE_MS) {
  const connect = (name: string) => quiet(connectRedis(redis.url, { name, kind: 'loop', timeoutMs: 3_000 }))
  const client = connect('test-worker')
  const blocking = connect('test-worker-blocking')
  const queue = new RedisBulkQueue({ client, blocking, claimIdleMs })
  const drop = () => {
    client.disconnect()
    blocking.disconnect()
  }
  t.after(drop)
  return { queue, drop }
}

export async function startWorker(t: TestContext, redis: TestRedis, lookups: LookupService = new TestLookups()) {
  const { queue, drop } = bulkQueue(t, redis)
  const worker = new BulkWorker({
    queue,
    lookupsOf: async () => lookups,
    aliveEveryMs: 50,
    deliveriesMax: 3,
    stopMs: 50,
    log: silent,
  })
  await worker.start()
  t.after(() => worker.stop())
  return { worker, drop }
}

/** Looks addresses up only on request, after the first few. */
export function heldLookups(free: number) {
  const held: (() => void)[] = []
  let asked = 0
  const lookups = new TestLookups((address) => {
    const lookup = lookupOf(address.text, ACME)
    return ++asked <= free ? lookup : new Promise((resolve) => held.push(() => resolve(lookup)))
  })
  const release = () => {
    for (const resolve of held.splice(0)) resolve()
  }
  return { lookups, held, release }
}

export const addresses = (count: number) => Array.from({ length: count }, (_, i) => `198.51.100.${i}`)
