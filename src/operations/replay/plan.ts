import { OUTCOME_STATUS } from '../../../schemas/outcome.ts'
import { countOutcome, outcomeKey, statusOfKey } from '../../pipeline/event/outcomes.ts'
import {
  type ArchivedEvent,
  type ArchivedUnit,
  type CountedOutcome,
  eventKey,
  KEPT,
  type RejectedLines,
  type StoredRow,
  UNFILTERED,
} from './ports.ts'
import { TakenCounts, type TodaysVerdict } from './taken-counts.ts'

/** Facts on which a plan is based. */
export interface Facts {
  readonly tenantId: string
  /** Number of conditions of the selection. */
  readonly conditions: number
  /** By event id: rows received from one dedup window before the first event to one after the last. */
  readonly rows: ReadonlyMap<string, readonly StoredRow[]>
  /** By commit. */
  readonly outcomes: ReadonlyMap<string, readonly CountedOutcome[]>
  /** See `eventKey`. */
  readonly letters: ReadonlySet<string>
  /** See `StoredEvents.refilteredOf`. */
  readonly refiltered: ReadonlyMap<string, string>
  /** Names of rows that earlier rounds matched with an event. `Plan.taken` has those of this plan. */
  readonly taken: Pick<ReadonlySet<string>, 'has'>
  /** How many events that are only counted the round before found, by commit and key. `Plan.matched` has those of this plan. */
  readonly matched?: ReadonlyMap<string, number>
  readonly windowMs: number
  /** The judgement by today's data; undefined: filtered events stay filtered. It does not cover an event without a valid address. */
  readonly verdictOf?: ((event: ArchivedEvent) => TodaysVerdict | undefined) | undefined
}

/** An event to replay. */
export interface LostEvent extends ArchivedEvent {
  /** Another event of the same id is stored, and was received within a window of this one. */
  readonly isRepeat: boolean
}

/** Those events of a unit that need a replay. */
export interface LostUnit extends Omit<ArchivedUnit, 'events'> {
  readonly events: readonly LostEvent[]
  /** Changes by outcome key. Negative numbers undo earlier counts of these events. */
  readonly outcomes: ReadonlyMap<string, number>
  /** The same for events that were filtered at their receipt, and that today's data keep. */
  readonly kept: ReadonlyMap<string, number>
  /** The same for events that a reenrichment filtered. */
  readonly unfiltered: ReadonlyMap<string, number>
}

/** Outcome of the replay. Each archived event and invalid line is in exactly one number. */
export interface ReplayCounts {
  /** Rows of `events`. */
  stored: number
  /** Counted instead of stored. */
  counted: number
  /** Dead letters: `ipid dead-letter retry` handles them. */
  dead: number
  /** Lost, but not selected. */
  left: number
  /** Lost and replayed. */
  replayed: number
  /** Filtered before, and replayed because today's data keep them. */
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
  /** Names of rows that were matched with an event, `job milliseconds id`. */
  readonly taken: readonly string[]
  /** See `Facts.matched`. */
  readonly matched: ReadonlyMap<string, number>
}

/**
 * Finds archived events that are missing in the tables. Rows are matched by event. Outcomes are sums, so they are compared for
 * a whole unit: if the number of counted events equals the number of events without a row, nothing is missing. Otherwise the
 * plan undoes the counts and replays all events without a row. Both ways the sums are right in the end, also after a crash or
 * after the loss of a part of a table.
 * @param wanted whether an event is selected
 */
export function planReplay(
  units: readonly ArchivedUnit[],
  facts: Facts,
  wanted: (event: ArchivedEvent) => boolean,
): Plan {
  const counts = noCounts()
  const taken = new Set<string>()
  const matched = new Map<string, number>()
  const lost: LostUnit[] = []
  const shared = { taken, matched, commits: commitsOf(units, facts) }
  for (const unit of units) {
    const planned = planUnit(unit, facts, shared, counts, wanted)
    if (planned !== undefined) lost.push(planned)
  }
  return { lost, counts, taken: [...taken], matched }
}

