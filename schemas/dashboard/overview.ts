import { type Static, Type } from 'typebox'
import { CompanyRow } from '../companies.ts'

/** `GET /api/tenants/:tenant/overview` */
export const OverviewQuery = Type.Object(
  { days: Type.Optional(Type.Integer({ minimum: 1, maximum: 366 })) },
  { additionalProperties: false },
)
export type OverviewQuery = Static<typeof OverviewQuery>

/** Events of a UTC day of receipt, by outcome (schemas/README.md, Outcomes). */
export const OutcomeCount = Type.Object({
  day: Type.String(),
  status: Type.String(),
  reason: Type.String(),
  classification: Type.String(),
  events: Type.Integer(),
})
export type OutcomeCount = Static<typeof OutcomeCount>

/** Stored events by the UTC day of their timestamps. */
export const EventDay = Type.Object({
  day: Type.String(),
  companies: Type.Integer(),
  /** Companies with their first event on this day. */
  new_companies: Type.Integer(),
  /** Events of a known company. */
  known: Type.Integer(),
  /** Events of unknown companies. */
  unknown: Type.Integer(),
})
export type EventDay = Static<typeof EventDay>

const Used = { used: Type.Integer(), limit: Type.Integer() }

/** Usage of the plan. */
export const PlanUsage = Type.Object({
  plan: Type.String(),
  /** Addresses looked up on this UTC day. */
  lookups: Type.Object({ ...Used, resets_at: Type.String() }),
  /** Companies of this UTC month; `passed_at` is when the limit was passed. */
  accounts: Type.Object({ ...Used, month: Type.String(), passed_at: Type.Union([Type.String(), Type.Null()]) }),
  /** Requests per second, the burst, and the requests that are possible at once now. */
  rate: Type.Object({ per_second: Type.Number(), burst: Type.Number(), left: Type.Number() }),
})
export type PlanUsage = Static<typeof PlanUsage>

/** Set when most traffic comes from one network that visitors do not use. */
export const TrafficWarning = Type.Union([
  Type.Object({ text: Type.String(), network: Type.String(), share: Type.Number() }),
  Type.Null(),
])
export type TrafficWarning = Static<typeof TrafficWarning>

export const OverviewAnswer = Type.Object({
  /** First and last UTC day. */
  from: Type.String(),
  to: Type.String(),
  /** By the day of receipt: events that are not stored have no other time. */
  outcomes: Type.Array(OutcomeCount),
  /** By the day of the event; empty days are left out. */
  event_days: Type.Array(EventDay),
  /** On the shown days, by the day of the event. */
  companies_seen: Type.Integer(),
  companies_new: Type.Integer(),
  top: Type.Array(CompanyRow),
  warning: TrafficWarning,
  usage: PlanUsage,
})
export type OverviewAnswer = Static<typeof OverviewAnswer>
