import { randomUUID } from 'node:crypto'
import { EVENT_LIMITS } from '../../../../schemas/api/event.ts'
import { OUTCOME_STATUS } from '../../../../schemas/outcome.ts'
import { judge } from '../../../enrichment/judge.ts'
import type { Exchange } from '../../../http/engine/exchange.ts'
import { tooMany } from '../../../http/engine/http-error.ts'
import type { HttpResponse } from '../../../http/engine/response.ts'
import { andThen } from '../../../run/and-then.ts'
import type { Clock } from '../../../run/clock.ts'
import type { SlicedWork } from '../../../run/slices.ts'
import { eventTokens, type Limiter } from '../../../tenants/limits/limits.ts'
import { addressMaskOf, type Caller, type TenantEnricher, tenantKey } from '../../../tenants/tenancy.ts'
import type { Accepted, Intake, KeepEvents, OtherEvents } from '../../declaration/source.ts'
import { type Address, parseAddress } from '../../event/address.ts'
import type { Enricher, Enrichment, Hostnames } from '../../event/enrichment.ts'
import {
  type Envelope,
  EnvelopeState,
  identityOf,
  NO_IDENTITY,
  partitionOf,
  stateOf,
  statusOf,
} from '../../event/envelope.ts'
import { judgedRow } from '../../event/make-row.ts'
import { countOutcome, NO_OUTCOMES, type OutcomeCounts, outcomeKey, utcDay } from '../../event/outcomes.ts'
import { countedRow, type PayloadStatus } from '../../event/payload.ts'
import { charsOf, type EventContext, type ReadEvent } from '../../event/read-event.ts'
import { payloadOf } from './payload.ts'
import type { EventTail } from './tail.ts'

export interface KeepOptions {
  readonly intake: Intake
  readonly enricher: Enricher
  /** Undefined: tenants have no rules. */
  readonly tenantEnricher?: TenantEnricher | undefined
  /** Undefined: reverse DNS is off. */
  readonly hostnames?: Hostnames | undefined
  readonly clock: Clock
  /** Undefined: there is no live view. */
  readonly tail?: Pick<EventTail, 'of'> | undefined
  /** Counts events with a browser key. Undefined: they have no limit. */
  readonly browserEvents?: Limiter | undefined
  /** See `EventContext`. */
  readonly colocateAmong?: number | undefined
}

/** See `KeepEvents`. */
export function keepEvents(options: KeepOptions): KeepEvents {
  const { intake, enricher, tenantEnricher, hostnames, clock, tail, browserEvents, colocateAmong } = options
  const store = (
    text: string,
    events: readonly ReadEvent[],
    exchange: Exchange,
    { tenant, source, isTest }: Caller,
    respond: (accepted: Accepted, kept: Promise<void>) => HttpResponse,
    others: readonly OtherEvents[] | undefined,
  ) => {
    const { id: tenantId, archive: archived } = tenant
    const context = {
      tenantId,
      archived,
      mask: addressMaskOf(tenant),
      receivedAtMs: clock.now(),
      requestId: exchange.requestId,
      sourceId: source?.id,
      isBrowser: source?.isBrowser,
      colocateAmong,
    }
    const ofTenant = tenantEnricher?.(enricher, tenant) ?? enricher
    const watched = isTest ? undefined : tail?.of(tenantKey(tenant), ofTenant)
    const write = (accepted: Accepted) => {
      if (isTest) return respond(accepted, Promise.resolve())
      const { envelopes, payloads } = accepted
      const outcomes = others === undefined ? accepted.outcomes : withOthers(accepted.outcomes, others, context)
      const counted = archived && others !== undefined ? countedPayloads(others, payloads, context) : []
      const written = intake.append(envelopes, counted.length === 0 ? payloads : [...payloads, ...counted], outcomes)
      return respond(accepted, watched === undefined ? written : written.then(() => watched.accepted(events, context)))
    }
    const used = watched?.enricher ?? ofTenant
    if (isShort(events)) return write(acceptEvents(text, events, context, used))
    return andThen(exchange.inSlices(acceptManyEvents(text, events, context, used)), write)
  }
  const keep: typeof store = (text, events, exchange, caller, respond, others) => {
    const go = () => store(text, events, exchange, caller, respond, others)
    if (browserEvents === undefined || caller.source?.isBrowser !== true) return go()
    return andThen(takeEvents(browserEvents, caller, events, others), go)
  }
  // `keep` is not async: a promise or an await per request would cost as much as reading an event.
  if (hostnames === undefined) return keep
  return (text, events, exchange, caller, respond, others) =>
    hostnames.prefetch(addressesOf(events)).then(() => keep(text, events, exchange, caller, respond, others))
}

