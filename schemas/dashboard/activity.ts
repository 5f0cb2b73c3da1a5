import { type Static, Type } from 'typebox'
import { Touch } from '../companies.ts'
import { CompanyQuery } from './company.ts'

export const ACTIVITY_LIMITS = {
  /** Events of one call. */
  events: 200,
  /** Newest events whose sessions `ActivityAnswer` counts. */
  summedEvents: 50_000,
  sessionGapMs: 1_800_000,
  values: 20,
} as const

/** `GET /api/tenants/:tenant/companies/of/:company/activity/events` */
export const ActivityEventsQuery = Type.Object(
  { before: Type.Optional(Type.String({ maxLength: 1_000, description: '`older` of the answer before' })) },
  { additionalProperties: false },
)

/** An event, for the session that it belongs to. Unknown texts are empty. */
export const ActivityEvent = Type.Object({
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
export type ActivityEvent = Static<typeof ActivityEvent>

export const ActivityEventsAnswer = Type.Object({
  /** The newest first. */
  events: Type.Array(ActivityEvent),
  /** For `before` of the next call; null at the end. */
  older: Type.Union([Type.String(), Type.Null()]),
})
export type ActivityEventsAnswer = Static<typeof ActivityEventsAnswer>

/** `GET /api/tenants/:tenant/companies/of/:company/activity` */
export const ActivityQuery = CompanyQuery

const InSessions = Type.Object({ value: Type.String(), sessions: Type.Integer() })
/** A value, and the sessions with it. */
export type InSessions = Static<typeof InSessions>

/**
 * The activity of a company on its last days, by sessions: events with the same session_id, or else of the same visitor with less than
 * `ACTIVITY_LIMITS.sessionGapMs` between them. A visitor is the person, or else the address, or else the account. A session counts once for each
 * of its pages, people and accounts, and for its first referrer and its first campaign.
 */
export const ActivityAnswer = Type.Object({
  sessions: Type.Integer(),
  /** Sessions with neither a referrer nor a campaign. */
  direct_sessions: Type.Integer(),
  pages: Type.Array(InSessions),
  referrers: Type.Array(InSessions),
  campaigns: Type.Array(InSessions),
  people: Type.Array(InSessions),
  accounts: Type.Array(InSessions),
  /** Whether older events of these days were left out, see `ACTIVITY_LIMITS.summedEvents`. */
  is_cut: Type.Boolean(),
  /** Of all time. Null: no event has a URL. */
  first_touch: Type.Union([Touch, Type.Null()]),
  last_touch: Type.Union([Touch, Type.Null()]),
})
export type ActivityAnswer = Static<typeof ActivityAnswer>
