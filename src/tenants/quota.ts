import type { Caller } from './tenancy.ts'

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
   * Counts `lookups` addresses; counts none when they would pass the limit. Answers without a promise when it holds that
   * many of the tenant's. Rejects with `UnavailableError`.
   */
  take(caller: Caller, lookups: number): QuotaDecision | Promise<QuotaDecision>
}
