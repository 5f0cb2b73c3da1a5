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
  /** Places with attributed events. The events of a place are one case, because they are right or wrong together. */
  readonly cases: number
  /** Right ones of `cases`. A case with other companies too counts as the share of its attributed events that is right. */
  readonly right_cases: number
  /** The rest of `cases`. */
  readonly other_cases: number
  /** Places with no attributed event. */
  readonly none_cases: number
  /** `right_cases` as a share of `cases`, 0 to 1, with its 95 % interval; null without a case. */
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
  /** All events but those in `rules`. */
  readonly all: Accuracy
  /** Events whose company a rule `is` of the tenant named. No other figure counts them. */
  readonly rules: Accuracy
  /** By the data set that names the company today. Most events first. */
  readonly data_sets: readonly NamedAccuracy[]
  /** By class; `unknown` for none. */
  readonly classifications: readonly NamedAccuracy[]
  /** By bands of the quality score, lowest first. */
  readonly qualities: readonly QualityAccuracy[]
}

/** Names for events whose data set is unknown. */
export const NO_DATA_SET = {
  /** The tenant does not store addresses. */
  masked: '(address not stored)',
  /** Today's data name another company, or none. */
  changed: '(other data then)',
  /** No event of the company or AS is stored. */
  gone: '(no stored event)',
  /** A rule `is` of the tenant named it. */
  rule: '(your rule "is")',
  /** No data set has a name for the address. */
  none: '(no data set)',
} as const

const BAND = 20
const BANDS = [0, 1, 2, 3, 4].map((i) => ({ from: i * BAND, to: i === 4 ? 100 : i * BAND + BAND - 1 }))
/** Data sets and classes are few, but a caller may name any. */
const NAMES_MAX = 1_000

interface QualityQuestions {
  /** The data set that named the company; one of `NO_DATA_SET` when it is not known. */
  readonly dataSetOf: (group: TruthGroup) => string
  /** Whether a rule of the tenant named the company: see `namedByRule`. */
  readonly isByRule: (group: TruthGroup) => boolean
}

/**
 * Counts the events with a known domain by whether they were attributed to it.
 * @param groups in the order of `ClickHouseTruth.groups`
 */
export async function qualityOf(
  groups: AsyncIterable<TruthGroup>,
  { dataSetOf, isByRule }: QualityQuestions,
): Promise<QualityReport> {
  const all = new Tally()
  const rules = new Tally()
  const sets = new Map<string, Tally>()
  const classes = new Map<string, Tally>()
  const bands = BANDS.map(() => new Tally())
  for await (const group of groups) {
    const verdict = verdictOf(group, group.knownDomain)
    if (isByRule(group)) {
      rules.add(group.place, verdict, group.events)
      continue
    }
    const tallies = [all, tallyOf(classes, group.classification || 'unknown')]
    if (verdict !== 'none') {
      tallies.push(
        tallyOf(sets, dataSetOf(group)),
        bands[Math.min(BANDS.length - 1, Math.floor(group.quality / BAND))]!,
      )
    }
    for (const tally of tallies) tally.add(group.place, verdict, group.events)
  }
  return {
    all: all.accuracy(),
    rules: rules.accuracy(),
    data_sets: named(sets),
    classifications: named(classes),
    qualities: bands.map((tally, i) => ({ ...BANDS[i]!, ...tally.accuracy() })),
  }
}

class Tally {
  readonly #events = { right: 0, other: 0, none: 0 }
  /** The case that is read now: cases follow one another. */
  #case = { place: '', right: 0, attributed: 0, none: 0 }
  #cases = 0
  #rightCases = 0
  #noneCases = 0

  add(place: string, verdict: Verdict, events: number): void {
    this.#events[verdict] += events
    if (place !== this.#case.place) this.#closeCase(place)
    this.#case[verdict === 'none' ? 'none' : 'attributed'] += events
    if (verdict === 'right') this.#case.right += events
  }

  accuracy(): Accuracy {
    this.#closeCase('')
    const { right, other, none } = this.#events
    const interval = this.#cases === 0 ? undefined : wilson(this.#rightCases / this.#cases, this.#cases)
    return {
      ...{ events: right + other + none, right, other, none, cases: this.#cases, right_cases: this.#rightCases },
      ...{ other_cases: this.#cases - this.#rightCases, none_cases: this.#noneCases },
      ...{ precision: interval?.share ?? null, low: interval?.low ?? null, high: interval?.high ?? null },
    }
  }

  #closeCase(next: string): void {
    const { right, attributed, none } = this.#case
    if (attributed > 0) {
      this.#cases++
      this.#rightCases += right / attributed
    } else if (none > 0) this.#noneCases++
    this.#case = { place: next, right: 0, attributed: 0, none: 0 }
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
