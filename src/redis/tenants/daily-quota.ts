import type { Clock } from '../../core/run/clock.ts'
import { UnavailableError } from '../../core/run/errors.ts'
import type { DailyQuota, QuotaDecision } from '../../tenants/quota.ts'
import type { Caller } from '../../tenants/tenancy.ts'
import type { RedisClient } from '../connect.ts'
import { keys } from '../keys.ts'
import { loadScript } from '../scripts.ts'

const DAY_MS = 86_400_000
/** A counter outlives its day, so that it can still be shown. */
const COUNTER_TTL_MS = 2 * DAY_MS

const takeQuotaScript = loadScript('takeQuota-1')

/** Addresses that a tenant looked up on a UTC day, `YYYY-MM-DD`. */
export interface LookupsOfDay {
  readonly day: string
  readonly used: number
}

/** The daily lookup quota, counted in Redis and so shared exactly by all processes. Days are UTC. */
export class RedisDailyQuota implements DailyQuota {
  readonly #client: RedisClient
  readonly #clock: Clock

  constructor(client: RedisClient, clock: Clock) {
    this.#client = client
    this.#clock = clock
  }

  async take({ tenant, plan }: Caller, lookups: number): Promise<QuotaDecision> {
    const nowMs = this.#clock.now()
    const key = keys.lookups(tenant.id, dayOf(nowMs))
    try {
      const args = [lookups, plan.daily_lookups, COUNTER_TTL_MS]
      const [allowed, used] = (await takeQuotaScript.run(this.#client, [key], args)) as [number, number]
      return { allowed: allowed === 1, limit: plan.daily_lookups, used, ...resetOf(nowMs) }
    } catch (error) {
      throw new UnavailableError('the quota store did not answer', { cause: error })
    }
  }

  /** Addresses that a tenant looked up today. */
  async used(tenantId: string): Promise<number> {
    return (await this.today(tenantId)).used
  }

  /** What is counted today, and on what day that is. */
  async today(tenantId: string): Promise<LookupsOfDay> {
    const day = dayOf(this.#clock.now())
    return { day, used: Number((await this.#client.get(keys.lookups(tenantId, day))) ?? 0) }
  }

  /** Sets what was counted elsewhere. */
  async set(tenantId: string, { day, used }: LookupsOfDay): Promise<void> {
    await this.#client.set(keys.lookups(tenantId, day), used, 'PX', COUNTER_TTL_MS)
  }
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

function resetOf(nowMs: number): Pick<QuotaDecision, 'resetAt' | 'resetSeconds'> {
  const resetMs = (Math.floor(nowMs / DAY_MS) + 1) * DAY_MS
  return {
    resetAt: `${dayOf(resetMs)}T00:00:00+00:00`,
    resetSeconds: Math.max(1, Math.ceil((resetMs - nowMs) / 1_000)),
  }
}
