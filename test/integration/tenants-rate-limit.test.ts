import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Plan } from '../../schemas/plans.ts'
import { UnavailableError } from '../../src/run/errors.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { SharedRateLimiter } from '../../src/tenants/rate-limiter.ts'
import { NO_CHANGE, type TokenDemand } from '../../src/tenants/shared-tokens.ts'
import type { Caller, RateDecision } from '../../src/tenants/tenancy.ts'
import { startTestRedis } from '../support/redis.ts'
import { startTenants } from '../support/tenants.ts'

const plan = (rate: number, burst: number): Plan => ({ rate, burst, daily_lookups: 1, monthly_accounts: 1 })
const caller = (id: string, its: Plan): Caller => ({
  tenant: { id, plan: 'p', archive: false, addresses: 'full', createdAt: '' },
  plan: its,
})
/** So slow that no tokens flow in while a test runs. */
const SLOW = 0.000_1

test('a burst has the size of the plan, is counted down, then refused with a time to wait', async (t) => {
  const redis = await startTestRedis(t)
  const { limiter } = await startTenants(t, redis.url)
  const acme = caller('acme', plan(SLOW, 20))
  const decisions: RateDecision[] = []
  for (let i = 0; i < 21; i++) decisions.push(await limiter.take(acme))
  assert.deepEqual(
    decisions.map((decision) => decision.remaining),
    [...Array.from({ length: 20 }, (_, i) => 19 - i), 0],
  )
  assert.equal(decisions.filter((decision) => decision.allowed).length, 20)
  const refused = decisions[20]!
  assert.deepEqual([refused.allowed, refused.limit], [false, 20])
  assert.ok(refused.retryAfterSeconds > 9_000 && refused.retryAfterSeconds <= 10_000)
  assert.ok(refused.resetSeconds > 199_000 && refused.resetSeconds <= 200_000)
  assert.equal(decisions[0]!.retryAfterSeconds, 0)
  assert.equal((await limiter.take(caller('other', plan(SLOW, 20)))).remaining, 19, 'a tenant has its own bucket')
})

test('several processes share a bucket exactly, and requests of one turn share one call', async (t) => {
  const redis = await startTestRedis(t)
  const processes = await Promise.all([1, 2, 3].map(() => startTenants(t, redis.url)))
  const acme = caller('acme', plan(SLOW, 100))
  const before = Number(/total_commands_processed:(\d+)/.exec(await processes[0]!.client.info('stats'))![1])
  const decisions = await Promise.all(
    processes.flatMap(({ limiter }) => Array.from({ length: 200 }, () => limiter.take(acme))),
  )
  const after = Number(/total_commands_processed:(\d+)/.exec(await processes[0]!.client.info('stats'))![1])
  assert.equal(decisions.filter((decision) => decision.allowed).length, 100)
  assert.deepEqual(
    new Set(decisions.filter((decision) => decision.allowed).map((decision) => decision.remaining)),
    new Set(Array.from({ length: 100 }, (_, i) => i)),
  )
  assert.ok(after - before < 60, `${after - before} commands for 600 requests`)
})

test('tokens flow in at the rate of the plan, up to the burst', async (t) => {
  const redis = await startTestRedis(t)
  const { limiter, client } = await startTenants(t, redis.url)
  const acme = caller('acme', plan(0.001, 5))
  const take = async (count: number) => Promise.all(Array.from({ length: count }, () => limiter.take(acme)))
  assert.equal((await take(10)).filter((decision) => decision.allowed).length, 5)
  // The bucket is set back in time instead of waiting: 2,000 s are two tokens, hours are no more than the burst.
  const backdate = async (micros: number) => {
    const [held, at] = (await client.get(keys.rateBucket('acme')))!.split(' ').map(Number) as [number, number]
    await client.set(keys.rateBucket('acme'), `${held} ${at - micros}`)
  }
  const held = Number((await client.get(keys.rateBucket('acme')))!.split(' ')[0])
  assert.ok(held < 1_000_000)
  await backdate(2_000_000_000)
  assert.equal((await take(10)).filter((decision) => decision.allowed).length, 2)
  await backdate(36_000_000_000)
  assert.equal((await take(10)).filter((decision) => decision.allowed).length, 5)
})

