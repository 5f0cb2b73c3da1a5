import { type Static, Type } from 'typebox'

/** What a plan allows. */
export const PlanLimits = Type.Object({
  rate: Type.Number({ description: 'Requests a second' }),
  burst: Type.Number({ description: 'Requests at once' }),
  daily_lookups: Type.Number({ description: 'Addresses looked up in a UTC day' }),
  monthly_accounts: Type.Number({ description: 'Companies in a UTC month; shown, never enforced' }),
})
export type PlanLimits = Static<typeof PlanLimits>

/** `GET /api/tenants/:tenant/plan` */
export const PlanAnswer = Type.Object({
  plan: Type.String(),
  /** False: there is no such plan any more, and `limits` are those of starter. */
  exists: Type.Boolean(),
  limits: PlanLimits,
  lookups_today: Type.Integer(),
  /** Start of the next UTC day. */
  resets_at: Type.String(),
})
export type PlanAnswer = Static<typeof PlanAnswer>

/** `GET /api/tenants/:tenant/accounts-of-month`: asked of ClickHouse, so apart from what Redis knows. */
export const AccountsOfMonthAnswer = Type.Object({
  month: Type.String({ description: 'YYYY-MM, UTC' }),
  tracked_accounts: Type.Integer(),
  /** When the first company beyond the limit came; null while the limit holds. */
  passed_at: Type.Union([Type.String(), Type.Null()]),
})
export type AccountsOfMonthAnswer = Static<typeof AccountsOfMonthAnswer>
