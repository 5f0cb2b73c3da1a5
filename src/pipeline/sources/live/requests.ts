import { EVENT_LIMITS, IngestRequest, IngestResponse } from '../../../../schemas/api/event.ts'
import type { Exchange } from '../../../http/engine/exchange.ts'
import { HttpError } from '../../../http/engine/http-error.ts'
import type { HttpResponse } from '../../../http/engine/response.ts'
import { assertIngestShape, severalValues } from '../../../http/route/body-shape.ts'
import type { Operation } from '../../../http/route/operation.ts'
import { parseJson } from '../../../http/route/parse-json.ts'
import type { Route } from '../../../http/route/route.ts'
import { assertSchema } from '../../../http/route/schema.ts'
import type { Clock } from '../../../run/clock.ts'
import { goOn } from '../../../run/go-on.ts'
import { addressMaskOf, type Caller, type TenantEnricher, tenantKey } from '../../../tenants/tenancy.ts'
import type { Intake } from '../../declaration/intake.ts'
import type { LiveSource } from '../../declaration/source.ts'
import { type Address, parseAddress } from '../../event/address.ts'
import type { Enricher } from '../../event/enrichment.ts'
import type { Hostnames } from '../../event/hostnames.ts'
import type { ReadEvent } from '../../event/read-event.ts'
import { compileValidator } from '../../event/validator.ts'
import { scanEvents } from './scan-events.ts'
import { sliceEvents } from './slice-event.ts'
import type { EventTail } from './tail.ts'

export interface IngestParts {
  /** What the pipeline declares for live requests. */
  readonly accept: LiveSource['accept']
  readonly intake: Intake
  readonly enricher: Enricher
  /** Undefined: tenants have no rules. */
  readonly tenantEnricher?: TenantEnricher | undefined
  /** Asked before events are enriched; undefined: reverse DNS is off. */
  readonly hostnames?: Hostnames | undefined
  readonly clock: Clock
  /** Undefined: nobody can look on. */
  readonly tail?: Pick<EventTail, 'of'> | undefined
}

/** `POST /v1/ingest`: events are enriched, written to the intake as one, and only then answered. */
export function ingestRoute({ accept, intake, enricher, tenantEnricher, hostnames, clock, tail }: IngestParts): Route {
  const validate = compileValidator(IngestRequest)
  const readEvents = (text: string) => {
    const body = parseJson(text, severalValues)
    assertCount(body)
    assertIngestShape(body)
    assertSchema(validate, body)
    return sliceEvents(text, body.events)
  }
  const keep = (text: string, events: readonly ReadEvent[], { requestId }: Exchange, { tenant }: Caller) => {
    const { id: tenantId, archive: archived } = tenant
    const receipt = { tenantId, archived, mask: addressMaskOf(tenant), receivedAtMs: clock.now(), requestId }
    const judging = tenantEnricher?.(enricher, tenant) ?? enricher
    const looking = tail?.of(tenantKey(tenant), judging)
    const accepted = accept(text, events, receipt, looking?.enricher ?? judging)
    const written = intake.append(accepted.envelopes, accepted.payloads, accepted.outcomes)
    const told = looking === undefined ? written : written.then(() => looking.accepted(events, receipt))
    return { status: 200, body: bodyOf(accepted.response), behind: told }
  }
  return {
    method: 'POST',
    path: '/v1/ingest',
    access: 'key',
    bodyMaxBytes: EVENT_LIMITS.bodyMaxBytes,
    beginsTogether: true,
    operation,
    // One promise for all requests of a commit, none for a single one here: each, and each await, costs as much as to read an event.
    handle(exchange: Exchange, caller: Caller): HttpResponse | Promise<HttpResponse> {
      return goOn(exchange.text(), (text) => {
        const events = scanEvents(text) ?? readEvents(text)
        if (hostnames === undefined) return keep(text, events, exchange, caller)
        return hostnames.prefetch(addressesOf(events)).then(() => keep(text, events, exchange, caller))
      })
    },
  }
}

/** From so many characters on a text that waits is bytes, as in `BlockPacker`. */
const LONG_ANSWER_CHARS = 4_096

function bodyOf(text: string): string | Buffer {
  return text.length < LONG_ANSWER_CHARS ? text : Buffer.from(text, 'utf8')
}

function addressesOf(events: readonly ReadEvent[]): Address[] {
  const byText = new Map<string, Address>()
  for (const { ip } of events) {
    const address = parseAddress(ip)
    if (address !== undefined) byText.set(address.text, address)
  }
  return [...byText.values()]
}

/** The number of events comes before their schema. */
function assertCount(body: unknown): void {
  const events = typeof body === 'object' && body !== null && 'events' in body ? body.events : undefined
  if (!Array.isArray(events)) return
  if (events.length === 0) throw new HttpError(400, 'events is empty')
  const { eventsMaxPerRequest } = EVENT_LIMITS
  if (events.length > eventsMaxPerRequest) {
    throw new HttpError(413, `events has ${events.length} entries, more than ${eventsMaxPerRequest}`)
  }
}

const operation: Operation = {
  id: 'ingest',
  summary: 'Enriches and stores visitor events',
  description:
    'Takes 1 to 100 events in at most 1 MiB, and answers when all of them are stored. One event that does not fit the ' +
    'schema refuses the request whole. A repeat of an event_id within 7 days is answered ok and changes nothing.',
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
