import { type Static, Type } from 'typebox'
import { CompanyQuery, CompanySource } from './company.ts'

export const VISIT_LIMITS = {
  /** Events of one call. */
  events: 200,
  /** Newest events that `ActivityAnswer` counts. */
  summedEvents: 50_000,
  values: 20,
} as const

/** `GET /api/tenants/:tenant/companies/of/:company/visits` */
export const VisitsQuery = Type.Object(
  { before: Type.Optional(Type.String({ maxLength: 1_000, description: '`older` of the answer before' })) },
  { additionalProperties: false },
)

/** An event, for the visit that it belongs to. Unknown texts are empty. */
export const VisitEvent = Type.Object({
  event_id: Type.String(),
  timestamp: Type.String(),
  received_at: Type.String(),
  event_type: Type.String(),
  /** As sent; null when none was sent. */
  session_id: Type.Union([Type.Integer(), Type.Null()]),
  /** As stored: may be a pseudonym. */
  ip: Type.String(),
  account_id: Type.String(),
  /** The person as the sender names them: user_id, userId, or an e-mail address of user_properties. */
  person: Type.String(),
  /** Host and path, without the query. */
  page: Type.String(),
  /** Host that the visitor came from; empty for pages of the same host. */
  referrer: Type.String(),
  utm_source: Type.String(),
  utm_campaign: Type.String(),
})
export type VisitEvent = Static<typeof VisitEvent>

export const VisitsAnswer = Type.Object({
  /** The newest first. */
  events: Type.Array(VisitEvent),
  /** For `before` of the next call; null at the end. */
  older: Type.Union([Type.String(), Type.Null()]),
})
export type VisitsAnswer = Static<typeof VisitsAnswer>

/** `GET /api/tenants/:tenant/companies/of/:company/activity` */
export const ActivityQuery = CompanyQuery

/** What a company did on its last days, by number of events. */
export const ActivityAnswer = Type.Object({
  pages: Type.Array(CompanySource),
  referrers: Type.Array(CompanySource),
  campaigns: Type.Array(CompanySource),
  people: Type.Array(CompanySource),
  /** Whether older events of these days were left out, see `VISIT_LIMITS.summedEvents`. */
  is_cut: Type.Boolean(),
})
export type ActivityAnswer = Static<typeof ActivityAnswer>
