import { type Static, Type } from 'typebox'

export const PlanLimits = Type.Object({
  rate: Type.Number({ description: 'Requests per second' }),
  burst: Type.Number({ description: 'Requests at once' }),
  daily_lookups: Type.Number({ description: 'Addresses looked up per UTC day' }),
  monthly_accounts: Type.Number({ description: 'Companies per UTC month; shown but not enforced' }),
})
export type PlanLimits = Static<typeof PlanLimits>

/** `GET /api/tenants/:tenant/plan` */
export const PlanAnswer = Type.Object({
  plan: Type.String(),
  /** False: the plan was removed, and `limits` are those of starter. */
  exists: Type.Boolean(),
  limits: PlanLimits,
  lookups_today: Type.Integer(),
  /** Start of the next UTC day. */
  resets_at: Type.String(),
})
export type PlanAnswer = Static<typeof PlanAnswer>

/** `GET /api/tenants/:tenant/accounts-of-month`. A separate call, because it asks ClickHouse and not Redis. */
export const AccountsOfMonthAnswer = Type.Object({
  month: Type.String({ description: 'YYYY-MM, UTC' }),
  tracked_accounts: Type.Integer(),
  /** When the first company above the limit was seen; null while the limit holds. */
  passed_at: Type.Union([Type.String(), Type.Null()]),
})
export type AccountsOfMonthAnswer = Static<typeof AccountsOfMonthAnswer>
