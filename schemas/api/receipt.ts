import { type Static, Type } from 'typebox'
import { EventEnvelope } from './event.ts'

/** Path and query of `GET /v1/events/{event_id}`. */
export const EventQuery = Type.Object({
  event_id: EventEnvelope.properties.event_id,
  received_at: Type.Optional(
    Type.String({
      format: 'rfc3339',
      description: 'Approximate time of sending; the archive is searched around it',
    }),
  ),
})

/** Status of a received event (schemas/README.md, Receipts). */
export const ReceiptStatus = Type.Enum([
  'stored',
  'hidden',
  'in_progress',
  'dead',
  'duplicate',
  'filtered',
  'invalid_ip',
  'accepted',
])
export type ReceiptStatus = Static<typeof ReceiptStatus>

/** Most receipts of an event in an answer. */
export const RECEIPTS_MAX = 20

/** One time that an event was received. Unknown facts are absent. */
export const EventReceipt = Type.Object(
  {
    status: ReceiptStatus,
    received_at: Type.Optional(Type.String({ format: 'rfc3339' })),
    lane: Type.Optional(Type.Enum(['live', 'batch'])),
    request_id: Type.Optional(Type.String({ description: 'Live event: x-request-id of the request' })),
    job_id: Type.Optional(Type.String({ description: 'Batch line: id of the job' })),
    classification: Type.Optional(Type.String({ description: 'Class of the address' })),
    reason: Type.Optional(Type.String({ description: 'Why it is a dead letter, or the rule that hides it' })),
    dead_letter: Type.Optional(Type.String({ description: 'Id of the dead letter, for the operator' })),
    archived: Type.Optional(Type.String({ description: 'The part of the archive with the event' })),
  },
  { title: 'Receipt' },
)
export type EventReceipt = Static<typeof EventReceipt>

/** A place that was not fully searched, because of a time or size limit. */
export const EventSource = Type.Enum(['pipeline', 'dead_letters', 'archive'])
export type EventSource = Static<typeof EventSource>

/** Answer of `GET /v1/events/{event_id}`. */
export const EventFate = Type.Object(
  {
    event_id: Type.String(),
    status: ReceiptStatus,
    receipts: Type.Array(EventReceipt, { maxItems: RECEIPTS_MAX, description: 'Newest first' }),
    incomplete: Type.Optional(
      Type.Array(EventSource, { description: 'Places that were not fully searched; there may be more receipts' }),
    ),
  },
  { title: 'EventFate' },
)
export type EventFate = Static<typeof EventFate>
