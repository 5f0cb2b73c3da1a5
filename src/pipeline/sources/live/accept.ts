import { randomUUID } from 'node:crypto'
import { OUTCOME_STATUS } from '../../../../schemas/outcome.ts'
import { judge } from '../../../enrichment/bots/claim.ts'
import type { SlicedWork } from '../../../run/slices.ts'
import type { Accepted } from '../../declaration/source.ts'
import { parseAddress } from '../../event/address.ts'
import type { Enricher, Enrichment } from '../../event/enrichment.ts'
import { type Envelope, identityOf, NO_IDENTITY, partitionOf, stateOf, statusOf } from '../../event/envelope.ts'
import { judgedRow } from '../../event/make-row.ts'
import { countOutcome, NO_OUTCOMES, type OutcomeCounts, outcomeKey, utcDay } from '../../event/outcomes.ts'
import type { PayloadStatus } from '../../event/payload.ts'
import { charsOf, type EventContext, type ReadEvent } from '../../event/read-event.ts'
import { payloadOf } from './payload.ts'

/**
 * Turns a validated request into envelopes and its response. Events are enriched here, so that the stored data equal the
 * response. Events that are not stored are counted.
 * @param text the request's body
 * @param partition of the events without an id, see `EventContext.colocateAmong`. Default: that of the first one
 */
export function acceptEvents(
  text: string,
  events: readonly ReadEvent[],
  context: EventContext,
  enricher: Enricher,
  partition?: number,
): Accepted {
  const envelopes: Envelope[] = []
  const payloads: Envelope[] = []
  const uniqueIps = new Set<string>()
  const noise = new Map<Enrichment, number>()
  let results = ''
  let filtered = 0
  let invalid = 0
  let sharedPartition = partition
  for (let i = 0; i < events.length; i++) {
    const event = events[i]!
    const isIdGenerated = event.eventId === undefined
    const eventId = event.eventId ?? generateId(context, sharedPartition)
    const address = parseAddress(event.ip)
    const enrichment = judge(event, address, enricher)
    const status = statusOf(enrichment)
    results += resultOf(event, eventId, status, enrichment?.answerJson ?? NOTHING_KNOWN, i === 0)
    // An event that is neither stored nor archived needs no identity.
    const identity = status === 'ok' || context.archived ? identityOf(context.tenantId, eventId) : NO_IDENTITY
    if (isIdGenerated && context.colocateAmong !== undefined && identity !== NO_IDENTITY) {
      sharedPartition = partitionOf(identity, context.colocateAmong)
    }
    if (context.archived) {
      const object = text.slice(event.start, event.end)
      payloads.push(payloadOf({ text: object, identity, eventId, status, isIdGenerated }, context))
    }
    if (address === undefined || enrichment === undefined) {
      invalid++
      continue
    }
    uniqueIps.add(address.text)
    if (enrichment.noise) {
      filtered++
      noise.set(enrichment, (noise.get(enrichment) ?? 0) + 1)
      continue
    }
    const row = judgedRow(event, eventId, address, enrichment, context)
    envelopes.push({ identity, state: stateOf(enrichment), row, isIdGenerated })
  }
  const rejected = filtered + invalid
  const response =
    `{"stats":{"received":${events.length},"accepted":${events.length - rejected},"rejected":${rejected},` +
    `"filtered":${filtered},"invalid_ip":${invalid},"unique_ips":${uniqueIps.size}},"results":[${results}${results === '' ? '' : '}'}]}`
  return { envelopes, payloads, outcomes: outcomesOf(context, noise, invalid), response, filtered, invalidIp: invalid }
}

const EVENTS_AT_ONCE = 64
const CHARS_AT_ONCE = 65_536

/**
 * The same in slices, for more events than `/v1/ingest` takes. Its response is `''`: only that route answers with each event.
 */
export function* acceptManyEvents(
  text: string,
  events: readonly ReadEvent[],
  context: EventContext,
  enricher: Enricher,
): SlicedWork<Accepted> {
  const envelopes: Envelope[] = []
  const payloads: Envelope[] = []
  const outcomes = new Map<string, number>()
  let [filtered, invalidIp] = [0, 0]
  const { colocateAmong } = context
  const partition =
    colocateAmong === undefined ? undefined : partitionOf(identityOf(context.tenantId, randomUUID()), colocateAmong)
  for (let at = 0; at < events.length; ) {
    const start = at
    for (let chars = 0; at < events.length && at - start < EVENTS_AT_ONCE && chars < CHARS_AT_ONCE; at++) {
      chars += charsOf(events[at]!)
    }
    const some = acceptEvents(text, events.slice(start, at), context, enricher, partition)
    envelopes.push(...some.envelopes)
    payloads.push(...some.payloads)
    for (const [key, count] of some.outcomes) countOutcome(outcomes, key, count)
    filtered += some.filtered
    invalidIp += some.invalidIp
    yield
  }
  return { envelopes, payloads, outcomes, response: '', filtered, invalidIp }
}

const NOTHING_KNOWN = '"enrichment":{},"quality":0'
const [FIRST, NEXT] = ['{"event_id":"', '},{"event_id":"']
const STATUS: Readonly<Record<PayloadStatus, string>> = {
  ok: '","status":"ok",',
  filtered: '","status":"filtered",',
  invalid_ip: '","status":"invalid_ip",',
}

/** The result of an event without its last brace. Uses few pieces of text, like rows (`make-row.ts`). */
function resultOf(event: ReadEvent, eventId: string, status: PayloadStatus, answerJson: string, isFirst: boolean) {
  const [id, ip] = event.isPlain ? [eventId, event.ip] : [inQuotes(eventId), inQuotes(event.ip)]
  return `${isFirst ? FIRST : NEXT}${id}","ip":"${ip}${STATUS[status]}${answerJson}`
}

/** The content of a JSON string, without its quotes. */
function inQuotes(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

/** @param noise number of filtered events by enrichment */
function outcomesOf(
  { tenantId, receivedAtMs, sourceId }: EventContext,
  noise: ReadonlyMap<Enrichment, number>,
  invalid: number,
): OutcomeCounts {
  if (noise.size === 0 && invalid === 0) return NO_OUTCOMES
  const of = { tenantId, day: utcDay(receivedAtMs), sourceId }
  const counts = new Map<string, number>()
  for (const [{ classification = '', filteredAs: reason = '' }, events] of noise) {
    countOutcome(counts, outcomeKey({ ...of, status: OUTCOME_STATUS.filtered, reason, classification }), events)
  }
  if (invalid > 0) countOutcome(counts, outcomeKey({ ...of, status: OUTCOME_STATUS.invalidIp }), invalid)
  return counts
}

/** @param partition that the event must be in; undefined: any */
function generateId({ tenantId, colocateAmong = 1 }: EventContext, partition: number | undefined): string {
  for (;;) {
    const eventId = randomUUID()
    if (partition === undefined || partitionOf(identityOf(tenantId, eventId), colocateAmong) === partition)
      return eventId
  }
}