/** Counts of events as they came. All units of a commit share them, and take from `filtered`. */
interface CommitCounts {
  readonly asTheyCame: ReadonlyMap<string, Map<string, number>>
  readonly filtered: TakenCounts
}

/** State that the units of a plan share. */
interface Shared {
  readonly taken: Set<string>
  readonly matched: Map<string, number>
  /** By `commitName`. */
  readonly commits: ReadonlyMap<string, CommitCounts>
}

function commitsOf(units: readonly ArchivedUnit[], facts: Facts): ReadonlyMap<string, CommitCounts> {
  const groups = new Map<string, ArchivedUnit[]>()
  for (const unit of units) {
    const name = commitName(unit)
    const same = groups.get(name)
    if (same === undefined) groups.set(name, [unit])
    else same.push(unit)
  }
  const commits = new Map<string, CommitCounts>()
  for (const [name, same] of groups) {
    const { asTheyCame } = outcomesOf(same[0]!, facts.outcomes.get(same[0]!.commit) ?? [])
    const counted = () =>
      same.flatMap((unit) => unit.events.filter((event) => event.status === 'filtered' && !hasRow(event, unit, facts)))
    const sums = asTheyCame.get(OUTCOME_STATUS.filtered) ?? new Map<string, number>()
    commits.set(name, { asTheyCame, filtered: new TakenCounts(sums, counted, facts.verdictOf) })
  }
  return commits
}

function commitName({ commit, day, job = '' }: ArchivedUnit): string {
  return `${commit} ${day} ${job}`
}

function planUnit(
  unit: ArchivedUnit,
  facts: Facts,
  { taken, matched, commits }: Shared,
  counts: ReplayCounts,
  wanted: (event: ArchivedEvent) => boolean,
): LostUnit | undefined {
  const { later, keptBack } = outcomesOf(unit, facts.outcomes.get(unit.commit) ?? [])
  const { asTheyCame, filtered: takenCounts } = commits.get(commitName(unit))!
  const isKept = (event: ArchivedEvent) => facts.verdictOf?.(event)?.isKept === true && wanted(event)
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
  // Events that an earlier replay kept. The sums do not say which, so all are replayed when one is lost.
  const keptAbsent = Math.min(filtered.length, Math.max(0, keptBack - keptSeen))
  if (keptAbsent > 0 && facts.conditions === 0 && counted < absent.length + keptAbsent) {
    absent.push(...filtered)
    for (const event of filtered.slice(keptAbsent)) takenCounts.take(event, kept)
  } else {
    const found = filtered.filter(isKept).slice(keptAbsent)
    const again = found.filter((event) => takenCounts.take(event, kept))
    asked.push(...again)
    counts.counted += filtered.length - again.length
  }
  counts.found += asked.length
  takeLateRows(absent, counted, (event) => takeRow(event, unit, facts, taken), counts)
  const outcomes = new Map<string, number>()
  asked.push(...planEvents(absent, { later, counted }, facts, wanted, isFound, counts, outcomes))
  // An invalid line meets no condition.
  const isAsked = facts.conditions === 0
  for (const rejected of unit.rejected) planRejected(rejected, unit, facts, matched, isAsked, counts, outcomes)
  if (asked.length === 0 && outcomes.size === 0) return undefined
  // Each will get a row.
  for (const event of asked) if (event.status === 'ok') taken.add(rowName(event, unit))
  return {
    ...unit,
    events: asked.map((event) => ({ ...event, isRepeat: isRepeat(event, facts) })),
    outcomes,
    kept,
    unfiltered,
  }
}

