import { EVENT_LIMITS, IngestRequest, IngestResponse } from '../../../../schemas/api/event.ts'
import type { Exchange } from '../../../http/engine/exchange.ts'
import { HttpError } from '../../../http/engine/http-error.ts'
import type { HttpResponse } from '../../../http/engine/response.ts'
import type { Operation } from '../../../http/route/operation.ts'
import { parseJson } from '../../../http/route/parse-json.ts'
import { assertSchema } from '../../../http/route/schema.ts'
import { andThen } from '../../../run/and-then.ts'
import type { Caller } from '../../../tenants/tenancy.ts'
import type { Accepted, Source, SourceRoute } from '../../declaration/source.ts'
import { compileValidator } from '../../event/validator.ts'
import { assertIngestShape, severalValues } from './ingest-shape.ts'
import { scanEvents } from './scan-events.ts'
import { sliceEvents } from './slice-event.ts'

const validate = compileValidator(IngestRequest)

const operation: Operation = {
  id: 'ingest',
  summary: 'Enriches and stores visitor events',
  description:
    'Takes 1 to 100 events in at most 1 MiB, and answers when all of them are stored. If one event does not fit the ' +
    'schema, the whole request is refused. An event_id that is repeated within 7 days is answered ok and changes nothing.',
  body: {
    schema: IngestRequest,
    example: { events: [{ ip: '203.0.113.7', event_id: '5d0a7c1e', event_type: 'page_view', platform: 'web' }] },
  },
  responses: {
    200: {
      description: 'All events are stored; one result per event, in their order',
      schema: IngestResponse,
      example: {
        stats: { received: 1, accepted: 0, rejected: 1, filtered: 1, invalid_ip: 0, unique_ips: 1 },
        results: [
          {
            event_id: '5d0a7c1e',
            ip: '203.0.113.7',
            status: 'filtered',
            enrichment: { classification: 'reserved' },
            quality: 10,
          },
        ],
      },
    },
  },
  errors: [422],
}

/** `POST /v1/ingest` answers when all events are on disk. */
const ingestRoute: SourceRoute = {
  method: 'POST',
  path: '/v1/ingest',
  bodyMaxBytes: EVENT_LIMITS.bodyMaxBytes,
  beginsTogether: true,
  operation,
  open({ keep }) {
    return (exchange: Exchange, caller: Caller) =>
      andThen(exchange.text(), (text) => keep(text, scanEvents(text) ?? readEvents(text), exchange, caller, respond))
  },
}

/** Live requests in the product's own format. */
export const requests: Source = { name: 'requests', lane: 'live', routes: [ingestRoute] }

function respond({ response }: Accepted, kept: Promise<void>): HttpResponse {
  return { status: 200, body: bodyOf(response), after: kept }
}

/** Reads a body that `scanEvents` does not: unusual or wrong. */
function readEvents(text: string) {
  const body = parseJson(text, severalValues)
  assertCount(body)
  assertIngestShape(body)
  assertSchema(validate, body)
  return sliceEvents(text, body.events)
}

/** A response of this size waits as bytes, for the reason given at `BlockPacker`. */
const LONG_ANSWER_CHARS = 4_096

function bodyOf(text: string): string | Buffer {
  return text.length < LONG_ANSWER_CHARS ? text : Buffer.from(text, 'utf8')
}

/** Checks the number of events before their schema, so that a large body fails fast. */
function assertCount(body: unknown): void {
  const events = typeof body === 'object' && body !== null && 'events' in body ? body.events : undefined
  if (!Array.isArray(events)) return
  if (events.length === 0) throw new HttpError(400, 'events is empty')
  const { eventsMaxPerRequest } = EVENT_LIMITS
  if (events.length > eventsMaxPerRequest) {
    throw new HttpError(413, `events has ${events.length} entries, more than ${eventsMaxPerRequest}`)
  }
}
