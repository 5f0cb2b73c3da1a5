import { type Static, Type } from 'typebox'
import { CLASSIFICATIONS } from './classification.ts'
import { FILTER_REASONS } from './tenant-rules.ts'

const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(type: T) => Type.Union([type, Type.Null()])

/** As the API answers it: a repeat is `ok`, which nobody knows at that moment. */
export const LIVE_STATUSES = ['ok', 'filtered', 'invalid_ip'] as const
export type LiveStatus = (typeof LIVE_STATUSES)[number]

/** What becomes of an event by its address and the rules of its tenant, for people. Texts are cut. */
export const Judgement = Type.Object({
  status: Type.Enum([...LIVE_STATUSES]),
  company: nullable(Type.String()),
  domain: nullable(Type.String()),
  country_code: nullable(Type.String()),
  classification: nullable(Type.Enum([...CLASSIFICATIONS])),
  quality: Type.Number(),
  /** The rule of the tenant that decided; null: none did. */
  rule: nullable(Type.String()),
  /** Why a rule filters it; null: its class does, if it is filtered. */
  filtered_as: nullable(Type.Enum([...FILTER_REASONS])),
})
export type Judgement = Static<typeof Judgement>

/** An event of the API as it arrived, for who looks on. Texts are cut. */
export const LiveEvent = Type.Interface([Judgement], {
  /** ISO 8601, UTC. */
  received_at: Type.String(),
  event_type: nullable(Type.String()),
  /** Null where the tenant does not keep addresses in full. */
  ip: nullable(Type.String()),
})
export type LiveEvent = Static<typeof LiveEvent>

/** Numbers of events by status. */
export const LiveTotals = Type.Object({ ok: Type.Number(), filtered: Type.Number(), invalid_ip: Type.Number() })
export type LiveTotals = Static<typeof LiveTotals>

/** What came in a short while: all of it counted, some of it shown. */
export const LiveReport = Type.Object({
  totals: LiveTotals,
  /** Oldest first, as they came to one process. */
  events: Type.Array(LiveEvent),
})
export type LiveReport = Static<typeof LiveReport>
