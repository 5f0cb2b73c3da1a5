import { type Static, Type } from 'typebox'
import { BOT_REASONS } from './bots.ts'
import { CLASSIFICATIONS } from './classification.ts'
import { RULE_REASONS } from './tenant-rules.ts'

const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(type: T) => Type.Union([type, Type.Null()])

/** The status in the answer. A repeat is `ok`, because it is recognised only later. */
export const LIVE_STATUSES = ['ok', 'filtered', 'invalid_ip'] as const
export type LiveStatus = (typeof LIVE_STATUSES)[number]

/** Status and main facts of an event by its address and the tenant's rules. Long texts are shortened. */
export const Judgement = Type.Object({
  status: Type.Enum([...LIVE_STATUSES]),
  company: nullable(Type.String()),
  domain: nullable(Type.String()),
  country_code: nullable(Type.String()),
  classification: nullable(Type.Enum([...CLASSIFICATIONS])),
  quality: Type.Number(),
  /** The tenant's rule that decided, if any. */
  rule: nullable(Type.String()),
  /** Why a rule filters the event, or which bot sent it. Null: the class decides. */
  filtered_as: nullable(Type.Enum([...RULE_REASONS, ...BOT_REASONS])),
})
export type Judgement = Static<typeof Judgement>

/** An event on arrival, for the live view. Long texts are shortened. */
export const LiveEvent = Type.Interface([Judgement], {
  /** ISO 8601, UTC. */
  received_at: Type.String(),
  event_type: nullable(Type.String()),
  /** Null when the tenant does not store addresses in full. */
  ip: nullable(Type.String()),
  /** Host and path of its page. Absent: it names none, or comes from an earlier version. */
  page: Type.Optional(Type.String()),
  /** Title of the page. Absent: as for `page`. */
  title: Type.Optional(Type.String()),
  /** The company that it is stored with. Absent: none is known, the event is not kept, or as for `page`. */
  company_id: Type.Optional(Type.String()),
})
export type LiveEvent = Static<typeof LiveEvent>

/** Number of events by status. */
export const LiveTotals = Type.Object({ ok: Type.Number(), filtered: Type.Number(), invalid_ip: Type.Number() })
export type LiveTotals = Static<typeof LiveTotals>

/** Counts of all events of a short time, and a sample of them. */
export const LiveReport = Type.Object({
  totals: LiveTotals,
  /** Oldest first. */
  events: Type.Array(LiveEvent),
})
export type LiveReport = Static<typeof LiveReport>
