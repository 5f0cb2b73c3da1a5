import { randomUUID } from 'node:crypto'
import type { EventEnvelope } from '../../schemas/api/event.ts'
import { type Address, parseAddress } from '../core/event/address.ts'
import type { Enricher, Enrichment } from '../core/event/enrichment.ts'
import { type Envelope, EnvelopeState, identityOf } from '../core/event/envelope.ts'
import { enrichRow, tsv, tsvTime } from '../core/event/row.ts'
import { parseTimestamp } from '../core/event/timestamp.ts'
import { eachElement, eachMember } from './json-slices.ts'

/** What a request of `/v1/ingest` becomes: envelopes for the stream, and the answer, which are written as one. */
export interface Accepted {
  readonly envelopes: readonly Envelope[]
  /** The body of the answer (schemas/README.md, Ingest). */
  readonly answer: string
}

export interface Receipt {
  readonly tenantId: string
  readonly receivedAtMs: number
}

/**
 * Turns a validated request into envelopes and its answer. The events are enriched here, once: what is answered is what
 * is stored.
 * @param text the request's body, of which `events` is what `JSON.parse` made
 */
export function acceptEvents(
  text: string,
  events: readonly EventEnvelope[],
  receipt: Receipt,
  enricher: Enricher,
): Accepted {
  const parts = sliceEvents(text, events.length)
  const envelopes: Envelope[] = []
  const uniqueIps = new Set<string>()
  let results = ''
  let filtered = 0
  let invalid = 0
  for (let i = 0; i < events.length; i++) {
    const event = events[i]!
    const eventId = event.event_id ?? randomUUID()
    const head = `${i === 0 ? '' : ','}{"event_id":${JSON.stringify(eventId)},"ip":${JSON.stringify(event.ip)},"status":`
    const address = parseAddress(event.ip)
    if (address === undefined) {
      invalid++
      results += `${head}"invalid_ip","enrichment":{},"quality":0}`
      continue
    }
    uniqueIps.add(address.text)
    const enrichment = enricher.enrich(address)
    if (enrichment.noise) filtered++
    results += `${head}${enrichment.noise ? '"filtered"' : '"ok"'},${enrichment.answerJson}}`
    const identity = identityOf(receipt.tenantId, eventId)
    envelopes.push(toEnvelope(event, eventId, identity, address, receipt, parts[i]!, enrichment))
  }
  const rejected = filtered + invalid
  const answer =
    `{"stats":{"received":${events.length},"accepted":${events.length - rejected},"rejected":${rejected},` +
    `"filtered":${filtered},"invalid_ip":${invalid},"unique_ips":${uniqueIps.size}},"results":[${results}]}`
  return { envelopes, answer }
}

/** The parts of an event that are kept as text: `''` where the event has none. */
export interface EventParts {
  readonly properties: string
  readonly userProperties: string
  /** The unknown keys and their values as one JSON object. */
  readonly extra: string
}

/** An event whose enrichment is known. */
export function toEnvelope(
  event: EventEnvelope,
  eventId: string,
  identity: string,
  address: Address,
  receipt: Receipt,
  parts: EventParts,
  enrichment: Enrichment,
): Envelope {
  if (enrichment.noise) return { identity, state: EnvelopeState.Noise, row: '' }
  const row = enrichRow(eventRow(event, eventId, address, receipt, parts), enrichment)
  return { identity, state: EnvelopeState.Enriched, row }
}

/** The row of an event before enrichment. */
function eventRow(
  event: EventEnvelope,
  eventId: string,
  address: Address,
  receipt: Receipt,
  parts: EventParts,
): string {
  const received = tsvTime(receipt.receivedAtMs)
  const timestamp = event.timestamp === undefined ? received : tsvTime(parseTimestamp(event.timestamp))
  const session = event.session_id === undefined ? '\\N' : String(event.session_id)
  return (
    `${address.text}\t${receipt.tenantId}\t${tsv(eventId)}\t${received}\t${timestamp}\t${tsv(event.event_type ?? '')}\t` +
    `${session}\t${tsv(event.platform ?? '')}\t${tsv(parts.properties)}\t${tsv(parts.userProperties)}\t` +
    `${tsv(parts.extra)}\t${tsv(event.account_id ?? '')}`
  )
}

const QUERIED_KEYS = new Set(['ip', 'event_id', 'timestamp', 'event_type', 'account_id', 'session_id', 'platform'])

/** Reads the parts of the event object that starts at `at`. Returns the position behind it in `end`. */
export function sliceEvent(text: string, at: number): EventParts & { readonly end: number } {
  let properties = ''
  let userProperties = ''
  let extra = ''
  const end = eachMember(text, at, (key, start, valueStart, valueEnd) => {
    if (QUERIED_KEYS.has(key)) return
    if (key === 'properties') properties = text.slice(valueStart, valueEnd)
    else if (key === 'user_properties') userProperties = text.slice(valueStart, valueEnd)
    else extra += `${extra === '' ? '{' : ','}${text.slice(start, valueEnd)}`
  })
  return { properties, userProperties, extra: extra === '' ? '' : `${extra}}`, end }
}

function sliceEvents(text: string, count: number): EventParts[] {
  let at = -1
  eachMember(text, 0, (key, _start, valueStart) => {
    // Of repeated keys the last one counts, as for JSON.parse; only that one was held to the schema.
    if (key === 'events') at = valueStart
  })
  const parts: EventParts[] = []
  eachElement(text, at, (start) => {
    const part = sliceEvent(text, start)
    parts.push(part)
    return part.end
  })
  if (parts.length !== count) throw new Error(`sliced ${parts.length} events of ${count}`)
  return parts
}
