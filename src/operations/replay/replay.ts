import type { EventEnvelope } from '../../../schemas/api/event.ts'
import type { Address } from '../../pipeline/event/address.ts'
import type { Enricher, Enrichment, Hostnames } from '../../pipeline/event/enrichment.ts'
import type { AddressMask } from '../../pipeline/event/pseudonym.ts'
import { InputError, UnavailableError } from '../../run/errors.ts'
import { retry } from '../../run/loop.ts'
import { readUnit } from './lines.ts'
import { noCounts, type Plan, planReplay, REPLAY_COUNTS, type ReplayCounts } from './plan.ts'
import type {
  ArchivedEvent,
  ArchivedPart,
  ArchivedUnit,
  ArchiveReader,
  ReplayLane,
  Selection,
  StoredEvents,
} from './ports.ts'
import { addressesOf, assertRepeatsMeet, assignIdentities, judgeArchived, unitToFeed } from './put-back.ts'
import type { TodaysVerdict } from './taken-counts.ts'
import { isOfEntry, merged, type PlacedUnit, unitsInOrder } from './units-in-order.ts'
import { type Condition, digestOf, meets } from './where.ts'

export interface ReplayOptions {
  readonly selection: Selection
  /** Replays only events that meet all of them. */
  readonly where: readonly Condition[]
  /** Only reports the effect of a replay. */
  readonly dryRun: boolean
  /** Also replays events that were filtered, when today's data keep them. */
  readonly reenrich: boolean
  readonly reader: ArchiveReader
  readonly stored: StoredEvents
  readonly lane: ReplayLane
  readonly enricher: Enricher
  /** Masks addresses; undefined: stores them in full. */
  readonly mask: AddressMask | undefined
  /** Undefined: no reverse DNS. */
  readonly hostnames: Hostnames | undefined
  readonly windowMs: number
  /** Which filtered events may return. Default: all that today's data keep. */
  readonly returns?: (address: Address, enrichment: Enrichment) => boolean
  /** Events of one round, which bounds memory. The next round starts when they are stored. Default: 50,000. */
  readonly roundEvents?: number
  /** Called before each wait, with its reason. */
  readonly onStep: (what: string) => void
  /** Called after each round. Ends the replay if it throws. */
  readonly onProgress: (progress: ReplayProgress) => void
}

interface ReplayProgress {
  readonly parts: number
  readonly partsDone: number
  readonly counts: Readonly<ReplayCounts>
}

export interface ReplayReport {
  /** Parts that this run read. */
  readonly parts: number
  /** The part after which it resumed; undefined when it began with the first. */
  readonly resumedAfter: string | undefined
  readonly counts: Readonly<ReplayCounts>
  /** Lines that are not archived events. */
  readonly unreadable: number
  /** For each skipped part, the problem. */
  readonly damaged: readonly string[]
}

const ROUND_EVENTS = 50_000
/** Longer events count as several, so that memory is bounded. */
const EVENT_CHARS = 1_000
const RETRY_DELAY = { minMs: 500, maxMs: 5_000 }
/** How long a store may be down during a replay. */
const PATIENCE_MS = 300_000

/**
 * Sends archived events that are missing in the tables through the batch lane, with their original time of receipt. It finds
 * stored and counted events in the tables themselves, so it may run any number of times, and a kill at any moment is safe.
 * Works in rounds: each round sees the rows that the one before stored.
 * @throws UnavailableError when a store is down for long; the next run resumes
 */
export async function replay(options: ReplayOptions): Promise<ReplayReport> {
  const { selection, reader, lane } = options
  const sinceMs = await lane.now()
  const parts = await reader.parts(selection)
  const resumed = options.dryRun ? undefined : await resumePoint(options, parts)
  options.onStep('waiting until all received events are stored')
  const lettersBefore = await lane.letters(selection.tenantId)
  await lane.untilStored()
  // A letter that is retried between the two reads is in the pipeline, so it is not lost. Neither is a new letter.
  const letters = new Set([...lettersBefore, ...(await lane.letters(selection.tenantId))])
  const run = new Replay(options, parts.slice(resumed === undefined ? 0 : resumed + 1), { sinceMs, letters })
  await run.run()
  if (!options.dryRun) {
    options.onStep('waiting until the replayed events are stored')
    await lane.untilStored()
    await lane.keepPosition(selection.tenantId, undefined)
  }
  return { ...run.report(), resumedAfter: resumed === undefined ? undefined : parts[resumed]!.key }
}

