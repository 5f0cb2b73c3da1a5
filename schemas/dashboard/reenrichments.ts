import { type Static, Type } from 'typebox'
import { REENRICHMENT_LIMITS } from '../limits.ts'

const Nullable = <T extends Parameters<typeof Type.Union>[0][number]>(type: T) => Type.Union([type, Type.Null()])

/** Which stored events: those received in this many UTC days, today included; null: all. */
export const Past = Type.Object(
  { days: Nullable(Type.Integer({ minimum: 1, maximum: REENRICHMENT_LIMITS.daysMax })) },
  { additionalProperties: false },
)
export type Past = Static<typeof Past>

export const REENRICHMENT_STATES = ['waiting', 'running', 'done', 'cancelled', 'failed'] as const
/**
 * `settling`: received events are being stored; `judging`: nothing is changed yet; `replacing`: it cannot be cancelled; `archive`: events that
 * were filtered come back.
 */
export const REENRICHMENT_STEPS = ['settling', 'judging', 'replacing', 'archive'] as const

/** The changes of a job. */
export const ReenrichmentResult = Type.Object({
  changed_events: Type.Integer(),
  /** Events and visits that are hidden from now on. */
  filtered_events: Type.Integer(),
  filtered_visits: Type.Integer(),
  /** Visits that count for another company or with other values. */
  changed_visits: Type.Integer(),
  /** Events stored without their address. They stay as they are. */
  not_judged_events: Type.Integer(),
  /** Hidden events and visits that count again. */
  shown_events: Type.Integer(),
  shown_visits: Type.Integer(),
  /** Hidden events that were removed for good. */
  deleted_events: Type.Integer(),
  /** Filtered events of the archive that count from now on. */
  returned_events: Type.Integer(),
})
export type ReenrichmentResult = Static<typeof ReenrichmentResult>

/** A job that applies rules of a tenant to stored events. Times are ISO 8601, UTC. */
export const Reenrichment = Type.Object({
  job_id: Type.String(),
  state: Type.Enum([...REENRICHMENT_STATES]),
  /** The added and removed rules. */
  rules: Type.Array(Type.String()),
  /** Whether the choice about organisations of unknown class changed. */
  unclassified: Type.Boolean(),
  /** As in the request; 0: hidden events only. */
  days: Nullable(Type.Integer()),
  requested_at: Type.String(),
  requested_by: Type.String(),
  started_at: Nullable(Type.String()),
  ended_at: Nullable(Type.String()),
  /** While it runs. */
  step: Nullable(Type.Enum([...REENRICHMENT_STEPS])),
  /** Done part, 0 to 1. */
  share: Type.Number(),
  seconds_left: Nullable(Type.Integer()),
  changed_events: Type.Integer(),
  /** Whether a person cancelled it while it ran. */
  is_cancelling: Type.Boolean(),
  result: Nullable(ReenrichmentResult),
  /** Why it failed, or why it is being tried again. */
  problem: Nullable(Type.String()),
})
export type Reenrichment = Static<typeof Reenrichment>

/** `GET /api/tenants/:tenant/reenrichments`: the running or last job, and the one that waits for it. */
export const ReenrichmentsAnswer = Type.Object({ job: Nullable(Reenrichment), waiting: Nullable(Reenrichment) })
export type ReenrichmentsAnswer = Static<typeof ReenrichmentsAnswer>

/** `POST /api/tenants/:tenant/reenrichments` applies rules that exist. The answer is the job. */
export const ReenrichmentBody = Type.Object(
  {
    rules: Type.Array(Type.String({ maxLength: REENRICHMENT_LIMITS.ruleMaxChars }), {
      minItems: 1,
      maxItems: REENRICHMENT_LIMITS.rules,
    }),
    past: Past,
  },
  { additionalProperties: false },
)
export type ReenrichmentBody = Static<typeof ReenrichmentBody>

/** `POST /api/tenants/:tenant/reenrichments/cancel` */
export const CancelReenrichmentBody = Type.Object(
  { job_id: Type.String({ maxLength: 100 }) },
  { additionalProperties: false },
)
export type CancelReenrichmentBody = Static<typeof CancelReenrichmentBody>
