import { utcDay } from '../pipeline/event/outcomes.ts'
import type { Clock } from '../run/clock.ts'
import type { Service } from '../run/service.ts'
import { SharedTokens, type Taken, type TokenCounters } from './shared-tokens.ts'
import type { Caller } from './tenancy.ts'

const DAY_MS = 86_400_000
/** Redis keeps a count after its day, so that it can be shown. */
const KEPT_MS = 2 * DAY_MS

/** A tenant's daily lookups after a request counted its own, or was refused. */
export interface QuotaDecision {
  readonly allowed: boolean
  readonly limit: number
  readonly used: number
  /** Start of the next UTC day, like `2026-11-22T00:00:00+00:00`. */
  readonly resetAt: string
  /** Seconds until then, at least 1. */
  readonly resetSeconds: number
}

export interface DailyQuota {
  /**
   * Counts `lookups` addresses, or none when they would pass the limit. Answers without a promise from tokens that this process
   * reserved. Rejects with `UnavailableError`.
   */
  take(caller: Caller, lookups: number): QuotaDecision | Promise<QuotaDecision>
}

/** Addresses that a tenant looked up on a UTC day, `YYYY-MM-DD`. */
interface LookupsOfDay {
  readonly day: string
  readonly used: number
}

/** The daily lookup quota, shared exactly by all processes. A day is a UTC day. */
export class SharedDailyQuota implements DailyQuota, Service {
  readonly name = 'daily quota'
  readonly #store: TokenCounters
  readonly #clock: Clock
  readonly #tokens: SharedTokens
  #day = dayAt(0)

  constructor(store: TokenCounters, clock: Clock) {
    this.#store = store
    this.#clock = clock
    this.#tokens = new SharedTokens(store)
  }

  async start(): Promise<void> {}

  /** Returns all reservations. */
  stop(): Promise<void> {
    return this.#tokens.stop()
  }

  take({ tenant, plan }: Caller, lookups: number): QuotaDecision | Promise<QuotaDecision> {
    const nowMs = this.#clock.now()
    const { day, endMs, resetAt } = this.#dayOf(nowMs)
    const limit = plan.daily_lookups
    const resetSeconds = Math.max(1, Math.ceil((endMs - nowMs) / 1_000))
    const decide = ({ allowed, left }: Taken) => ({ allowed, limit, used: limit - left, resetAt, resetSeconds })
    const counter = { tenantId: tenant.id, window: day, size: limit, rate: 0, keptMs: KEPT_MS }
    const taken = this.#tokens.take(counter, lookups)
    return taken instanceof Promise ? taken.then(decide) : decide(taken)
  }

  /** Addresses that a tenant looked up today. */
  async used(tenantId: string): Promise<number> {
    return (await this.today(tenantId)).used
  }

  async today(tenantId: string): Promise<LookupsOfDay> {
    const { day } = this.#dayOf(this.#clock.now())
    return { day, used: await this.#store.used(tenantId, day) }
  }

  /** Sets the count, from a backup. */
  set(tenantId: string, { day, used }: LookupsOfDay): Promise<void> {
    return this.#store.setUsed(tenantId, day, used, KEPT_MS)
  }

  #dayOf(ms: number): Day {
    if (ms < this.#day.startMs || ms >= this.#day.endMs) this.#day = dayAt(ms)
    return this.#day
  }
}

interface Day {
  /** `YYYY-MM-DD` */
  readonly day: string
  readonly startMs: number
  readonly endMs: number
  readonly resetAt: string
}

function dayAt(ms: number): Day {
  const startMs = Math.floor(ms / DAY_MS) * DAY_MS
  const endMs = startMs + DAY_MS
  return { day: utcDay(startMs), startMs, endMs, resetAt: `${utcDay(endMs)}T00:00:00+00:00` }
}
