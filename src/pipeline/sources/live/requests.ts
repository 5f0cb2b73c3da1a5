import { EVENT_LIMITS, IngestRequest, IngestResponse } from '../../../../schemas/api/event.ts'
import type { Exchange } from '../../../http/engine/exchange.ts'
import { HttpError } from '../../../http/engine/http-error.ts'
import type { HttpResponse } from '../../../http/engine/response.ts'
import { assertObject, typeOf } from '../../../http/route/body-shape.ts'
import type { Operation } from '../../../http/route/operation.ts'
import { parseJson } from '../../../http/route/parse-json.ts'
import { assertSchema } from '../../../http/route/schema.ts'
import { andThen } from '../../../run/and-then.ts'
import { cutText } from '../../../run/cut-text.ts'
import { findJsonError } from '../../../run/json-error.ts'
import type { Caller } from '../../../tenants/tenancy.ts'
import type { Accepted, Source, SourceRoute } from '../../declaration/source.ts'
import { compileValidator, type FieldError } from '../../event/validator.ts'
import { scanEvents } from './scan-events.ts'
import { sliceEvents } from './slice-event.ts'

const validate = compileValidator(IngestRequest)

const operation: Operation = {
  id: 'ingest',
  summary: 'Enriches and stores visitor events',
  description:
    'Takes 1 to 100 events in at most 1 MiB, and answers when all of them are stored. If one event does not fit the ' +
    'schema, the whole request is refused. An event_id that is repeated within 7 days is answered ok and changes nothing. ' +
    'The answer does not say so, because it is decided later: GET /v1/events/{event_id} shows the request_id of the stored one.',
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
  takesTestKeys: true,
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
  if (events.length === 0) throw new HttpError('no_events', 'events is empty')
  const { eventsMaxPerRequest } = EVENT_LIMITS
  if (events.length > eventsMaxPerRequest) {
    throw new HttpError('too_many_events', `events has ${events.length} entries, more than ${eventsMaxPerRequest}`)
  }
}

/** Longest part of a caller's key that an error quotes. */
const KEY_CHARS_MAX = 40
const NO_EVENTS: readonly FieldError[] = [{ path: 'events', message: 'is required' }]

/**
 * Checks the outer shape of a request of `/v1/ingest`. Does not check the events.
 * @throws HttpError 422
 */
function assertIngestShape(body: unknown): void {
  assertObject(body, '{"events": […]}', {
    array: `, as jq '{events: .}' makes it; /v1/ingest/batch takes one event per line, as jq -c '.[]' prints them`,
  })
  if (Object.hasOwn(body, 'events')) return
  if (Object.hasOwn(body, 'ip')) {
    const detail = `the body is one event: it must be {"events": [event]}, as jq '{events: [.]}' makes it`
    throw new HttpError('invalid_request', detail, { errors: NO_EVENTS })
  }
  const [other] = Object.entries(body).find(([, value]) => Array.isArray(value) && typeOf(value[0]) === 'object') ?? []
  if (other === undefined) return
  const name = JSON.stringify(cutText(other, KEY_CHARS_MAX))
  throw new HttpError('invalid_request', `events is required: the body has its array under ${name}`, {
    errors: NO_EVENTS,
  })
}

/** An error for a body of several JSON values; undefined for any other invalid JSON. */
function severalValues(text: string): string | undefined {
  const at = findJsonError(text)
  if (text[at] !== '{' || typeOf(parsed(text.slice(0, at))) !== 'object') return undefined
  return (
    `the body is several JSON values, not one; the second is at position ${at}: it must be {"events": […]}, ` +
    `as jq -s '{events: .}' makes it; /v1/ingest/batch takes one event per line`
  )
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
