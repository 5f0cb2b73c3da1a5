import { OUTCOME_STATUS } from '../../../schemas/outcome.ts'
import { countOutcome, outcomeKey, statusOfKey } from '../../pipeline/event/outcomes.ts'
import { outcomesOf } from './counted.ts'
import {
  type ArchivedEvent,
  type ArchivedUnit,
  type CountedOutcome,
  eventKey,
  type RejectedLines,
  type StoredRow,
} from './ports.ts'

/** What is known when the fate of units is decided. */
export interface Facts {
  readonly tenantId: string
  /** Number of conditions that an event has to meet. */
  readonly conditions: number
  /** By event id, received up to a window before the first event and behind the last one. */
  readonly rows: ReadonlyMap<string, readonly StoredRow[]>
  /** By commit. */
  readonly outcomes: ReadonlyMap<string, readonly CountedOutcome[]>
  /** See `eventKey`. */
  readonly letters: ReadonlySet<string>
  /** See `StoredEvents.refilteredOf`. */
  readonly refiltered: ReadonlyMap<string, string>
  /** Rows that stand for an event of an earlier round. The plan adds its own to `Plan.taken`. */
  readonly taken: Pick<ReadonlySet<string>, 'has'>
  readonly windowMs: number
  /** Whether today's data keep an event; undefined: what was filtered stays so. */
  readonly isKept?: ((event: ArchivedEvent) => boolean) | undefined
}

/** An event that is to be put back. */
export interface LostEvent extends ArchivedEvent {
  /** Another event of the same id is stored, received within a window of this one. */
  readonly isRepeat: boolean
}

/** A unit of which something is to be put back. */
export interface LostUnit extends Omit<ArchivedUnit, 'events'> {
  readonly events: readonly LostEvent[]
  /** Numbers by outcome key: below zero what counts some of these events already, and is taken back. */
  readonly outcomes: ReadonlyMap<string, number>
  /** The same of events that were filtered as they came, and are kept today. */
  readonly kept: ReadonlyMap<string, number>
  /** The same of events that were filtered when they were judged again. */
  readonly unfiltered: ReadonlyMap<string, number>
}

/** What becomes of what was received: events, and lines that are none. Each is in one of the numbers. */
export interface ReplayCounts {
  /** They are rows of `events`. */
  stored: number
  /** They are counted as not stored. */
  counted: number
  /** They are dead letters, which `ipid dead-letter` puts back. */
  dead: number
  /** They are lost, and not asked for. */
  left: number
  /** They are put back. */
  replayed: number
  /** They were filtered, and are put back because today's data keep them. */
  found: number
}

export const REPLAY_COUNTS = [
  'stored',
  'counted',
  'dead',
  'left',
  'replayed',
  'found',
] as const satisfies (keyof ReplayCounts)[]

export function noCounts(): ReplayCounts {
  return { stored: 0, counted: 0, dead: 0, left: 0, replayed: 0, found: 0 }
}

export interface Plan {
  readonly lost: readonly LostUnit[]
  readonly counts: ReplayCounts
  /** Rows that stand for an event, `job milliseconds id`. */
  readonly taken: readonly string[]
}

/**
 * Finds out which archived events the tables lack. A row is found by its event. Outcomes are sums, so a unit is looked at as
 * a whole: when as many of its events are counted as are not stored, nothing is missing. Otherwise what is counted is taken
 * back, and the events that are not stored are judged again: the sum is right in both cases, and nothing is lost that some
 * crash, or the loss of one part of a table, left half-way.
 * @param wanted whether a lost event is asked for
 */
export function planReplay(
  units: readonly ArchivedUnit[],
  facts: Facts,
  wanted: (event: ArchivedEvent) => boolean,
): Plan {
  const counts = noCounts()
  const taken = new Set<string>()
  const lost: LostUnit[] = []
  for (const unit of units) {
    const planned = planUnit(unit, facts, taken, counts, wanted)
    if (planned !== undefined) lost.push(planned)
  }
  return { lost, counts, taken: [...taken] }
}

