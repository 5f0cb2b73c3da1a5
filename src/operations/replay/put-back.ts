import type { EventEnvelope } from '../../../schemas/api/event.ts'
import { OUTCOME_STATUS } from '../../../schemas/outcome.ts'
import { judge } from '../../enrichment/judge.ts'
import { type Address, parseAddress } from '../../pipeline/event/address.ts'
import type { Enricher, Enrichment } from '../../pipeline/event/enrichment.ts'
import { type Envelope, identityOf, NO_IDENTITY, partitionOf, stateOf } from '../../pipeline/event/envelope.ts'
import { judgedRow } from '../../pipeline/event/make-row.ts'
import { countOutcome, outcomeKey } from '../../pipeline/event/outcomes.ts'
import type { AddressMask } from '../../pipeline/event/pseudonym.ts'
import type { ReadEvent } from '../../pipeline/event/read-event.ts'
import { sliceEvent } from '../../pipeline/sources/live/slice-event.ts'
import { StartupError } from '../../run/errors.ts'
import type { LostEvent, LostUnit } from './plan.ts'
import type { FedUnit, ReplayClaim, ReplayLane } from './ports.ts'

/** Identities for the events of a round, and the changes that the dedup window needs before they are fed. */
export interface Identities {
  readonly byEvent: ReadonlyMap<LostEvent, string>
  /** Their claims from before the replay belong to lost rows: release them. */
  readonly released: readonly ReplayClaim[]
  /** Their events are repeats of stored events: claim them. */
  readonly claimed: readonly ReplayClaim[]
}

/**
 * A replayed event goes to its original partition, because the tables count it there. But a sender may still repeat a recent
 * event, and the repeat goes to the partition of today. Both must be the same; they differ after a restore with another number
 * of partitions.
 * @throws StartupError when they differ for an event
 */
export function assertRepeatsMeet(
  units: readonly LostUnit[],
  tenantId: string,
  recentMs: number,
  { partitions, partitionsSinceMs }: Pick<ReplayLane, 'partitions' | 'partitionsSinceMs'>,
): void {
  for (const { events, partition } of units) {
    for (const { eventId, receivedAtMs, isRepeat } of events) {
      if (isRepeat || receivedAtMs <= recentMs || receivedAtMs >= partitionsSinceMs) continue
      if (partitionOf(identityOf(tenantId, eventId), partitions) === partition) continue
      throw new StartupError(
        'events received before a restore with another PARTITIONS can be replayed 7 days after it, when the dedup window has passed; until then choose other days with --from and --to',
      )
    }
  }
}

/**
 * The dedup window forgets old events, and still has claims of lost ones, so a replay chooses identities itself:
 * - A repeat of a stored event gets an identity that is claimed already, so dedup drops it.
 * - Another event received within the window gets its own identity, freed of old claims. If a sender repeats it now, it counts once.
 * - An older event gets none. If the round has several of one event id, they share an identity of their own.
 */
export function assignIdentities(
  units: readonly LostUnit[],
  { tenantId, nowMs, windowMs }: { readonly tenantId: string; readonly nowMs: number; readonly windowMs: number },
): Identities {
  const byEvent = new Map<LostEvent, string>()
  const released: ReplayClaim[] = []
  const claimed: ReplayClaim[] = []
  const byId = new Map<string, { readonly event: LostEvent; readonly partition: number }[]>()
  for (const { events, partition } of units) {
    for (const event of events) {
      if (event.isRepeat) {
        const identity = identityOf(tenantId, `${event.eventId}\0replay`)
        byEvent.set(event, identity)
        claimed.push({ partition, identity })
        continue
      }
      const same = byId.get(event.eventId)
      if (same === undefined) byId.set(event.eventId, [{ event, partition }])
      else same.push({ event, partition })
    }
  }
  for (const [eventId, same] of byId) {
    for (const all of withinWindow(same, windowMs)) {
      const { event: first, partition } = all[0]!
      // The number of partitions changed between them, so claims cannot show that they are repeats.
      for (const { event, partition: other } of all.filter((one) => one.partition !== partition)) {
        const identity = identityOf(tenantId, `${eventId}\0replay`)
        byEvent.set(event, identity)
        claimed.push({ partition: other, identity })
      }
      const twins = all.filter((one) => one.partition === partition)
      const isRecent = twins.some(({ event }) => event.receivedAtMs > nowMs - windowMs)
      if (!isRecent && twins.length === 1) {
        byEvent.set(first, NO_IDENTITY)
        continue
      }
      const identity = identityOf(tenantId, isRecent ? eventId : `${eventId}\0replay:${first.receivedAtMs}`)
      for (const { event } of twins) byEvent.set(event, identity)
      released.push({ partition, identity })
    }
  }
  return { byEvent, released, claimed }
}