/** @throws HttpError 429 */
function takeEvents(
  limiter: Limiter,
  caller: Caller,
  events: readonly ReadEvent[],
  others: readonly OtherEvents[] = [],
): void | Promise<void> {
  const count = others.reduce((sum, other) => sum + other.events, events.length)
  const tokens = eventTokens(caller, count, charsIn(events))
  return andThen(limiter.take(caller, tokens), ({ name, allowed, limit, retryAfterSeconds }) => {
    if (allowed) return
    throw tooMany(
      `${name} exceeded: this key is in pages, and may send ${limit} events at once`,
      retryAfterSeconds,
      'rate',
    )
  })
}

function charsIn(events: readonly ReadEvent[]): number {
  return events.reduce((sum, event) => sum + charsOf(event), 0)
}

/** Whether `/v1/ingest` may take as much in a request. */
function isShort(events: readonly ReadEvent[]): boolean {
  const { eventsMaxPerRequest, bodyMaxBytes } = EVENT_LIMITS
  return events.length <= eventsMaxPerRequest && charsIn(events) <= bodyMaxBytes
}

const PRINTABLE = /^[\x20-\x7e]*$/

/**
 * For the archive, so that a replay can count them again. A commit that fails on a cluster writes generated ids last, and counts with
 * them, so these are written there too.
 */
function countedPayloads(
  others: readonly OtherEvents[],
  payloads: readonly Envelope[],
  { tenantId, receivedAtMs, sourceId }: Pick<EventContext, 'tenantId' | 'receivedAtMs' | 'sourceId'>,
): Envelope[] {
  const receivedAt = new Date(receivedAtMs).toISOString()
  const identity = payloads.findLast(({ isIdGenerated }) => isIdGenerated)?.identity ?? NO_IDENTITY
  const byReason = new Map<string, OtherEvents>()
  for (const other of others) {
    const key = `${other.status} ${other.reason}`
    byReason.set(key, { ...other, events: other.events + (byReason.get(key)?.events ?? 0) })
  }
  return [...byReason.values()]
    .filter(({ reason }) => PRINTABLE.test(reason))
    .map((counted) => ({
      identity,
      state: EnvelopeState.Raw,
      row: countedRow(tenantId, receivedAt, { ...counted, sourceId }),
      isIdGenerated: true,
    }))
}

function withOthers(
  outcomes: OutcomeCounts,
  others: readonly OtherEvents[],
  { tenantId, receivedAtMs, sourceId }: Pick<EventContext, 'tenantId' | 'receivedAtMs' | 'sourceId'>,
): OutcomeCounts {
  if (others.length === 0) return outcomes
  const counts = new Map(outcomes)
  const day = utcDay(receivedAtMs)
  for (const { status, reason, events } of others) {
    countOutcome(counts, outcomeKey({ tenantId, day, status, reason, sourceId }), events)
  }
  return counts
}

function addressesOf(events: readonly ReadEvent[]): Address[] {
  const byText = new Map<string, Address>()
  for (const { ip } of events) {
    const address = parseAddress(ip)
    if (address !== undefined) byText.set(address.text, address)
  }
  return [...byText.values()]
}

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
