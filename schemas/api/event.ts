import { type Static, Type } from 'typebox'
import { IngestEnrichment } from './attributes.ts'

/** The parts of the quality score; `src/enrichment/answers/quality.ts` adds them. */
export const QUALITY =
  'A sum of parts: organisation named by a source about the address 40, or only by its network or AS 20; domain 15; industry 15, or 5 when only a word of the name states it; classification 10, or 5 when only the model votes for it; country, city, AS and host name 5 each'

/** Limits of events. Characters are Unicode code points. */
export const EVENT_LIMITS = {
  eventIdMaxChars: 256,
  labelMaxChars: 256,
  eventsMaxPerRequest: 100,
  bodyMaxBytes: 1_048_576,
} as const

/** Most levels of objects and arrays in the JSON of a request or a batch line. */
export const JSON_DEPTH_MAX = 128

/** Most values in the JSON of an event that a source takes: scalars, objects and arrays. */
export const EVENT_VALUES_MAX = 10_000

const label = (description: string) =>
  Type.Optional(Type.String({ maxLength: EVENT_LIMITS.labelMaxChars, description }))

/**
 * A visitor event as a caller sends it (schemas/README.md, Events). Unknown keys are stored. `validator.ts` defines the format
 * `rfc3339`: a date-time of RFC 3339 between the years 1900 and 2299.
 */
export const EventEnvelope = Type.Object(
  {
    ip: Type.String({ description: 'IPv4 or IPv6 address of the visitor' }),
    event_id: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: EVENT_LIMITS.eventIdMaxChars,
        description: 'Idempotency key; default: a generated UUID',
      }),
    ),
    timestamp: Type.Optional(
      Type.String({
        format: 'rfc3339',
        description: 'RFC 3339 date-time of the years 1900 to 2299; default: the time of receipt',
      }),
    ),
    event_type: label('Free-form label'),
    account_id: label("The caller's identifier of the account; default: derived from the organisation"),
    session_id: Type.Optional(
      Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER, description: 'Session' }),
    ),
    platform: label('Label, for example web, ios or android'),
    properties: Type.Optional(Type.Unknown({ description: 'Any JSON; stored exactly as sent' })),
    user_properties: Type.Optional(Type.Unknown({ description: 'Any JSON; stored exactly as sent' })),
  },
  { title: 'Event', additionalProperties: true },
)
export type EventEnvelope = Static<typeof EventEnvelope>

/** Body of `POST /v1/ingest`. The number of `events` is checked before the schema, because its errors are 400 and 413. */
export const IngestRequest = Type.Object(
  {
    events: Type.Array(EventEnvelope, { minItems: 1, maxItems: EVENT_LIMITS.eventsMaxPerRequest }),
  },
  { title: 'IngestRequest' },
)
export type IngestRequest = Static<typeof IngestRequest>

const IngestResult = Type.Object(
  {
    event_id: Type.String(),
    ip: Type.String({ description: 'The address as sent' }),
    status: Type.Enum(['ok', 'filtered', 'invalid_ip']),
    enrichment: IngestEnrichment,
    quality: Type.Integer({ minimum: 0, maximum: 100, description: QUALITY }),
    rule: Type.Optional(Type.String({ description: "An extension: the tenant's rule that decided, if any" })),
  },
  { title: 'EventResult' },
)

/** Answer of `POST /v1/ingest`. Results are in the order of the events. */
export const IngestResponse = Type.Object(
  {
    stats: Type.Object({
      received: Type.Integer(),
      accepted: Type.Integer({ description: 'Entries with status ok, including repeats' }),
      rejected: Type.Integer({
        description:
          'All other entries: filtered and invalid_ip. In a batch job, rejected counts lines that are no events',
      }),
      filtered: Type.Integer(),
      invalid_ip: Type.Integer(),
      unique_ips: Type.Integer({ description: 'Distinct valid addresses after normalisation' }),
    }),
    results: Type.Array(IngestResult),
  },
  { title: 'IngestResponse' },
)
export type IngestResponse = Static<typeof IngestResponse>
