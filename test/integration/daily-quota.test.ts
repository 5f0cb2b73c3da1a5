import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectRedis } from '../../src/redis/connect.ts'
import { RedisDailyQuota } from '../../src/redis/tenants/daily-quota.ts'
import { DEFAULT_PLANS } from '../../src/tenants/plans.ts'
import { quiet } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'

const tenant = { id: 'acme', plan: 'starter', archive: false, addresses: 'full' as const, createdAt: '' }
const caller = { tenant, plan: { ...DEFAULT_PLANS.starter!, daily_lookups: 10 } }

test('the quota is counted exactly by several processes, refused whole, and begins again with the UTC day', async (t) => {
  const redis = await startTestRedis(t)
  const clock = { ms: Date.UTC(2026, 10, 21, 23, 59, 30), now: () => clock.ms }
  const quotas = [1, 2].map(() => {
    const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
    t.after(() => client.disconnect())
    return new RedisDailyQuota(client, clock)
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