test('a bucket is removed when it would be full', async (t) => {
  const redis = await startTestRedis(t)
  const { limiter, client } = await startTenants(t, redis.url)
  await limiter.take(caller('acme', plan(0.002, 20)))
  const ttl = await client.pttl(keys.rateBucket('acme'))
  assert.ok(ttl > 0 && ttl <= 500_000, `${ttl} ms`)
})

test('a change of plan applies to the next request', async (t) => {
  const redis = await startTestRedis(t)
  const { limiter } = await startTenants(t, redis.url)
  for (let i = 0; i < 4; i++) await limiter.take(caller('acme', plan(SLOW, 5)))
  const grown = await limiter.take(caller('acme', plan(SLOW, 100)))
  assert.deepEqual([grown.limit, grown.remaining], [100, 0], 'what was used stays used')
  await limiter.take(caller('big', plan(SLOW, 500)))
  const shrunk = await limiter.take(caller('big', plan(SLOW, 5)))
  assert.deepEqual([shrunk.limit, shrunk.remaining], [5, 4])
  const both = await Promise.all([
    limiter.take(caller('two', plan(SLOW, 10))),
    limiter.take(caller('two', plan(SLOW, 20))),
  ])
  assert.deepEqual(
    both.map((decision) => decision.limit),
    [10, 20],
  )
})

test('a Redis that lost its scripts gets them again; one that is down is unavailable', async (t) => {
  const redis = await startTestRedis(t)
  const { limiter, client } = await startTenants(t, redis.url)
  const acme = caller('acme', plan(1, 5))
  await limiter.take(acme)
  await client.call('SCRIPT', 'FLUSH')
  assert.equal((await limiter.take(acme)).allowed, true)
  redis.signal('SIGSTOP')
  await assert.rejects(async () => limiter.take(acme), UnavailableError)
  redis.signal('SIGCONT')
  await redis.kill()
  await assert.rejects(async () => limiter.take(acme), UnavailableError)
})

test('above maxmemory tokens are still granted', async (t) => {
  const redis = await startTestRedis(t)
  const { limiter, client } = await startTenants(t, redis.url)
  await client.config('SET', 'maxmemory', '1')
  await assert.rejects(client.set('refused', '1'), /OOM/)
  const decisions = [
    await limiter.take(caller('acme', plan(SLOW, 1))),
    await limiter.take(caller('acme', plan(SLOW, 1))),
  ]
  assert.deepEqual(
    decisions.map((decision) => decision.allowed),
    [true, false],
  )
})

test('each request gets its own share of a common grant', async () => {
  const demands: TokenDemand[][] = []
  const limiter = new SharedRateLimiter({
    take(all) {
      demands.push([...all])
      return all.map(async ({ tokens }) => ({
        ...{ allowed: tokens.map((_, i) => i < 2), left: 0.5 },
        ...{ more: 0, kept: 0, othersHold: 0 },
      }))
    },
    used: async () => 0,
    setUsed: async () => {},
  })
  const a = caller('a', plan(1, 10))
  const b = caller('b', plan(0.25, 10))
  const decisions = await Promise.all([limiter.take(a), limiter.take(b), limiter.take(a), limiter.take(a)])
  assert.deepEqual(demands, [
    [
      { counter: { tenantId: 'a', rate: 1, size: 10 }, tokens: [1, 1, 1], change: NO_CHANGE },
      { counter: { tenantId: 'b', rate: 0.25, size: 10 }, tokens: [1], change: NO_CHANGE },
    ],
  ])
  assert.deepEqual(decisions[0], { allowed: true, limit: 10, remaining: 1, resetSeconds: 9, retryAfterSeconds: 0 })
  assert.deepEqual(decisions[2], { allowed: true, limit: 10, remaining: 0, resetSeconds: 10, retryAfterSeconds: 0 })
  assert.deepEqual(decisions[3], { allowed: false, limit: 10, remaining: 0, resetSeconds: 10, retryAfterSeconds: 1 })
})
