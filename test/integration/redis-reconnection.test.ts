import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { ProcessContext } from '../../src/process/context.ts'
import { topology } from '../../src/process/topology.ts'
import { UnavailableError } from '../../src/run/errors.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { Reconnection } from '../../src/stores/redis/reconnection.ts'
import { sharedLimits } from '../../src/tenants/limits/limits.ts'
import { RedisTokenCounters } from '../../src/tenants/limits/redis/token-counters.ts'
import { RedisTenantStore } from '../../src/tenants/redis/tenant-store.ts'
import type { Caller } from '../../src/tenants/tenancy.ts'
import { quiet } from '../support/pipeline.ts'
import { takePort } from '../support/ports.ts'
import { startTestRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

const CALLER: Caller = {
  tenant: { id: 'acme', plan: 'p', archive: false, addresses: 'full', createdAt: '' },
  plan: { rate: 10, burst: 10, daily_lookups: 10, monthly_accounts: 1 },
}

/** The call that a request makes before it is accepted, without a Redis. */
async function withoutRedis(t: TestContext, waitMs: number) {
  const redis = await startTestRedis(t)
  const client = connectRedis(redis.url, { name: 'test', kind: 'request', timeoutMs: 30_000 })
  client.on('error', () => {})
  t.after(() => client.disconnect())
  await until(() => client.status === 'ready')
  const reconnection = new Reconnection(client, waitMs)
  const { requests, lookups } = sharedLimits(new RedisTokenCounters(client, reconnection), { now: Date.now })
  const store = new RedisTenantStore(client, reconnection)
  await redis.kill()
  await until(() => client.status !== 'ready')
  const ask = () => [requests.take(CALLER, 1), lookups.take(CALLER, 1), store.findHolder('hash')] as const
  return { redis, ask }
}

test('a request waits while Redis restarts', async (t) => {
  const { redis, ask } = await withoutRedis(t, 60_000)
  const asking = ask()
  const asked = Promise.allSettled(asking)
  // Waits for its end in any case: a process started after the end of a test would stay.
  await redis.restart()
  await asked
  const [rate, quota, tenant] = await Promise.all(asking)
  assert.deepEqual([rate.allowed, quota.left, tenant], [true, 9, undefined])
})

test('a request is refused while Redis is down for longer', async (t) => {
  const { ask } = await withoutRedis(t, 1)
  for (let round = 0; round < 2; round++) {
    const answers = await Promise.allSettled(ask())
    assert.ok(answers.every((answer) => answer.status === 'rejected' && answer.reason instanceof UnavailableError))
  }
})

test('a start gives up when nothing answers within REDIS_START_MS, at a server and at a cluster', async (t) => {
  for (const scheme of ['redis', 'redis-cluster']) {
    const redisUrl = `${scheme}://127.0.0.1:${takePort()}`
    const client = quiet(connectRedis(redisUrl, { name: 'test', kind: 'loop' }))
    t.after(() => client.disconnect())
    const context = { shared: client, config: { redisUrl, redisStartMs: 300 } } as unknown as ProcessContext
    const refused = `Redis at ${redisUrl} does not answer within 0.3 s (REDIS_URL, REDIS_START_MS): `
    await assert.rejects(topology(context).start(), ({ message }: Error) => message.startsWith(refused))
  }
})
