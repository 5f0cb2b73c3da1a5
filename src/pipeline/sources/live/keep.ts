import type { Exchange } from '../../../http/engine/exchange.ts'
import type { HttpResponse } from '../../../http/engine/response.ts'
import type { Clock } from '../../../run/clock.ts'
import { addressMaskOf, type Caller, type TenantEnricher, tenantKey } from '../../../tenants/tenancy.ts'
import type { Intake } from '../../declaration/intake.ts'
import type { Accepted, KeepEvents, OtherEvents } from '../../declaration/source.ts'
import { type Address, parseAddress } from '../../event/address.ts'
import type { Enricher } from '../../event/enrichment.ts'
import type { Hostnames } from '../../event/hostnames.ts'
import { countOutcome, type OutcomeCounts, outcomeKey, utcDay } from '../../event/outcomes.ts'
import type { ReadEvent } from '../../event/read-event.ts'
import { acceptEvents } from './accept.ts'
import type { EventTail } from './tail.ts'

/** What events of live requests are kept with. */
export interface KeepParts {
  readonly intake: Intake
  readonly enricher: Enricher
  /** Undefined: tenants have no rules. */
  readonly tenantEnricher?: TenantEnricher | undefined
  /** Asked before events are enriched; undefined: reverse DNS is off. */
  readonly hostnames?: Hostnames | undefined
  readonly clock: Clock
  /** Undefined: there is no live view. */
  readonly tail?: Pick<EventTail, 'of'> | undefined
  /** See `EventContext`. */
  readonly gatherAmong?: number | undefined
}

/** See `KeepEvents`. */
export function keepEvents(parts: KeepParts): KeepEvents {
  const { intake, enricher, tenantEnricher, hostnames, clock, tail, gatherAmong } = parts
  const keep = (
    text: string,
    events: readonly ReadEvent[],
    { requestId }: Exchange,
    { tenant }: Caller,
    respond: (accepted: Accepted, kept: Promise<void>) => HttpResponse,
    others: readonly OtherEvents[] | undefined,
  ) => {
    const { id: tenantId, archive: archived } = tenant
    const context = {
      tenantId,
      archived,
      mask: addressMaskOf(tenant),
      receivedAtMs: clock.now(),
      requestId,
      gatherAmong,
    }
    const judging = tenantEnricher?.(enricher, tenant) ?? enricher
    const looking = tail?.of(tenantKey(tenant), judging)
    const accepted = acceptEvents(text, events, context, looking?.enricher ?? judging)
    const { envelopes, payloads } = accepted
    const outcomes = others === undefined ? accepted.outcomes : withOthers(accepted.outcomes, others, context)
    const written = intake.append(envelopes, payloads, outcomes)
    return respond(accepted, looking === undefined ? written : written.then(() => looking.accepted(events, context)))
  }
  // One promise for all requests of a commit, none for a single one here: each, and each await, costs as much as to read an event.
  if (hostnames === undefined) return keep
  return (text, events, exchange, caller, respond, others) =>
    hostnames.prefetch(addressesOf(events)).then(() => keep(text, events, exchange, caller, respond, others))
}

function withOthers(
  outcomes: OutcomeCounts,
  others: readonly OtherEvents[],
  { tenantId, receivedAtMs }: { readonly tenantId: string; readonly receivedAtMs: number },
): OutcomeCounts {
  if (others.length === 0) return outcomes
  const counts = new Map(outcomes)
  const day = utcDay(receivedAtMs)
  for (const { status, reason, events } of others) {
    countOutcome(counts, outcomeKey({ tenantId, day, status, reason }), events)
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
