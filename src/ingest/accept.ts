import { randomUUID } from 'node:crypto'
import type { EventEnvelope } from '../../schemas/api/event.ts'
import { parseAddress } from '../core/event/address.ts'
import type { Enricher } from '../core/event/enrichment.ts'
import { type Envelope, EnvelopeState, identityOf, NO_IDENTITY, partitionOf } from '../core/event/envelope.ts'
import { rowSuffix } from '../core/event/row.ts'
import type { Accepted, Receipt } from '../core/pipeline/source.ts'
import { payloadOf } from './payload.ts'
import { rawRow } from './raw-row.ts'
import { sliceEvents } from './slice-event.ts'

/**
 * Turns a validated request into envelopes and its response. The events are enriched here, once, because the response
 * shows it: what was answered is what is stored.
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
  const payloads: Envelope[] = []
  const uniqueIps = new Set<string>()
  let results = ''
  let filtered = 0
  let invalid = 0
  let gatheredIn: number | undefined
  for (let i = 0; i < events.length; i++) {
    const event = events[i]!
    const idMade = event.event_id === undefined
    const eventId = event.event_id ?? makeId(receipt, gatheredIn)
    const head = `${i === 0 ? '' : ','}{"event_id":${JSON.stringify(eventId)},"ip":${JSON.stringify(event.ip)},"status":`
    const address = parseAddress(event.ip)
    const enrichment = address && enricher.enrich(address)
    // Nobody asks for the identity of what goes nowhere.
    const identity = enrichment || receipt.archived ? identityOf(receipt.tenantId, eventId) : NO_IDENTITY
    if (idMade && receipt.gatherAmong !== undefined && identity !== NO_IDENTITY) {
      gatheredIn = partitionOf(identity, receipt.gatherAmong)
    }
    if (receipt.archived) {
      const status = enrichment === undefined ? 'invalid_ip' : enrichment.noise ? 'filtered' : 'ok'
      const { start, end } = parts[i]!
      payloads.push(payloadOf({ text: text.slice(start, end), identity, eventId, status, idMade }, receipt))
    }
    if (address === undefined || enrichment === undefined) {
      invalid++
      results += `${head}"invalid_ip","enrichment":{},"quality":0}`
      continue
    }
    uniqueIps.add(address.text)
    results += `${head}${enrichment.noise ? '"filtered"' : '"ok"'},${enrichment.answerJson}}`
    if (enrichment.noise) {
      filtered++
      envelopes.push({ identity, state: EnvelopeState.Noise, row: '', idMade })
    } else {
      const raw = rawRow(event, eventId, address, receipt, parts[i]!)
      const row = raw + rowSuffix(enrichment, raw.charCodeAt(raw.length - 1) !== TAB)
      envelopes.push({ identity, state: EnvelopeState.Enriched, row, idMade })
    }
  }
  const rejected = filtered + invalid
  const response =
    `{"stats":{"received":${events.length},"accepted":${events.length - rejected},"rejected":${rejected},` +
    `"filtered":${filtered},"invalid_ip":${invalid},"unique_ips":${uniqueIps.size}},"results":[${results}]}`
  return { envelopes, payloads, response }
}

const TAB = 9

/** @param partition where the event has to be; undefined: anywhere */
function makeId({ tenantId, gatherAmong = 1 }: Receipt, partition: number | undefined): string {
  for (;;) {
    const eventId = randomUUID()
    if (partition === undefined || partitionOf(identityOf(tenantId, eventId), gatherAmong) === partition) return eventId
  }
}
