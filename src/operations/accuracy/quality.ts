import { type Verdict, verdictOf } from './attribution.ts'
import { wilson } from './interval.ts'
import type { TruthGroup } from './truth.ts'

/** How many events with a known domain were attributed to it. */
export interface Accuracy {
  readonly events: number
  /** Attributed to the known domain. */
  readonly right: number
  /** Attributed to another company. */
  readonly other: number
  /** Attributed to no company. */
  readonly none: number
  /** Addresses with attributed events. The events of an address are one case, because they are right or wrong together. */
  readonly cases: number
  /**
   * The share of the cases that is right, 0 to 1, with its 95 % interval; null without a case. A case with other companies too counts
   * as the share of its attributed events that is right.
   */
  readonly precision: number | null
  readonly low: number | null
  readonly high: number | null
}

export interface NamedAccuracy extends Accuracy {
  readonly name: string
}

export interface QualityAccuracy extends Accuracy {
  readonly from: number
  readonly to: number
}

export interface QualityReport {
  readonly all: Accuracy
  /** By the data set that names the company today. Most events first. */
  readonly data_sets: readonly NamedAccuracy[]
  /** By class; `unknown` for none. */
  readonly classifications: readonly NamedAccuracy[]
  /** By bands of the quality score, lowest first. */
  readonly qualities: readonly QualityAccuracy[]
}

/** Names for events whose data set cannot be said. */
export const NO_DATA_SET = {
  /** The tenant does not store addresses. */
  masked: '(address not stored)',
  /** Today's data name another company, or none. */
  changed: '(other data then)',
} as const

const BAND = 20
const BANDS = [0, 1, 2, 3, 4].map((i) => ({ from: i * BAND, to: i === 4 ? 100 : i * BAND + BAND - 1 }))
/** Data sets and classes are few, but a caller may name any. */
const NAMES_MAX = 1_000

/**
 * Counts the events with a known domain by whether they were attributed to it.
 * @param groups in the order of `ClickHouseTruth.groups`
 * @param dataSetOf the data set that named the company; one of `NO_DATA_SET` when it is not known
 */
export async function qualityOf(
  groups: AsyncIterable<TruthGroup>,
  dataSetOf: (group: TruthGroup) => string,
): Promise<QualityReport> {
  const all = new Tally()
  const sets = new Map<string, Tally>()
  const classes = new Map<string, Tally>()
  const bands = BANDS.map(() => new Tally())
  for await (const group of groups) {
    const verdict = verdictOf(group, group.knownDomain)
    const tallies = [all, tallyOf(classes, group.classification || 'unknown')]
    if (verdict !== 'none') {
      tallies.push(
        tallyOf(sets, dataSetOf(group)),
        bands[Math.min(BANDS.length - 1, Math.floor(group.quality / BAND))]!,
      )
    }
    for (const tally of tallies) tally.add(group.ip, verdict, group.events)
  }
  return {
    all: all.accuracy(),
    data_sets: named(sets),
    classifications: named(classes),
    qualities: bands.map((tally, i) => ({ ...BANDS[i]!, ...tally.accuracy() })),
  }
}

class Tally {
  readonly #events = { right: 0, other: 0, none: 0 }
  /** The case that is read now: cases follow one another. */
  #case = { ip: '', right: 0, attributed: 0 }
  #cases = 0
  #rightCases = 0

  add(ip: string, verdict: Verdict, events: number): void {
    this.#events[verdict] += events
    if (verdict === 'none') return
    if (ip !== this.#case.ip) this.#closeCase(ip)
    this.#case.attributed += events
    if (verdict === 'right') this.#case.right += events
  }

  accuracy(): Accuracy {
    this.#closeCase('')
    const { right, other, none } = this.#events
    const interval = this.#cases === 0 ? undefined : wilson(this.#rightCases / this.#cases, this.#cases)
    return {
      ...{ events: right + other + none, right, other, none, cases: this.#cases },
      ...{ precision: interval?.share ?? null, low: interval?.low ?? null, high: interval?.high ?? null },
    }
  }

  #closeCase(next: string): void {
    const { right, attributed } = this.#case
    if (attributed > 0) {
      this.#cases++
      this.#rightCases += right / attributed
    }
    this.#case = { ip: next, right: 0, attributed: 0 }
  }
}

function tallyOf(tallies: Map<string, Tally>, name: string): Tally {
  let tally = tallies.get(name)
  if (tally === undefined) {
    tally = new Tally()
    if (tallies.size < NAMES_MAX) tallies.set(name, tally)
  }
  return tally
}

function named(tallies: ReadonlyMap<string, Tally>): NamedAccuracy[] {
  return [...tallies].map(([name, tally]) => ({ name, ...tally.accuracy() })).sort((a, b) => b.events - a.events)
}
