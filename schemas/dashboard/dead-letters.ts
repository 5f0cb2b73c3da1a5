import { type Static, Type } from 'typebox'

const LETTER_ID = Type.String({ maxLength: 64 })
const REASON = Type.String({ maxLength: 200 })
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
  /** When the event was first received, ISO 8601, UTC. */
  received_at: nullable,
})
export type DeadLetterSummary = Static<typeof DeadLetterSummary>

/** `GET /api/dead-letters` */
export const DeadLettersQuery = Type.Object(
  { after: Type.Optional(LETTER_ID), reason: Type.Optional(REASON) },
  { additionalProperties: false },
)

export const DeadLettersAnswer = Type.Object({
  /** Newest first, at most 50. */
  letters: Type.Array(DeadLetterSummary),
  /** Value of `after` for the next page; null on the last one. */
  next: nullable,
})
export type DeadLettersAnswer = Static<typeof DeadLettersAnswer>

/** `GET /api/dead-letters/:id` */
export const DeadLetterAnswer = Type.Object({
  letter: DeadLetterSummary,
  /** Known columns of the event's row. */
  event: Type.Record(Type.String(), Type.String()),
  /** Why it cannot be retried; null when it can. */
  why_not: nullable,
})
export type DeadLetterAnswer = Static<typeof DeadLetterAnswer>

/** `POST /api/dead-letters/:id/retry` and `/discard`. `gone`: another request was first. */
export const DeadLetterChanged = Type.Object({ result: Type.Enum(['done', 'gone']) })
export type DeadLetterChanged = Static<typeof DeadLetterChanged>

/** `POST /api/dead-letters/retry` and `/discard`: many letters, some of them at each call. */
export const ChangeLettersBody = Type.Object(
  {
    /** A part of their reasons. Default: all letters. */
    reason: Type.Optional(REASON),
    /** The newest letter that the user saw. Newer ones stay. */
    newest: LETTER_ID,
    /** `next` of the previous answer. */
    after: Type.Optional(LETTER_ID),
  },
  { additionalProperties: false },
)
export type ChangeLettersBody = Static<typeof ChangeLettersBody>

export const LettersChanged = Type.Object({
  done: Type.Integer(),
  /** Letters that another request changed first. */
  gone: Type.Integer(),
  /** Letters that cannot be retried, and stay. */
  refused: Type.Integer(),
  /** Value of `after` for the next call; null after the last one. */
  next: nullable,
})
export type LettersChanged = Static<typeof LettersChanged>
