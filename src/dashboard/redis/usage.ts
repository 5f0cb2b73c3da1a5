import type { Plan } from '../../../schemas/plans.ts'
import { type OriginWarning, originWarning } from '../../pipeline/event/origins.ts'
import type { Clock } from '../../run/clock.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { orUnavailable } from '../../stores/redis/or-unavailable.ts'
import { SharedDailyQuota } from '../../tenants/quota.ts'
import { RedisOriginCounts } from '../../tenants/redis/origin-counts.ts'
import { RedisTokenCounters } from '../../tenants/redis/token-counters.ts'
import { NO_CHANGE } from '../../tenants/shared-tokens.ts'
import type { UsageStore } from '../server/overview-store.ts'

/** What is counted of tenants in Redis, to be shown. */
export class RedisUsage implements UsageStore {
  readonly #quota: SharedDailyQuota
  readonly #buckets: RedisTokenCounters
  readonly #origins: RedisOriginCounts

  constructor(client: RedisClient, clock: Clock) {
    this.#quota = new SharedDailyQuota(new RedisTokenCounters(client), clock)
    this.#buckets = new RedisTokenCounters(client)
    this.#origins = new RedisOriginCounts(client, clock)
  }

  lookups(tenantId: string): Promise<number> {
    return told(this.#quota.used(tenantId))
  }

  async requestsLeft(tenantId: string, { rate, burst }: Plan): Promise<number> {
    const counter = { tenantId, size: burst, rate }
    const [grant] = this.#buckets.take([{ counter, tokens: [], change: NO_CHANGE }])
    return Math.floor((await grant!).left)
  }

  async warning(tenantId: string): Promise<OriginWarning | undefined> {
    return originWarning(await told(this.#origins.read(tenantId)))
  }
}

function told<T>(reply: Promise<T>): Promise<T> {
  return orUnavailable(reply, 'the counts of the tenant cannot be read')
}
