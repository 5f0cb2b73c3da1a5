import { randomUUID } from 'node:crypto'
import { OUTCOME_STATUS } from '../../schemas/outcome.ts'
import { parseAddress } from '../core/event/address.ts'
import type { Enricher, Enrichment } from '../core/event/enrichment.ts'
import { type Envelope, identityOf, NO_IDENTITY, partitionOf } from '../core/event/envelope.ts'
import { countOutcome, NO_OUTCOMES, type OutcomeCounts, outcomeKey, utcDay } from '../core/event/outcomes.ts'
import type { ReadEvent } from '../core/event/read-event.ts'
import { rowTail } from '../core/event/row.ts'
import { stateOf } from '../core/event/verdict.ts'
import type { Accepted, Receipt } from '../core/pipeline/source.ts'
import { payloadOf } from './payload.ts'
import { completeRow, rawRow } from './raw-row.ts'

/**
 * Turns a validated request into envelopes and its response. The events are enriched here, once, because the response
 * shows it: what was answered is what is stored. What is not stored, is counted.
 * @param text the request's body, of which the events were read
 */
export function acceptEvents(
  text: string,
  events: readonly ReadEvent[],
  receipt: Receipt,
  enricher: Enricher,
): Accepted {
  const envelopes: Envelope[] = []
  const payloads: Envelope[] = []
  const uniqueIps = new Set<string>()
  const noise = new Map<Enrichment, number>()
  let results = ''
  let filtered = 0
  let invalid = 0
  let gatheredIn: number | undefined
  const tail = rowTail(undefined, receipt.requestId)
  for (let i = 0; i < events.length; i++) {
    const event = events[i]!
    const idMade = event.eventId === undefined
    const eventId = event.eventId ?? makeId(receipt, gatheredIn)
    const both = event.isPlain
      ? `"${eventId}","ip":"${event.ip}"`
      : `${JSON.stringify(eventId)},"ip":${JSON.stringify(event.ip)}`
    const head = `${i === 0 ? '' : ','}{"event_id":${both},"status":`
    const address = parseAddress(event.ip)
    const enrichment = address && enricher.enrich(address)
    const isKept = enrichment !== undefined && !enrichment.noise
    // Nobody asks for the identity of what goes nowhere.
    const identity = isKept || receipt.archived ? identityOf(receipt.tenantId, eventId) : NO_IDENTITY
    if (idMade && receipt.gatherAmong !== undefined && identity !== NO_IDENTITY) {
      gatheredIn = partitionOf(identity, receipt.gatherAmong)
    }
    if (receipt.archived) {
      const status = enrichment === undefined ? 'invalid_ip' : enrichment.noise ? 'filtered' : 'ok'
      const object = text.slice(event.start, event.end)
      payloads.push(payloadOf({ text: object, identity, eventId, status, idMade }, receipt))
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
      noise.set(enrichment, (noise.get(enrichment) ?? 0) + 1)
      continue
    }
    const raw = rawRow(event, eventId, address, receipt)
    const row = completeRow(raw, event, enrichment, receipt) + tail
    envelopes.push({ identity, state: stateOf(enrichment), row, idMade })
  }
  const rejected = filtered + invalid
  const response =
    `{"stats":{"received":${events.length},"accepted":${events.length - rejected},"rejected":${rejected},` +
    `"filtered":${filtered},"invalid_ip":${invalid},"unique_ips":${uniqueIps.size}},"results":[${results}]}`
  return { envelopes, payloads, outcomes: outcomesOf(receipt, noise, invalid), response }
}

/** @param noise events by what is known of their addresses */
function outcomesOf(
  { tenantId, receivedAtMs }: Receipt,
  noise: ReadonlyMap<Enrichment, number>,
  invalid: number,
): OutcomeCounts {
  if (noise.size === 0 && invalid === 0) return NO_OUTCOMES
  const of = { tenantId, day: utcDay(receivedAtMs) }
  const counts = new Map<string, number>()
  for (const [{ classification = '', filteredAs: reason = '' }, events] of noise) {
    countOutcome(counts, outcomeKey({ ...of, status: OUTCOME_STATUS.filtered, reason, classification }), events)
  }
  if (invalid > 0) countOutcome(counts, outcomeKey({ ...of, status: OUTCOME_STATUS.invalidIp }), invalid)
  return counts
}

/** @param partition where the event has to be; undefined: anywhere */
function makeId({ tenantId, gatherAmong = 1 }: Receipt, partition: number | undefined): string {
  for (;;) {
    const eventId = randomUUID()
    if (partition === undefined || partitionOf(identityOf(tenantId, eventId), gatherAmong) === partition) return eventId
  }
}
