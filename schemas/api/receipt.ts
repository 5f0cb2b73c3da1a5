import { type Static, Type } from 'typebox'
import { EventEnvelope } from './event.ts'

/** Path and query of `GET /v1/events/{event_id}`. */
export const EventQuery = Type.Object({
  event_id: EventEnvelope.properties.event_id,
  received_at: Type.Optional(
    Type.String({
      format: 'rfc3339',
      description: 'When it was sent, about: the archive is searched around that time',
    }),
  ),
})
export type EventQuery = Static<typeof EventQuery>

/** What became of an event that was received once, or several times (schemas/README.md, Receipts). */
export const ReceiptStatus = Type.Enum([
  'stored',
  'in_progress',
  'dead',
  'duplicate',
  'filtered',
  'invalid_ip',
  'accepted',
])
export type ReceiptStatus = Static<typeof ReceiptStatus>

/** Receipts that are told of one event. */
export const RECEIPTS_MAX = 20

/** One time that an event was received. What is left out is not known. */
export const EventReceipt = Type.Object({
  status: ReceiptStatus,
  received_at: Type.Optional(Type.String({ format: 'rfc3339' })),
  lane: Type.Optional(Type.Enum(['live', 'batch'])),
  request_id: Type.Optional(Type.String({ description: 'x-request-id of the request, of a live event' })),
  job_id: Type.Optional(Type.String({ description: 'Batch job, of a line of an upload' })),
  classification: Type.Optional(Type.String({ description: 'Class of the address' })),
  reason: Type.Optional(Type.String({ description: 'Why it is a dead letter' })),
  dead_letter: Type.Optional(Type.String({ description: 'Id of the dead letter, as the operator knows it' })),
  archived: Type.Optional(Type.String({ description: 'The part of the archive that holds it' })),
})
export type EventReceipt = Static<typeof EventReceipt>

/** What has not been searched to its end, because that would take too long. */
export const EventSource = Type.Enum(['pipeline', 'dead_letters', 'archive'])
export type EventSource = Static<typeof EventSource>

/** Answer of `GET /v1/events/{event_id}`. */
export const EventFate = Type.Object({
  event_id: Type.String(),
  status: ReceiptStatus,
  receipts: Type.Array(EventReceipt, { maxItems: RECEIPTS_MAX, description: 'The newest first' }),
  incomplete: Type.Optional(
    Type.Array(EventSource, { description: 'What was not searched to its end: there may be more receipts' }),
  ),
})
export type EventFate = Static<typeof EventFate>