/** Matches rows of events that were filtered at first and stored later, by a reenrichment. Counts no longer include them. */
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
  { verdictOf }: Facts,
  wanted: (event: ArchivedEvent) => boolean,
  isFound: (event: ArchivedEvent) => boolean,
  counts: ReplayCounts,
  outcomes: Map<string, number>,
): readonly ArchivedEvent[] {
  if (counted >= absent.length) {
    const filtered = new Map([...later].filter(([key]) => isFilteredKey(key)))
    const takenCounts = new TakenCounts(filtered, () => absent.filter(({ status }) => status === 'filtered'), verdictOf)
    const found = absent.filter((event) => isFound(event) && takenCounts.take(event, outcomes))
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

/** Several requests of a commit share one sum, so the part that earlier ones matched is not available to this one. */
function planRejected(
  { status = OUTCOME_STATUS.rejected, reason, lines, sourceId = '' }: RejectedLines,
  { commit, day, job }: ArchivedUnit,
  facts: Facts,
  matched: Map<string, number>,
  isAsked: boolean,
  counts: ReplayCounts,
  outcomes: Map<string, number>,
): void {
  const key = outcomeKey({ tenantId: facts.tenantId, day, job, status, reason, sourceId })
  const name = `${commit} ${key}`
  const before = matched.get(name) ?? facts.matched?.get(name) ?? 0
  matched.set(name, before + lines)
  const counted = (facts.outcomes.get(commit) ?? [])
    .filter((one) => one.status === status && one.reason === reason && one.day === day && one.job === job)
    .filter((one) => (one.sourceId ?? '') === sourceId)
    .reduce((total, { events }) => total + events, 0)
  const lost = lines - Math.min(lines, Math.max(0, counted - before))
  counts.counted += lines - lost
  if (isAsked) counts.replayed += lost
  else counts.left += lost
  if (isAsked && lost > 0) countOutcome(outcomes, key, lost)
}

const ONLY_COUNTED: ReadonlySet<string> = new Set([OUTCOME_STATUS.rejected, OUTCOME_STATUS.noIp, OUTCOME_STATUS.noPage])

function isOnlyCounted(status: string): boolean {
  return ONLY_COUNTED.has(status)
}

function isFilteredKey(key: string): boolean {
  return statusOfKey(key) === OUTCOME_STATUS.filtered
}

function statusOf({ status }: ArchivedEvent): string {
  if (status === 'invalid_ip') return OUTCOME_STATUS.invalidIp
  return status === 'filtered' ? OUTCOME_STATUS.filtered : ''
}

/** Matches a row with one event. The next event of the same id and time of receipt is a repeat, and needs another row. */
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

/** Adds up to `events` of the sums to the outcomes, as negative numbers. */
function takeBack(sums: ReadonlyMap<string, number>, events: number, outcomes: Map<string, number>): void {
  let left = events
  for (const [key, counted] of sums) {
    const taken = Math.min(left, counted)
    if (taken <= 0) continue
    countOutcome(outcomes, key, -taken)
    left -= taken
  }
}

/**
 * Counted events of a unit: `asTheyCame` by status, for all partitions of its commit; `later` for this partition; and
 * `keptBack`, the number of filtered events that a replay kept.
 */
export function outcomesOf(unit: ArchivedUnit, outcomes: readonly CountedOutcome[]) {
  const asTheyCame = new Map<string, Map<string, number>>()
  const later = new Map<string, number>()
  let keptBack = 0
  for (const { leftWith, day, job, status, key, events } of outcomes) {
    if (day !== unit.day || job !== unit.job || isOnlyCounted(status)) continue
    if (leftWith === '' || leftWith.startsWith(`${KEPT}:`)) {
      const sums = asTheyCame.get(status)
      if (sums === undefined) asTheyCame.set(status, new Map([[key, events]]))
      else countOutcome(sums, key, events)
      if (leftWith !== '' && partitionOf(leftWith) === unit.partition) keptBack -= events
    } else if (!leftWith.startsWith(`${UNFILTERED}:`) && partitionOf(leftWith) === unit.partition) {
      countOutcome(later, key, events)
    }
  }
  return { asTheyCame, later, keptBack }
}

/** @param leftWith `group:partition:…`, or `of:partition:/group:…` when another partition carried the event */
function partitionOf(leftWith: string): number {
  return Number(leftWith.split(':')[1])
}

function sum(numbers: Iterable<number>): number {
  let total = 0
  for (const number of numbers) total += number
  return total
}
