import type { Address } from '../../pipeline/event/address.ts'
import { firstAtLeast } from '../columns.ts'
import { wordsOf } from './cidrs.ts'
import { v6Number } from './network.ts'

const SPANS_AT_A_TIME = 20_000

/** Numbers of owners; -1 for a gap. Half the memory when all fit into 16 bits. */
export type Owners = Int32Array | Int16Array

/** Disjoint pieces of ranges as columns: the start of each piece, and its owner. A piece ends where the next one starts. */
export interface RangeColumns {
  readonly v4Starts: Uint32Array
  readonly v4Owners: Owners
  /** The upper 64 bits of each start as two 32-bit words, the highest first. */
  readonly v6Starts: Uint32Array
  readonly v6Owners: Owners
  /** Numbers of the few pieces whose lower 64 bits of the start are not zero, in ascending order. */
  readonly v6Inner: Uint32Array
  /** The lower 64 bits of their starts, as two words each. */
  readonly v6InnerStarts: Uint32Array
}

/** As `RangeColumns`, with four words for each IPv6 start, the highest first. */
interface WideColumns {
  readonly v4Starts: Uint32Array
  readonly v4Owners: Int32Array
  readonly v6Starts: Uint32Array
  readonly v6Owners: Int32Array
}

/**
 * Finds the most specific of possibly overlapping ranges around an address: the smallest one, or, of two equal ones, the
 * one with the higher owner number. The ranges are cut into disjoint pieces once, so that a lookup is a binary search.
 */
export class RangeIndex {
  readonly columns: RangeColumns

  constructor(columns: RangeColumns) {
    this.columns = columns
  }

  /** Takes as little memory as the pieces allow: every process holds the default data. */
  static of({ v4Starts, v4Owners, v6Starts, v6Owners }: WideColumns): RangeIndex {
    const isNarrow = [v4Owners, v6Owners].every((owners) => owners.every((owner) => owner <= OWNER_16_BITS_MAX))
    const narrowed = (owners: Int32Array) => (isNarrow ? Int16Array.from(owners) : owners)
    return new RangeIndex({
      v4Starts,
      v4Owners: narrowed(v4Owners),
      v6Owners: narrowed(v6Owners),
      ...halves(v6Starts),
    })
  }

  /** Yields where the caller may pause. */
  static *build(v4: Span<number>[], v6: Span<bigint>[]): Generator<void, RangeIndex> {
    const pieces4 = yield* disjoint(v4, (bound) => bound + 1, 2 ** 32)
    const pieces6 = yield* disjoint(v6, (bound) => bound + 1n, 1n << 128n)
    yield
    const v6Starts = new Uint32Array(4 * pieces6.starts.length)
    for (let i = 0; i < pieces6.starts.length; i++) v6Starts.set(wordsOf(pieces6.starts[i]!), 4 * i)
    return RangeIndex.of({
      v4Starts: Uint32Array.from(pieces4.starts),
      v4Owners: Int32Array.from(pieces4.owners),
      v6Starts,
      v6Owners: Int32Array.from(pieces6.owners),
    })
  }

  /** The owner of an address; -1 for none. */
  find(address: Address): number {
    const { v4Owners, v6Owners } = this.columns
    const piece = address.v6 === undefined ? this.#pieceOfV4(address.v4) : this.#pieceOfV6(address.v6)
    if (piece < 0) return -1
    return address.v6 === undefined ? v4Owners[piece]! : v6Owners[piece]!
  }

  /** Prefix length of the largest CIDR around an address that fits into its piece. */
  prefixLengthAt({ v4, v6 }: Address): number {
    // The CIDR must contain neither the address before the piece nor the one after it.
    if (v6 === undefined) {
      const { v4Starts } = this.columns
      const piece = this.#pieceOfV4(v4)
      const start = v4Starts[piece] ?? 0
      const next = v4Starts[piece + 1]
      const before = start === 0 ? -1 : Math.clz32(v4 ^ (start - 1))
      const after = next === undefined ? -1 : Math.clz32(v4 ^ next)
      return Math.max(before, after, 0) + 1
    }
    const piece = this.#pieceOfV6(v6)
    const value = v6Number(v6)
    const next = this.#startOfV6(piece + 1)
    const start = this.#startOfV6(piece) ?? 0n
    const before = start === 0n ? -1 : bitsShared(value, start - 1n)
    const after = next === undefined ? -1 : bitsShared(value, next)
    return Math.max(before, after, 0) + 1
  }