/** Index of the last part that an earlier run of the same replay finished. */
async function resumePoint(options: ReplayOptions, parts: readonly ArchivedPart[]): Promise<number | undefined> {
  const { lane, selection } = options
  const kept = await lane.position(selection.tenantId)
  if (kept?.selection !== digestOf(options)) return undefined
  const at = parts.findIndex(({ key }) => key === kept.part)
  return at < 0 ? undefined : at
}

interface Start {
  readonly sinceMs: number
  readonly letters: ReadonlySet<string>
}

class Replay {
  readonly #options: ReplayOptions
  readonly #parts: readonly ArchivedPart[]
  readonly #start: Start
  readonly #counts = noCounts()
  readonly #damaged: string[] = []
  #unreadable = 0
  /** Number of unfinished units of each part. */
  readonly #open: number[] = []
  #done = -1
  #kept = -1
  readonly #taken = new TakenRows()
  #matched: Plan['matched'] = new Map()

  constructor(options: ReplayOptions, parts: readonly ArchivedPart[], start: Start) {
    this.#options = options
    this.#parts = parts
    this.#start = start
  }

  report(): Omit<ReplayReport, 'resumedAfter'> {
    return {
      parts: this.#parts.length,
      counts: this.#counts,
      unreadable: this.#unreadable,
      damaged: this.#damaged,
    }
  }