/** Groups events of one id that are repeats of each other. */
function withinWindow<T extends { readonly event: LostEvent }>(events: readonly T[], windowMs: number): T[][] {
  const sorted = [...events].sort((a, b) => a.event.receivedAtMs - b.event.receivedAtMs)
  const groups: T[][] = []
  for (const one of sorted) {
    const group = groups.at(-1)
    const first = group?.[0]
    if (first !== undefined && one.event.receivedAtMs - first.event.receivedAtMs < windowMs) group!.push(one)
    else groups.push([one])
  }
  return groups
}

/** The addresses of events, for reverse DNS. */
export function addressesOf(units: readonly LostUnit[]): Address[] {
  const addresses = new Map<string, Address>()
  for (const { events } of units) {
    for (const { text } of events) {
      const address = parseAddress((JSON.parse(text) as EventEnvelope).ip)
      if (address !== undefined) addresses.set(address.text, address)
    }
  }
  return [...addresses.values()]
}

/** An archived event, and its judgement by today's data. */
interface JudgedEvent {
  readonly event: ReadEvent
  readonly address: Address
  readonly enrichment: Enrichment
}

/** Reads and judges an archived event. Undefined: its address is invalid. @param text see `ArchivedEvent` */
export function judgeArchived(text: string, enricher: Enricher): JudgedEvent | undefined {
  const envelope = JSON.parse(text) as EventEnvelope
  const event = sliceEvent(text, 0, envelope)
  const address = parseAddress(envelope.ip)
  const enrichment = judge(event, address, enricher)
  return enrichment && { event, address: address!, enrichment }
}

interface RowMaking {
  readonly tenantId: string
  /** Masks addresses, as for new events. */
  readonly mask: AddressMask | undefined
  readonly enricher: Enricher
}

/** Makes a unit's rows from the archived events, enriched with today's data. */
export function unitToFeed(
  unit: LostUnit,
  { tenantId, mask, enricher }: RowMaking,
  identities: Identities['byEvent'],
): FedUnit {
  const { partition, commit, job, day, events } = unit
  const envelopes: Envelope[] = []
  const outcomes = new Map(unit.outcomes)
  for (const lost of events) {
    const { receivedAtMs, requestId, sourceId, isBrowser } = lost
    const judged = judgeArchived(lost.text, enricher)
    if (judged === undefined) {
      countOutcome(outcomes, outcomeKey({ tenantId, day, job, status: OUTCOME_STATUS.invalidIp, sourceId }))
      continue
    }
    const { event, address, enrichment } = judged
    const context = { tenantId, receivedAtMs, mask, job, requestId, sourceId, isBrowser }
    const row = judgedRow(event, lost.eventId, address, enrichment, context)
    envelopes.push({ identity: identities.get(lost)!, state: stateOf(enrichment), row })
  }
  for (const [key, count] of outcomes) if (count === 0) outcomes.delete(key)
  return { partition, commit, job, envelopes, outcomes, kept: unit.kept, unfiltered: unit.unfiltered }
}