function planUnit(
  unit: ArchivedUnit,
  facts: Facts,
  taken: Set<string>,
  counts: ReplayCounts,
  wanted: (event: ArchivedEvent) => boolean,
): LostUnit | undefined {
  const { asTheyCame, later, keptBack } = outcomesOf(unit, facts.outcomes.get(unit.commit) ?? [])
  const isKept = (event: ArchivedEvent) => facts.isKept?.(event) === true && wanted(event)
  const isFound = (event: ArchivedEvent) => event.status === 'filtered' && !hasRow(event, unit, facts) && isKept(event)
  const absent: ArchivedEvent[] = []
  const asked: ArchivedEvent[] = []
  const kept = new Map<string, number>()
  const unfiltered = new Map<string, number>()
  const filtered: ArchivedEvent[] = []
  let letters = 0
  let keptSeen = 0
  for (const event of unit.events) {
    const sums = asTheyCame.get(statusOf(event))
    const refiltered = facts.refiltered.get(eventKey(event.eventId, event.receivedAtMs))
    if (event.status === 'filtered' && (refiltered !== undefined || hasRow(event, unit, facts))) keptSeen++
    if (event.status === 'ok' && takeRow(event, unit, facts, taken)) counts.stored++
    else if (refiltered !== undefined && isKept(event)) {
      asked.push(event)
      countOutcome(unfiltered, refiltered, -1)
    } else if (refiltered !== undefined) counts.counted++
    else if (sums !== undefined && event.status === 'filtered' && !hasRow(event, unit, facts)) filtered.push(event)
    else if (sums !== undefined) counts.counted++
    else if (facts.letters.has(eventKey(event.eventId, event.receivedAtMs))) letters++
    else absent.push(event)
  }
  counts.dead += letters
  const counted = Math.max(0, sum(later.values()) - letters)
  const sums = asTheyCame.get(OUTCOME_STATUS.filtered) ?? new Map<string, number>()
  // Of those that an earlier replay kept: nothing tells which they were, so all are judged again when one is lost.
  const keptAbsent = Math.min(filtered.length, Math.max(0, keptBack - keptSeen))
  if (keptAbsent > 0 && facts.conditions === 0 && counted < absent.length + keptAbsent) {
    absent.push(...filtered)
    takeBack(sums, filtered.length - keptAbsent, kept)
  } else {
    const found = filtered.filter(isKept).slice(keptAbsent)
    const again = found.filter(() => takeBack(sums, 1, kept) === 0)
    asked.push(...again)
    counts.counted += filtered.length - again.length
  }
  counts.found += asked.length
  takeLateRows(absent, counted, (event) => takeRow(event, unit, facts, taken), counts)
  const outcomes = new Map<string, number>()
  asked.push(...planEvents(absent, { later, counted }, wanted, isFound, counts, outcomes))
  // Nobody knows what they say, so no condition holds for them.
  const isAsked = facts.conditions === 0
  for (const rejected of unit.rejected) planRejected(rejected, unit, facts, isAsked, counts, outcomes)
  if (asked.length === 0 && outcomes.size === 0) return undefined
  // The rows that they become stand for them.
  for (const event of asked) if (event.status === 'ok') taken.add(rowName(event, unit))
  return {
    ...unit,
    events: asked.map((event) => ({ ...event, isRepeat: isRepeat(event, facts) })),
    outcomes,
    kept,
    unfiltered,
  }
}

/** Events that were filtered once, and are stored since they were judged again: counts do not stand for them any more. */
function takeLateRows(
  absent: ArchivedEvent[],
  counted: number,
  takesRow: (event: ArchivedEvent) => boolean,
  counts: ReplayCounts,
): void {
  for (let at = absent.length - 1; at >= 0 && absent.length > counted; at--) {
    if (absent[at]!.status !== 'filtered' || !takesRow(absent[at]!)) continue
    absent.splice(at, 1)
    counts.stored++
  }
}

