import { EVENT_LIMITS } from '../../../../schemas/api/event.ts'
import type { Exchange } from '../../../http/engine/exchange.ts'
import type { HttpResponse } from '../../../http/engine/response.ts'
import { andThen } from '../../../run/and-then.ts'
import type { Clock } from '../../../run/clock.ts'
import { addressMaskOf, type Caller, type TenantEnricher, tenantKey } from '../../../tenants/tenancy.ts'
import type { Accepted, Intake, KeepEvents, OtherEvents } from '../../declaration/source.ts'
import { type Address, parseAddress } from '../../event/address.ts'
import type { Enricher, Hostnames } from '../../event/enrichment.ts'
import { type Envelope, EnvelopeState, NO_IDENTITY } from '../../event/envelope.ts'
import { countOutcome, type OutcomeCounts, outcomeKey, utcDay } from '../../event/outcomes.ts'
import { countedRow } from '../../event/payload.ts'
import { charsOf, type EventContext, type ReadEvent } from '../../event/read-event.ts'
import { acceptEvents, acceptManyEvents } from './accept.ts'
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
  /** See `EventContext`. */
  readonly colocateAmong?: number | undefined
}

/** See `KeepEvents`. */
export function keepEvents(options: KeepOptions): KeepEvents {
  const { intake, enricher, tenantEnricher, hostnames, clock, tail, colocateAmong } = options
  const keep = (
    text: string,
    events: readonly ReadEvent[],
    exchange: Exchange,
    { tenant, source }: Caller,
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
    const watched = tail?.of(tenantKey(tenant), ofTenant)
    const write = (accepted: Accepted) => {
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
  // `keep` is not async: a promise or an await per request would cost as much as reading an event.
  if (hostnames === undefined) return keep
  return (text, events, exchange, caller, respond, others) =>
    hostnames.prefetch(addressesOf(events)).then(() => keep(text, events, exchange, caller, respond, others))
}

/** Whether `/v1/ingest` may take as much in a request. */
function isShort(events: readonly ReadEvent[]): boolean {
  const { eventsMaxPerRequest, bodyMaxBytes } = EVENT_LIMITS
  return events.length <= eventsMaxPerRequest && events.reduce((sum, event) => sum + charsOf(event), 0) <= bodyMaxBytes
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
