import { setImmediate } from 'node:timers/promises'
import type { Address } from '../../core/event/address.ts'
import type { AddressRange } from './network.ts'

const SPANS_AT_A_TIME = 20_000

/** A range of addresses and what is said of it. */
export interface RangeEntry<T> {
  readonly range: AddressRange
  readonly value: T
}

/**
 * Finds the most specific of possibly overlapping ranges around an address: the one with the fewest addresses; of two
 * of the same size, the one that was listed later. The ranges are cut into disjoint pieces once, so that a search is
 * one binary search over numbers.
 */
export class RangeMap<T> {
  readonly #entries: readonly RangeEntry<T>[]
  readonly #v4Starts: Uint32Array
  readonly #v4Owners: Int32Array
  /** Four 32-bit words for each piece. */
  readonly #v6Starts: Uint32Array
  readonly #v6Owners: Int32Array

  private constructor(entries: readonly RangeEntry<T>[], v4: Pieces<number>, v6: Pieces<bigint>) {
    this.#entries = entries
    this.#v4Starts = Uint32Array.from(v4.starts)
    this.#v4Owners = Int32Array.from(v4.owners)
    this.#v6Starts = new Uint32Array(v6.starts.length * 4)
    v6.starts.forEach((start, i) => {
      for (let word = 0; word < 4; word++) {
        this.#v6Starts[4 * i + word] = Number((start >> BigInt(96 - 32 * word)) & 0xffff_ffffn)
      }
    })
    this.#v6Owners = Int32Array.from(v6.owners)
  }

  /** For short lists. */
  static of<T>(entries: readonly RangeEntry<T>[]): RangeMap<T> {
    const work = RangeMap.#build(entries)
    let step = work.next()
    while (step.done !== true) step = work.next()
    return step.value
  }

  /** For lists of any length: other work goes on in between. */
  static async build<T>(entries: readonly RangeEntry<T>[]): Promise<RangeMap<T>> {
    const work = RangeMap.#build(entries)
    let step = work.next()
    while (step.done !== true) {
      await setImmediate()
      step = work.next()
    }
    return step.value
  }

  /** Yields where it may pause. */
  static *#build<T>(entries: readonly RangeEntry<T>[]): Generator<void, RangeMap<T>> {
    const v4: Span<number>[] = []
    const v6: Span<bigint>[] = []
    for (let owner = 0; owner < entries.length; owner++) {
      const { range } = entries[owner]!
      if (range.version === 4) v4.push({ first: range.first, last: range.last, owner })
      else v6.push({ first: range.first, last: range.last, owner })
      if (owner % SPANS_AT_A_TIME === SPANS_AT_A_TIME - 1) yield
    }
    const pieces4 = yield* disjoint(v4, (bound) => bound + 1, 2 ** 32)
    const pieces6 = yield* disjoint(v6, (bound) => bound + 1n, 1n << 128n)
    yield
    return new RangeMap(entries, pieces4, pieces6)
  }

  /** Entries, overlapping ones included. */
  get size(): number {
    return this.#entries.length
  }

  find(address: Address): RangeEntry<T> | undefined {
    const owner = address.v6 === undefined ? this.#findV4(address.v4) : this.#findV6(address.v6)
    return owner < 0 ? undefined : this.#entries[owner]
  }

  #findV4(value: number): number {
    const starts = this.#v4Starts
    let low = 0
    let high = starts.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (starts[middle]! <= value) low = middle + 1
      else high = middle
    }
    return low === 0 ? -1 : this.#v4Owners[low - 1]!
  }

  #findV6(groups: readonly number[]): number {
    const starts = this.#v6Starts
    let low = 0
    let high = this.#v6Owners.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (startsAtOrBefore(starts, 4 * middle, groups)) low = middle + 1
      else high = middle
    }
    return low === 0 ? -1 : this.#v6Owners[low - 1]!
  }
}

