import type { Plan } from '../../../schemas/plans.ts'
import { type OriginWarning, originWarning } from '../../pipeline/event/origins.ts'
import type { Clock } from '../../run/clock.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { orUnavailable } from '../../stores/redis/or-unavailable.ts'
import { RedisDailyQuota } from '../../tenants/redis/daily-quota.ts'
import { RedisOriginCounts } from '../../tenants/redis/origin-counts.ts'
import { RedisTokenBuckets } from '../../tenants/redis/rate-bucket.ts'
import type { UsageStore } from '../server/overview-store.ts'

const TOKEN_MILLI = 1_000

/** What is counted of tenants in Redis, to be shown. */
export class RedisUsage implements UsageStore {
  readonly #quota: RedisDailyQuota
  readonly #buckets: RedisTokenBuckets
  readonly #origins: RedisOriginCounts

  constructor(client: RedisClient, clock: Clock) {
    this.#quota = new RedisDailyQuota(client, clock)
    this.#buckets = new RedisTokenBuckets(client)
    this.#origins = new RedisOriginCounts(client, clock)
  }

  lookups(tenantId: string): Promise<number> {
    return told(this.#quota.used(tenantId))
  }

  /** A demand for none says what is left. */
  async requestsLeft(tenantId: string, { rate, burst }: Plan): Promise<number> {
    const [grant] = this.#buckets.take([{ tenantId, rate, burst, wanted: 0 }])
    return Math.floor((await grant!).leftMilli / TOKEN_MILLI)
  }

  async warning(tenantId: string): Promise<OriginWarning | undefined> {
    return originWarning(await told(this.#origins.read(tenantId)))
  }
}

function told<T>(reply: Promise<T>): Promise<T> {
  return orUnavailable(reply, 'the counts of the tenant cannot be read')
}
