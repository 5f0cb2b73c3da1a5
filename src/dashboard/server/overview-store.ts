import type { EventDay, OutcomeCount } from '../../../schemas/dashboard/overview.ts'
import type { Plan } from '../../../schemas/plans.ts'
import type { OriginWarning } from '../../pipeline/event/origins.ts'

/** First and last UTC day, `YYYY-MM-DD`. */
export interface Days {
  readonly from: string
  readonly to: string
}

/** Kept events and their companies, by the UTC day of the event's timestamp. */
export interface EventDays {
  /** In the order of the days; those without anything are left out. */
  readonly days: readonly EventDay[]
  /** Different companies with an event on one of the days. */
  readonly companies: number
  /** Those whose first event is on one of the days. */
  readonly newCompanies: number
}

/** Companies that a tenant tracked in a month. */
export interface TrackedAccounts {
  readonly tracked_accounts: number
  readonly passed_at: string | null
}

/**
 * Sums of a tenant, as they are stored. Every call rejects with `UnavailableError`, or with `BackpressureError` when too much is
 * being asked.
 */
export interface OverviewStore {
  /** By UTC day of receipt and what became of the events; in no order. */
  outcomes(tenantId: string, days: Days): Promise<readonly OutcomeCount[]>
  /** Of 366 days at most. */
  eventDays(tenantId: string, days: Days): Promise<EventDays>
  /** @param month UTC, `YYYY-MM` */
  tracked(tenantId: string, month: string, limit: number): Promise<TrackedAccounts>
}

/** What is counted of a tenant while it works. */
export interface UsageStore {
  /** Addresses looked up on this UTC day. */
  lookups(tenantId: string): Promise<number>
  /** Requests that may be made at once now; nothing is taken. */
  requestsLeft(tenantId: string, plan: Plan): Promise<number>
  /** Undefined: nothing is strange about where its events come from. */
  warning(tenantId: string): Promise<OriginWarning | undefined>
}
