import { type Static, Type } from 'typebox'
import { CompanyRow } from './companies.ts'

/** `GET /api/tenants/:tenant/overview` */
export const OverviewQuery = Type.Object(
  { days: Type.Optional(Type.Integer({ minimum: 1, maximum: 366 })) },
  { additionalProperties: false },
)
export type OverviewQuery = Static<typeof OverviewQuery>

/** Events of a UTC day of receipt, by what became of them (schemas/README.md, Outcomes). */
export const OutcomeCount = Type.Object({
  day: Type.String(),
  status: Type.String(),
  reason: Type.String(),
  classification: Type.String(),
  events: Type.Integer(),
})
export type OutcomeCount = Static<typeof OutcomeCount>

/** Companies with events of a UTC day, and those that were never seen before it. */
export const CompaniesOfDay = Type.Object({ day: Type.String(), seen: Type.Integer(), new: Type.Integer() })
export type CompaniesOfDay = Static<typeof CompaniesOfDay>

const Used = { used: Type.Integer(), limit: Type.Integer() }

/** What is used of the plan. */
export const PlanUsage = Type.Object({
  plan: Type.String(),
  /** Addresses looked up on this UTC day. */
  lookups: Type.Object({ ...Used, resets_at: Type.String() }),
  /** Companies of this UTC month; `passed_at` is when the limit was passed. */
  accounts: Type.Object({ ...Used, month: Type.String(), passed_at: Type.Union([Type.String(), Type.Null()]) }),
  /** Requests a second, the burst, and the requests that may be made at once now. */
  rate: Type.Object({ per_second: Type.Number(), burst: Type.Number(), left: Type.Number() }),
})
export type PlanUsage = Static<typeof PlanUsage>

export const OverviewAnswer = Type.Object({
  /** First and last UTC day. */
  from: Type.String(),
  to: Type.String(),
  outcomes: Type.Array(OutcomeCount),
  companies: Type.Array(CompaniesOfDay),
  /** Of the days that are shown. */
  companies_seen: Type.Integer(),
  companies_new: Type.Integer(),
  top: Type.Array(CompanyRow),
  /** Most traffic comes from one network that no visitor uses; null when it does not. */
  warning: Type.Union([
    Type.Object({ text: Type.String(), network: Type.String(), share: Type.Number() }),
    Type.Null(),
  ]),
  usage: PlanUsage,
})
export type OverviewAnswer = Static<typeof OverviewAnswer>
