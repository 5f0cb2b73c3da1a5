import { type Address, parseAddress } from '../../pipeline/event/address.ts'
import type { Enrichment } from '../../pipeline/event/enrichment.ts'
import { type Attributed, type Verdict, verdictOf } from './attribution.ts'
import { wilson } from './interval.ts'
import type { TruthAddress } from './truth.ts'

/** Data that are compared. */
interface Data {
  enrich(address: Address, hostname: string): Enrichment
}

/** Addresses, the events from them, and how many of the addresses with a known domain are right. */
export interface Part {
  readonly addresses: number
  readonly events: number
  /** Addresses with one known domain. */
  readonly checked: number
  readonly this_right: number
  readonly other_right: number
}

/** The attributed addresses with one known domain. */
export interface Precision {
  readonly right: number
  readonly wrong: number
  /** 0 to 1, with its 95 % interval; null without an address. */
  readonly precision: number | null
  readonly low: number | null
  readonly high: number | null
}

export interface Comparison {
  readonly addresses: number
  readonly events: number
  /** Stored events without an address, which cannot be compared. */
  readonly without_address: number
  readonly neither: Part
  readonly only_this: Part
  readonly only_other: Part
  readonly agree: Part
  readonly differ: Part
  readonly this: Precision
  readonly other: Precision
  /** The data set that is right more often where only one is right; null when that may be chance (95 %). */
  readonly better: 'this' | 'other' | null
}

/** Compares two sets of data on stored addresses. */
export async function compare(addresses: AsyncIterable<TruthAddress>, current: Data, other: Data): Promise<Comparison> {
  const parts = { neither: new Sum(), only_this: new Sum(), only_other: new Sum(), agree: new Sum(), differ: new Sum() }
  const [ofThis, ofOther] = [new Checks(), new Checks()]
  const only = { this: 0, other: 0 }
  let withoutAddress = 0
  for await (const stored of addresses) {
    const address = parseAddress(stored.ip)
    if (address === undefined) {
      withoutAddress += stored.events
      continue
    }
    const [a, b] = [current, other].map((data) => companyOf(data.enrich(address, stored.hostname))) as [
      Attributed,
      Attributed,
    ]
    const { knownDomain } = stored
    const [rightA, rightB] = [a, b].map((company) => (knownDomain === '' ? undefined : verdictOf(company, knownDomain)))
    parts[partOf(a, b)].add(stored, rightA === 'right', rightB === 'right')
    if (rightA !== undefined) ofThis.add(rightA)
    if (rightB !== undefined) ofOther.add(rightB)
    if (rightA === 'right' && rightB !== 'right') only.this++
    if (rightB === 'right' && rightA !== 'right') only.other++
  }
  const all = Object.values(parts)
  return {
    addresses: all.reduce((sum, part) => sum + part.addresses, 0),
    events: all.reduce((sum, part) => sum + part.events, 0),
    without_address: withoutAddress,
    ...{ neither: parts.neither.part(), only_this: parts.only_this.part(), only_other: parts.only_other.part() },
    ...{ agree: parts.agree.part(), differ: parts.differ.part() },
    ...{ this: ofThis.precision(), other: ofOther.precision() },
    better: betterOf(only.this, only.other),
  }
}

function companyOf({ noise, companyId, data }: Enrichment): Attributed {
  return noise ? { companyId: '', domain: '' } : { companyId, domain: String(data.domain ?? '') }
}

function partOf(a: Attributed, b: Attributed): 'neither' | 'only_this' | 'only_other' | 'agree' | 'differ' {
  if (a.companyId === '') return b.companyId === '' ? 'neither' : 'only_other'
  if (b.companyId === '') return 'only_this'
  const isSame =
    a.companyId === b.companyId ||
    (a.companyId.includes('.') && verdictOf(b, a.companyId) === 'right') ||
    (b.companyId.includes('.') && verdictOf(a, b.companyId) === 'right')
  return isSame ? 'agree' : 'differ'
}

/** A sign test: the interval of the share must not contain one half. */
function betterOf(ofThis: number, ofOther: number): Comparison['better'] {
  const interval = wilson(ofThis / (ofThis + ofOther), ofThis + ofOther)
  if (interval === undefined || (interval.low <= 0.5 && interval.high >= 0.5)) return null
  return interval.low > 0.5 ? 'this' : 'other'
}

class Sum {
  addresses = 0
  events = 0
  #checked = 0
  #thisRight = 0
  #otherRight = 0

  add({ events, knownDomain }: TruthAddress, thisRight: boolean, otherRight: boolean): void {
    this.addresses++
    this.events += events
    if (knownDomain !== '') this.#checked++
    if (thisRight) this.#thisRight++
    if (otherRight) this.#otherRight++
  }

  part(): Part {
    const { addresses, events } = this
    return { addresses, events, checked: this.#checked, this_right: this.#thisRight, other_right: this.#otherRight }
  }
}

class Checks {
  readonly #counts: Record<Verdict, number> = { right: 0, other: 0, none: 0 }

  add(verdict: Verdict): void {
    this.#counts[verdict]++
  }

  precision(): Precision {
    const { right, other: wrong } = this.#counts
    const interval = right + wrong === 0 ? undefined : wilson(right / (right + wrong), right + wrong)
    return {
      right,
      wrong,
      precision: interval?.share ?? null,
      low: interval?.low ?? null,
      high: interval?.high ?? null,
    }
  }
}