/**
 * Returns the events to put back.
 * @param absent neither stored, nor counted as they came, nor dead letters
 */
function planEvents(
  absent: readonly ArchivedEvent[],
  { later, counted }: { readonly later: Map<string, number>; readonly counted: number },
  wanted: (event: ArchivedEvent) => boolean,
  isFound: (event: ArchivedEvent) => boolean,
  counts: ReplayCounts,
  outcomes: Map<string, number>,
): readonly ArchivedEvent[] {
  if (counted >= absent.length) {
    const filtered = new Map([...later].filter(([key]) => isFilteredKey(key)))
    const found = absent.filter((event) => isFound(event) && takeBack(filtered, 1, outcomes) === 0)
    counts.found += found.length
    counts.counted += absent.length - found.length
    return found
  }
  const asked = absent.filter(wanted)
  const others = absent.length - asked.length
  counts.replayed += asked.length
  counts.counted += Math.min(counted, others)
  counts.left += others - Math.min(counted, others)
  if (asked.length > 0) takeBack(later, Math.max(0, counted - others), outcomes)
  return asked
}

function planRejected(
  { reason, lines }: RejectedLines,
  { commit, day, job }: ArchivedUnit,
  facts: Facts,
  isAsked: boolean,
  counts: ReplayCounts,
  outcomes: Map<string, number>,
): void {
  const status = OUTCOME_STATUS.rejected
  const counted = (facts.outcomes.get(commit) ?? [])
    .filter((one) => one.status === status && one.reason === reason && one.day === day && one.job === job)
    .reduce((total, { events }) => total + events, 0)
  const lost = Math.max(0, lines - counted)
  counts.counted += lines - lost
  if (isAsked) counts.replayed += lost
  else counts.left += lost
  if (isAsked && lost > 0) {
    countOutcome(outcomes, outcomeKey({ tenantId: facts.tenantId, day, job, status, reason }), lost)
  }
}

function isFilteredKey(key: string): boolean {
  return statusOfKey(key) === OUTCOME_STATUS.filtered
}

function statusOf({ status }: ArchivedEvent): string {
  if (status === 'invalid_ip') return OUTCOME_STATUS.invalidIp
  return status === 'filtered' ? OUTCOME_STATUS.filtered : ''
}

/** A row stands for one event: the next one of the same id and time of receipt is a repeat of it. */
function takeRow(
  event: ArchivedEvent,
  unit: ArchivedUnit,
  { rows, taken: before }: Facts,
  taken: Set<string>,
): boolean {
  if (!hasRow(event, unit, { rows })) return false
  const name = rowName(event, unit)
  if (taken.has(name) || before.has(name)) return false
  taken.add(name)
  return true
}

function hasRow(
  { eventId, receivedAtMs }: ArchivedEvent,
  { job = '' }: ArchivedUnit,
  { rows }: Pick<Facts, 'rows'>,
): boolean {
  return rows.get(eventId)?.some((row) => row.receivedAtMs === receivedAtMs && row.jobId === job) ?? false
}

function rowName({ eventId, receivedAtMs }: ArchivedEvent, { job = '' }: ArchivedUnit): string {
  return `${job} ${eventKey(eventId, receivedAtMs)}`
}

function isRepeat({ eventId, receivedAtMs }: ArchivedEvent, { rows, windowMs }: Facts): boolean {
  return rows.get(eventId)?.some((row) => Math.abs(row.receivedAtMs - receivedAtMs) < windowMs) ?? false
}

/** Takes so many away from sums, and returns how many were not there. */
function takeBack(sums: Map<string, number>, events: number, outcomes: Map<string, number>): number {
  let left = events
  for (const [key, counted] of sums) {
    const some = Math.min(left, counted)
    if (some <= 0) continue
    sums.set(key, counted - some)
    countOutcome(outcomes, key, -some)
    left -= some
  }
  return left
}

function sum(numbers: Iterable<number>): number {
  let total = 0
  for (const number of numbers) total += number
  return total
}
