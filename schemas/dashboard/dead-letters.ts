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
  /** When the event came first, ISO 8601, UTC. */
  received_at: nullable,
})
export type DeadLetterSummary = Static<typeof DeadLetterSummary>

/** `GET /api/dead-letters` */
export const DeadLettersQuery = Type.Object(
  { after: Type.Optional(LETTER_ID), reason: Type.Optional(REASON) },
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

/** `POST /api/dead-letters/retry` and `/discard`: many of them, a part at each call. */
export const ChangeLettersBody = Type.Object(
  {
    /** Part of their reasons; without it all are meant. */
    reason: Type.Optional(REASON),
    /** The newest that the asker saw: what was given up behind it stays. */
    newest: LETTER_ID,
    /** `next` of the answer before. */
    after: Type.Optional(LETTER_ID),
  },
  { additionalProperties: false },
)
export type ChangeLettersBody = Static<typeof ChangeLettersBody>

export const LettersChanged = Type.Object({
  done: Type.Integer(),
  /** Somebody else was first. */
  gone: Type.Integer(),
  /** They cannot be put back, and stay. */
  refused: Type.Integer(),
  /** For `after`; null: these were the last. */
  next: nullable,
})
export type LettersChanged = Static<typeof LettersChanged>
