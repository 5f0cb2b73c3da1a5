import { type Static, Type } from 'typebox'

const nullable = Type.Union([Type.String(), Type.Null()])

/** A dead letter, as `ipid dead-letter list --json` prints it. */
export const DeadLetterSummary = Type.Object({
  id: Type.String(),
  /** ISO 8601, UTC. */
  given_up_at: Type.String(),
  group: Type.String(),
  stream: Type.String(),
  lane: Type.String(),
  reason: Type.String(),
  job_id: nullable,
  tenant_id: nullable,
  event_id: nullable,
  ip: nullable,
})
export type DeadLetterSummary = Static<typeof DeadLetterSummary>

/** `GET /api/dead-letters` */
export const DeadLettersQuery = Type.Object(
  { after: Type.Optional(Type.String({ maxLength: 64 })) },
  { additionalProperties: false },
)

export const DeadLettersAnswer = Type.Object({
  /** The newest first, at most 50. */
  letters: Type.Array(DeadLetterSummary),
  /** For `after`; null: there are no more. */
  next: nullable,
})
export type DeadLettersAnswer = Static<typeof DeadLettersAnswer>

/** `GET /api/dead-letters/:id` */
export const DeadLetterAnswer = Type.Object({
  letter: DeadLetterSummary,
  /** What is known of its event, as columns of a row. */
  event: Type.Record(Type.String(), Type.String()),
  /** Why it cannot be put back; null when it can. */
  why_not: nullable,
})
export type DeadLetterAnswer = Static<typeof DeadLetterAnswer>

/** `POST /api/dead-letters/:id/retry` and `/discard`: `gone` when somebody else was first. */
export const DeadLetterChanged = Type.Object({ result: Type.Enum(['done', 'gone']) })
export type DeadLetterChanged = Static<typeof DeadLetterChanged>
