/** Limits of a tenant. Each request looks up the plan by name, so a tenant can change its plan without a restart. */
export interface Plan {
  /** Requests per second that refill the bucket. */
  readonly rate: number
  /** Size of the bucket, requests. */
  readonly burst: number
  /** Addresses looked up per UTC day. */
  readonly daily_lookups: number
  /** Unique identified companies per UTC month; shown but not enforced. */
  readonly monthly_accounts: number
}

export type Plans = ReadonlyMap<string, Plan>

/** The plan of a tenant whose own plan no longer exists. */
export const FALLBACK_PLAN = 'starter'

/** The plan that applies to a tenant. @param plans must have `starter` */
export function planOf(plans: Plans, { plan }: { readonly plan: string }): Plan {
  return plans.get(plan) ?? plans.get(FALLBACK_PLAN)!
}

/** The four plans (schemas/README.md, Tenants, keys and plans). `PLANS_FILE` adds or overrides. */
export const DEFAULT_PLANS: Readonly<Record<string, Plan>> = {
  starter: { rate: 5, burst: 20, daily_lookups: 1_000, monthly_accounts: 500 },
  growth: { rate: 15, burst: 60, daily_lookups: 10_000, monthly_accounts: 2_500 },
  professional: { rate: 25, burst: 100, daily_lookups: 50_000, monthly_accounts: 10_000 },
  custom: { rate: 100, burst: 500, daily_lookups: 1_000_000, monthly_accounts: 100_000 },
}