  #startOfV6(piece: number): bigint | undefined {
    const { v6Starts } = this.columns
    if (piece < 0 || 2 * piece >= v6Starts.length) return undefined
    const inner = this.#innerOf(piece)
    const { v6InnerStarts } = this.columns
    const lower = inner < 0 ? [0, 0] : v6InnerStarts.subarray(2 * inner, 2 * inner + 2)
    let start = 0n
    for (const word of [v6Starts[2 * piece]!, v6Starts[2 * piece + 1]!, ...lower]) start = (start << 32n) | BigInt(word)
    return start
  }

  #pieceOfV4(value: number): number {
    return firstAtLeast(this.columns.v4Starts, value + 1) - 1
  }

  #pieceOfV6(groups: readonly number[]): number {
    const { v6Owners } = this.columns
    let low = 0
    let high = v6Owners.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#startsAtOrBefore(middle, groups)) low = middle + 1
      else high = middle
    }
    return low - 1
  }

  #startsAtOrBefore(piece: number, groups: readonly number[]): boolean {
    const { v6Starts, v6InnerStarts } = this.columns
    for (let word = 0; word < 2; word++) {
      const start = v6Starts[2 * piece + word]!
      const value = wordAt(groups, word)
      if (start !== value) return start < value
    }
    const inner = this.#innerOf(piece)
    if (inner < 0) return true
    const start = v6InnerStarts[2 * inner]!
    const value = wordAt(groups, 2)
    return start === value ? v6InnerStarts[2 * inner + 1]! <= wordAt(groups, 3) : start < value
  }

  /** Position of a piece in `v6Inner`; -1 when its start has no lower bits. */
  #innerOf(piece: number): number {
    const { v6Inner } = this.columns
    const at = firstAtLeast(v6Inner, piece)
    return v6Inner[at] === piece ? at : -1
  }
}

/** Highest owner in 16 bits. */
const OWNER_16_BITS_MAX = 0x7fff

/** Splits starts of four words each. */
function halves(starts: Uint32Array): Pick<RangeColumns, 'v6Starts' | 'v6Inner' | 'v6InnerStarts'> {
  const pieces = starts.length / 4
  const v6Starts = new Uint32Array(2 * pieces)
  const inner: number[] = []
  const innerStarts: number[] = []
  for (let piece = 0; piece < pieces; piece++) {
    const at = 4 * piece
    v6Starts[2 * piece] = starts[at]!
    v6Starts[2 * piece + 1] = starts[at + 1]!
    if (starts[at + 2] === 0 && starts[at + 3] === 0) continue
    inner.push(piece)
    innerStarts.push(starts[at + 2]!, starts[at + 3]!)
  }
  return { v6Starts, v6Inner: Uint32Array.from(inner), v6InnerStarts: Uint32Array.from(innerStarts) }
}

function wordAt(groups: readonly number[], word: number): number {
  return groups[2 * word]! * 65_536 + groups[2 * word + 1]!
}

/** Length of the common prefix of two numbers of 128 bits. */
function bitsShared(a: bigint, b: bigint): number {
  const difference = a ^ b
  return difference === 0n ? 128 : 128 - difference.toString(2).length
}

/** Addresses from `first` to `last`, both inclusive, and the number of their owner. */
export interface Span<Bound extends number | bigint> {
  readonly first: Bound
  readonly last: Bound
  readonly owner: number
}

/** The start and the owner of each piece; -1 for a gap. */
interface Pieces<Bound> {
  readonly starts: Bound[]
  readonly owners: number[]
}

/** Cuts a few spans into pieces. @param next returns the bound after another @param end the bound after the last address */
export function disjointNow<Bound extends number | bigint>(
  spans: Span<Bound>[],
  next: (bound: Bound) => Bound,
  end: Bound,
): Pieces<Bound> {
  return finished(disjoint(spans, next, end))
}

/** Runs work to its end without a pause. */
export function finished<T>(work: Generator<void, T>): T {
  let step = work.next()
  while (step.done !== true) step = work.next()
  return step.value
}

/** Sweeps over all bounds. A heap of the open spans has the most specific one on top. Yields where the caller may pause. */
function* disjoint<Bound extends number | bigint>(
  spans: Span<Bound>[],
  next: (bound: Bound) => Bound,
  end: Bound,
): Generator<void, Pieces<Bound>> {
  if (isInOrder(spans)) return piecesInOrder(spans, next, end)
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
    const afterEnd = next(byEnd[ending]!.last)
    const begin = byStart[upcoming]?.first
    const bound = begin !== undefined && begin <= afterEnd ? begin : afterEnd
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

/** Whether each span starts after the one before it ends. */
function isInOrder<Bound extends number | bigint>(spans: readonly Span<Bound>[]): boolean {
  for (let i = 1; i < spans.length; i++) if (spans[i]!.first <= spans[i - 1]!.last) return false
  return true
}

function piecesInOrder<Bound extends number | bigint>(
  spans: readonly Span<Bound>[],
  next: (bound: Bound) => Bound,
  end: Bound,
): Pieces<Bound> {
  const starts: Bound[] = []
  const owners: number[] = []
  for (const [i, { first, last, owner }] of spans.entries()) {
    starts.push(first)
    owners.push(owner)
    const after = next(last)
    if (after === end || spans[i + 1]?.first === after) continue
    starts.push(after)
    owners.push(-1)
  }
  return { starts, owners }
}

/** A 32-bit bound and a position below this limit fit into one exact double. */
const POSITIONS = 2 ** 21

/** Spans in ascending order of a bound. Sorting a `Float64Array` is several times faster than a comparator. */
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

/** A binary heap with the smallest span on top. */
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
