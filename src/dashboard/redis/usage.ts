import { type OriginWarning, originWarning } from '../../pipeline/event/origins.ts'
import type { Clock } from '../../run/clock.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { answeredOr } from '../../stores/redis/errors.ts'
import { RedisOriginCounts } from '../../tenants/redis/origin-counts.ts'

const answered = answeredOr('the counters of the tenant cannot be read')

/** Reads counters of a tenant. */
export class RedisUsage {
  readonly #origins: RedisOriginCounts

  constructor(client: RedisClient, clock: Clock) {
    this.#origins = new RedisOriginCounts(client, clock)
  }

  /** Warns when most events come from one network; undefined: no warning. */
  async warning(tenantId: string): Promise<OriginWarning | undefined> {
    return originWarning(await answered(this.#origins.read(tenantId)))
  }
}