  async run(): Promise<void> {
    const { roundEvents = ROUND_EVENTS } = this.#options
    let round: PlacedUnit[] = []
    let events = 0
    for await (const placed of unitsInOrder(this.#parts, (part) => this.#read(part))) {
      const { unit } = placed
      if (events >= roundEvents && !isOfEntry(unit, round.at(-1)?.unit)) {
        await this.#finish(round)
        round = []
        events = 0
      }
      round.push(placed)
      events += unit.rejected.length
      for (const { text } of unit.events) events += Math.max(1, text.length / EVENT_CHARS)
    }
    await this.#finish(round)
  }

  async #read(part: ArchivedPart): Promise<ArchivedUnit[]> {
    const { reader } = this.#options
    try {
      const lines = await patiently(() => reader.read(part))
      const units = lines.map((unit) => readUnit(unit, () => this.#unreadable++))
      this.#open.push(units.length)
      return units
    } catch (error) {
      if (!(error instanceof InputError)) throw error
      this.#damaged.push(error.message)
      this.#open.push(0)
      return []
    }
  }

  async #finish(round: readonly PlacedUnit[]): Promise<void> {
    const { dryRun, onProgress } = this.#options
    const units = merged(round, this.#parts)
    if (units.length > 0) await this.#settle(units)
    for (const { part } of round) this.#open[part]!--
    while (this.#done + 1 < this.#open.length && this.#open[this.#done + 1] === 0) this.#done++
    onProgress({ parts: this.#parts.length, partsDone: this.#done + 1, counts: this.#counts })
    if (!dryRun) await this.#keepPosition()
  }

  async #settle(units: readonly ArchivedUnit[]): Promise<void> {
    // Count from the first attempt: a retry finds its events stored.
    let counts: ReplayCounts | undefined
    const plan = await patiently(async () => {
      const found = planReplay(units, await this.#factsOf(units), (event) => this.#isWanted(event))
      counts ??= found.counts
      if (!this.#options.dryRun && found.lost.length > 0) await this.#putBack(found)
      return found
    })
    this.#taken.add(plan.taken)
    this.#matched = plan.matched
    for (const name of REPLAY_COUNTS) this.#counts[name] += counts![name]
  }

  #isWanted({ text }: ArchivedEvent): boolean {
    const { where } = this.#options
    if (where.length === 0) return true
    const event = JSON.parse(text) as EventEnvelope
    return where.every((condition) => meets(event, condition))
  }

  async #putBack({ lost }: Plan): Promise<void> {
    const { lane, selection, windowMs, enricher, mask, hostnames } = this.#options
    const { tenantId } = selection
    const nowMs = await lane.now()
    assertRepeatsMeet(lost, tenantId, nowMs - windowMs, lane)
    const { byEvent, claimed, released } = assignIdentities(lost, { tenantId, nowMs, windowMs })
    await hostnames?.prefetch(addressesOf(lost))
    await lane.release(released, this.#start.sinceMs)
    await lane.claim(claimed)
    try {
      await lane.feed(lost.map((unit) => unitToFeed(unit, { tenantId, mask, enricher }, byEvent)))
      await lane.untilStored(true)
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error
      // Some units may be in the stream: the next attempt must find them stored.
      await patiently(() => lane.untilStored())
      throw error
    }
  }

  async #factsOf(units: readonly ArchivedUnit[]) {
    const { stored, selection, windowMs, where, reenrich } = this.#options
    const { tenantId } = selection
    const ids = new Set<string>()
    let fromMs = Number.POSITIVE_INFINITY
    let toMs = 0
    for (const { events } of units) {
      for (const { eventId, receivedAtMs } of events) {
        ids.add(eventId)
        fromMs = Math.min(fromMs, receivedAtMs)
        toMs = Math.max(toMs, receivedAtMs)
      }
    }
    const span = { fromMs: fromMs - windowMs, toMs: toMs + windowMs }
    const rows = await stored.rowsOf(tenantId, [...ids], span)
    const commits = [...new Set(units.map(({ commit }) => commit))]
    const days = [...new Set(units.map(({ day }) => day))]
    const outcomes = await stored.outcomesOf(tenantId, commits, days)
    const refiltered = await stored.refilteredOf(
      tenantId,
      units.flatMap(({ events }) => events),
      days,
    )
    const verdictOf = reenrich ? (event: ArchivedEvent) => this.#verdictOf(event) : undefined
    return {
      tenantId,
      conditions: where.length,
      rows,
      outcomes,
      refiltered,
      letters: this.#start.letters,
      taken: this.#taken,
      matched: this.#matched,
      windowMs,
      verdictOf,
    }
  }

  #verdictOf({ text }: ArchivedEvent): TodaysVerdict | undefined {
    const { enricher, returns } = this.#options
    const judged = judgeArchived(text, enricher)
    if (judged === undefined) return undefined
    const { address, enrichment } = judged
    const { noise, filteredAs = '', classification = '' } = enrichment
    if (!noise && returns?.(address, enrichment) === false) return undefined
    return { isKept: !noise, reason: filteredAs, classification }
  }

  /** Keeps the last position where no batch job has parts on both sides: a job's rows must be matched within one run. */
  async #keepPosition(): Promise<void> {
    const { lane, selection } = this.#options
    const jobsAhead = new Set(this.#parts.slice(this.#done + 1).map(({ job }) => job))
    this.#taken.forget((job) => !jobsAhead.has(job))
    let safe = this.#done
    for (let at = this.#done; at > this.#kept; at--) {
      const { job } = this.#parts[at]!
      if (job !== undefined && jobsAhead.has(job)) safe = at - 1
      jobsAhead.add(job)
    }
    if (safe <= this.#kept) return
    this.#kept = safe
    const position = { selection: digestOf(this.#options), part: this.#parts[safe]!.key }
    await patiently(() => lane.keepPosition(selection.tenantId, position))
  }
}

function patiently<T>(work: () => Promise<T>): Promise<T> {
  return retry(work, {
    delay: RETRY_DELAY,
    deadlineMs: performance.now() + PATIENCE_MS,
    isFinal: (error) => !(error instanceof UnavailableError),
  })
}

/**
 * Names of rows that earlier rounds matched with an event (see `Plan`). Keeps rows of a batch job until `forget`, because all
 * its events have the same time of receipt, and rows of live events for two rounds.
 */
class TakenRows {
  readonly #ofJobs = new Map<string, Set<string>>()
  #live: readonly [Set<string>, Set<string>] = [new Set(), new Set()]

  has(name: string): boolean {
    const job = jobOf(name)
    if (job !== '') return this.#ofJobs.get(job)?.has(name) ?? false
    return this.#live.some((names) => names.has(name))
  }

  /** Adds the rows of one round. */
  add(names: Iterable<string>): void {
    const live = new Set<string>()
    for (const name of names) {
      const job = jobOf(name)
      if (job === '') {
        live.add(name)
        continue
      }
      const known = this.#ofJobs.get(job)
      if (known === undefined) this.#ofJobs.set(job, new Set([name]))
      else known.add(name)
    }
    this.#live = [this.#live[1], live]
  }

  forget(isOver: (job: string) => boolean): void {
    for (const job of this.#ofJobs.keys()) if (isOver(job)) this.#ofJobs.delete(job)
  }
}

function jobOf(name: string): string {
  return name.slice(0, name.indexOf(' '))
}
