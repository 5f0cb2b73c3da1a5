import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { DEFAULT_PLANS, type Plan } from '../../schemas/plans.ts'
import { type Clock, systemClock } from '../../src/run/clock.ts'
import { connectRedis, type RedisClient } from '../../src/stores/redis/connect.ts'
import { TenantAdmin } from '../../src/tenants/admin.ts'
import { CachedAuthenticator } from '../../src/tenants/authenticator.ts'
import { RedisTenantChanges, RedisTenantStore } from '../../src/tenants/redis/tenant-store.ts'
import { quiet, silent } from './pipeline.ts'

/** The tenants and keys of one process, on its own connections. */
export interface TestTenants {
  readonly client: RedisClient
  readonly changes: RedisClient
  readonly store: RedisTenantStore
  readonly admin: TenantAdmin
  readonly authenticator: CachedAuthenticator
}

/** Starts one; everything is closed after the test. Resolves when it is subscribed to changes. */
export async function startTenants(
  t: TestContext,
  url: string,
  options: { clock?: Clock; plans?: Record<string, Plan> } = {},
): Promise<TestTenants> {
  const clock = options.clock ?? systemClock
  const plans = new Map(Object.entries({ ...DEFAULT_PLANS, ...options.plans }))
  const client = quiet(connectRedis(url, { name: 'test-tenants', kind: 'request', timeoutMs: 1_000 }))
  const changes = quiet(connectRedis(url, { name: 'test-changes', kind: 'loop' }))
  await Promise.all([once(client, 'ready'), once(changes, 'ready')])
  const store = new RedisTenantStore(client)
  const authenticator = new CachedAuthenticator({
    store,
    changes: new RedisTenantChanges(changes),
    plans,
    clock,
    log: silent,
    flushEveryMs: 20,
  })
  await authenticator.start()
  // Replies come in order, so this one means that the subscription is active.
  await changes.ping()
  t.after(async () => {
    await authenticator.stop()
    client.disconnect()
  })
  const admin = new TenantAdmin({ store, plans, clock })
  return { client, changes, store, admin, authenticator }
}

/** A clock that is set by hand. */
export function handClock(startMs = Date.UTC(2026, 10, 21)): Clock & { nowMs: number } {
  return {
    nowMs: startMs,
    now() {
      return this.nowMs
    },
  }
}
