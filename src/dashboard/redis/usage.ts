import type { Plan } from '../../../schemas/plans.ts'
import { type OriginWarning, originWarning } from '../../pipeline/event/origins.ts'
import type { Clock } from '../../run/clock.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { answeredOr } from '../../stores/redis/errors.ts'
import { SharedDailyQuota } from '../../tenants/quota.ts'
import { RedisOriginCounts } from '../../tenants/redis/origin-counts.ts'
import { RedisTokenCounters } from '../../tenants/redis/token-counters.ts'
import { NO_CHANGE } from '../../tenants/shared-tokens.ts'

const answered = answeredOr('the counters of the tenant cannot be read')

/** Reads counters of a tenant. */
export class RedisUsage {
  readonly #quota: SharedDailyQuota
  readonly #buckets: RedisTokenCounters
  readonly #origins: RedisOriginCounts

  constructor(client: RedisClient, clock: Clock) {
    this.#quota = new SharedDailyQuota(new RedisTokenCounters(client), clock)
    this.#buckets = new RedisTokenCounters(client)
    this.#origins = new RedisOriginCounts(client, clock)
  }

  /** Addresses looked up on this UTC day. */
  lookups(tenantId: string): Promise<number> {
    return answered(this.#quota.used(tenantId))
  }

  /** Requests that the rate limit allows now. Takes no token. */
  async requestsLeft(tenantId: string, { rate, burst }: Plan): Promise<number> {
    const counter = { tenantId, size: burst, rate }
    const [grant] = this.#buckets.take([{ counter, tokens: [], change: NO_CHANGE }])
    return Math.floor((await grant!).left)
  }

  /** Warns when most events come from one network; undefined: no warning. */
  async warning(tenantId: string): Promise<OriginWarning | undefined> {
    return originWarning(await answered(this.#origins.read(tenantId)))
  }
}