function startsAtOrBefore(starts: Uint32Array, at: number, groups: readonly number[]): boolean {
  for (let word = 0; word < 4; word++) {
    const start = starts[at + word]!
    const value = groups[2 * word]! * 65_536 + groups[2 * word + 1]!
    if (start !== value) return start < value
  }
  return true
}

interface Span<Bound> {
  readonly first: Bound
  readonly last: Bound
  readonly owner: number
}

/** Where each piece starts, and the entry it belongs to; -1 for none. */
interface Pieces<Bound> {
  readonly starts: Bound[]
  readonly owners: number[]
}

/** Sweeps over all bounds; a heap of the open spans has the most specific one on top. Yields where it may pause. */
function* disjoint<Bound extends number | bigint>(
  spans: Span<Bound>[],
  next: (bound: Bound) => Bound,
  end: Bound,
): Generator<void, Pieces<Bound>> {
  const byStart = inOrder(spans, (span) => span.first)
  yield
  const byEnd = inOrder(spans, (span) => span.last)
  const open = new SpanHeap<Bound>()
  const starts: Bound[] = []
  const owners: number[] = []
  let upcoming = 0
  let ending = 0
  while (ending < byEnd.length) {
    if ((upcoming + ending) % SPANS_AT_A_TIME === 0) yield
    const behindEnd = next(byEnd[ending]!.last)
    const begin = byStart[upcoming]?.first
    const bound = begin !== undefined && begin <= behindEnd ? begin : behindEnd
    if (bound === end) break
    for (; byStart[upcoming]?.first === bound; upcoming++) open.push(byStart[upcoming]!)
    while (ending < byEnd.length && byEnd[ending]!.last < bound) ending++
    while (open.top !== undefined && open.top.last < bound) open.pop()
    const owner = open.top?.owner ?? -1
    if (owners.at(-1) === owner) continue
    starts.push(bound)
    owners.push(owner)
  }
  return { starts, owners }
}

/** Rows of a table are limited, so that a 32-bit bound and a position fit one exact double. */
const POSITIONS = 2 ** 21

/** Spans in ascending order of a bound. Numbers are sorted natively, which is several times faster. */
function inOrder<Bound extends number | bigint>(
  spans: Span<Bound>[],
  boundOf: (span: Span<Bound>) => Bound,
): Span<Bound>[] {
  if (spans.length > POSITIONS || typeof spans[0]?.first !== 'number') {
    return [...spans].sort((a, b) => compare(boundOf(a), boundOf(b)))
  }
  const keys = Float64Array.from(spans, (span, position) => Number(boundOf(span)) * POSITIONS + position).sort()
  return Array.from(keys, (key) => spans[key % POSITIONS]!)
}

function compare<Bound extends number | bigint>(a: Bound, b: Bound): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** A binary heap with the span of the fewest addresses on top. */
class SpanHeap<Bound extends number | bigint> {
  readonly #spans: Span<Bound>[] = []

  get top(): Span<Bound> | undefined {
    return this.#spans[0]
  }

  push(span: Span<Bound>): void {
    const spans = this.#spans
    let at = spans.push(span) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!isMoreSpecific(span, spans[parent]!)) break
      spans[at] = spans[parent]!
      at = parent
    }
    spans[at] = span
  }

  pop(): void {
    const spans = this.#spans
    const last = spans.pop()
    if (last === undefined || spans.length === 0) return
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= spans.length) break
      if (child + 1 < spans.length && isMoreSpecific(spans[child + 1]!, spans[child]!)) child++
      if (!isMoreSpecific(spans[child]!, last)) break
      spans[at] = spans[child]!
      at = child
    }
    spans[at] = last
  }
}

function isMoreSpecific<Bound extends number | bigint>(a: Span<Bound>, b: Span<Bound>): boolean {
  const sizeA = (a.last as number) - (a.first as number)
  const sizeB = (b.last as number) - (b.first as number)
  return sizeA === sizeB ? a.owner > b.owner : sizeA < sizeB
}
