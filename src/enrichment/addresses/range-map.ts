import { setImmediate } from 'node:timers/promises'
import type { Address } from '../../pipeline/event/address.ts'
import type { AddressRange } from './network.ts'
import { finished, RangeIndex, type Span } from './range-index.ts'

const SPANS_AT_A_TIME = 20_000

/** A range of addresses and its value. */
export interface RangeEntry<T> {
  readonly range: AddressRange
  readonly value: T
}

/** Finds the most specific of possibly overlapping ranges around an address: the smallest; of two equal ones, the later. */
export class RangeMap<T> {
  readonly #entries: readonly RangeEntry<T>[]
  /** Its owners are the numbers of the entries. */
  readonly index: RangeIndex

  private constructor(entries: readonly RangeEntry<T>[], index: RangeIndex) {
    this.#entries = entries
    this.index = index
  }

  /** For short lists: builds without a pause. */
  static of<T>(entries: readonly RangeEntry<T>[]): RangeMap<T> {
    return finished(RangeMap.#build(entries))
  }

  /** For lists of any length: yields to other work. */
  static async build<T>(entries: readonly RangeEntry<T>[]): Promise<RangeMap<T>> {
    const work = RangeMap.#build(entries)
    let step = work.next()
    while (step.done !== true) {
      await setImmediate()
      step = work.next()
    }
    return step.value
  }

  static *#build<T>(entries: readonly RangeEntry<T>[]): Generator<void, RangeMap<T>> {
    const v4: Span<number>[] = []
    const v6: Span<bigint>[] = []
    for (let owner = 0; owner < entries.length; owner++) {
      const { range } = entries[owner]!
      if (range.version === 4) v4.push({ first: range.first, last: range.last, owner })
      else v6.push({ first: range.first, last: range.last, owner })
      if (owner % SPANS_AT_A_TIME === SPANS_AT_A_TIME - 1) yield
    }
    return new RangeMap(entries, yield* RangeIndex.build(v4, v6))
  }

  /** Number of entries, including overlapping ones. */
  get size(): number {
    return this.#entries.length
  }

  find(address: Address): RangeEntry<T> | undefined {
    const owner = this.index.find(address)
    return owner < 0 ? undefined : this.#entries[owner]
  }
}
