import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DEFAULT_PLANS } from '../../schemas/plans.ts'
import { UnavailableError } from '../../src/run/errors.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { SharedDailyQuota } from '../../src/tenants/quota.ts'
import { RedisTokenCounters } from '../../src/tenants/redis/token-counters.ts'
import { quiet } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'
import { handClock } from '../support/tenants.ts'

const tenant = { id: 'acme', plan: 'starter', archive: false, addresses: 'full' as const, createdAt: '' }
const caller = { tenant, plan: { ...DEFAULT_PLANS.starter!, daily_lookups: 10 } }

test('processes count one quota exactly, refuse whole requests, and restart it each UTC day', async (t) => {
  const redis = await startTestRedis(t)
  const clock = { ms: Date.UTC(2026, 10, 21, 23, 59, 30), now: () => clock.ms }
  const quotas = [1, 2].map(() => {
    const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
    t.after(() => client.disconnect())
    return new SharedDailyQuota(new RedisTokenCounters(client), clock)
  })
  const first = await quotas[0]!.take(caller, 4)
  assert.deepEqual(first, {
    allowed: true,
    limit: 10,
    used: 4,
    resetAt: '2026-11-22T00:00:00+00:00',
    resetSeconds: 30,
  })
  assert.deepEqual(await quotas[1]!.take(caller, 7), { ...first, allowed: false })
  const single = await Promise.all(Array.from({ length: 20 }, (_, i) => quotas[i % 2]!.take(caller, 1)))
  assert.equal(single.filter(({ allowed }) => allowed).length, 6)
  assert.equal(await quotas[0]!.used('acme'), 10)
  assert.equal((await quotas[0]!.take({ ...caller, tenant: { ...tenant, id: 'other' } }, 10)).allowed, true)
  clock.ms += 30_000
  const next = await quotas[1]!.take(caller, 10)
  assert.deepEqual([next.allowed, next.used, next.resetAt], [true, 10, '2026-11-23T00:00:00+00:00'])
})

/** The grants of sequential requests. */
function oneByOne(asked: readonly Asked[]): [boolean, number][] {
  const used = new Map<string, number>()
  return asked.map(({ id, lookups, limit }) => {
    const before = used.get(id) ?? 0
    const allowed = before + lookups <= limit
    used.set(id, allowed ? before + lookups : before)
    return [allowed, used.get(id)!]
  })
}

interface Asked {
  readonly id: string
  readonly lookups: number
  readonly limit: number
}

test('requests asked together count as if each had come alone, in few calls', async (t) => {
  const redis = await startTestRedis(t)
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  const quota = new SharedDailyQuota(new RedisTokenCounters(client), handClock())
  let seed = 7
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
    return Math.floor((seed / 2 ** 31) * below)
  }
  const calls = async () => Number(/cmdstat_evalsha:calls=(\d+)/.exec(await client.info('commandstats'))?.[1] ?? 0)
  for (let round = 0; round < 20; round++) {
    const tenants = 1 + random(4)
    const asked = Array.from({ length: 200 }, (): Asked => {
      // A plan change in between, requests without an address, and bulk requests.
      const limit = random(20) === 0 ? 60 : 150
      return { id: `r${round}-${random(tenants)}`, limit, lookups: random(3) > 0 ? 1 : random(12) }
    })
    const before = await calls()
    const decisions = await Promise.all(
      asked.map(({ id, lookups, limit }) => {
        const plan = { ...caller.plan, daily_lookups: limit }
        return quota.take({ tenant: { ...tenant, id }, plan }, lookups)
      }),
    )
    assert.deepEqual(
      decisions.map(({ allowed, used }) => [allowed, used]),
      oneByOne(asked),
      `round ${round}`,
    )
    assert.deepEqual(
      decisions.map(({ limit }) => limit),
      asked.map(({ limit }) => limit),
    )
    assert.ok((await calls()) - before <= 2, 'one call, and one more while Redis does not know the script')
  }
  await redis.kill()
  const down = await Promise.allSettled([quota.take(caller, 1), quota.take(caller, 2)])
  assert.ok(down.every((result) => result.status === 'rejected' && result.reason instanceof UnavailableError))
})
