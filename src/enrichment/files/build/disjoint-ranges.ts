import { disjointNow, type Span } from '../../addresses/range-index.ts'
import {
  addressRange,
  compareWords,
  copyWords,
  emptyRange,
  type WordRange,
  wordRange,
} from '../../addresses/word-range.ts'
import { PieceList } from './piece-list.ts'

/**
 * Cuts ranges of one family, which come in the order of their first addresses, into pieces. Where they overlap, as a few
 * in published tables do, the one with the fewest addresses counts; of two of one size, the later. It holds ranges only
 * while they overlap.
 */
export class DisjointRanges {
  readonly pieces: PieceList
  readonly #version: 4 | 6
  /** The last range, which is not in `pieces` yet. */
  readonly #last: WordRange
  #record = -1
  /** The last address of all ranges that are not in `pieces` yet. */
  readonly #end: Uint32Array
  /** These ranges, when there is more than the last one. */
  #overlapping: Span<bigint>[] = []

  constructor(version: 4 | 6) {
    this.#version = version
    this.pieces = new PieceList(version)
    this.#last = emptyRange(version)
    this.#end = emptyRange(version).last
  }

  /**
   * @param range is copied
   * @returns the range before it when it starts before that one; it is not added then
   */
  add(range: WordRange, record: number): WordRange | undefined {
    if (this.#record >= 0 && compareWords(range.first, this.#end) <= 0) {
      if (compareWords(range.first, this.#last.first) < 0) return this.#last
      if (this.#overlapping.length === 0) this.#overlapping.push(spanOf(this.#last, this.#record))
      this.#overlapping.push(spanOf(range, record))
    } else {
      this.finish()
      copyWords(range.last, this.#end)
    }
    if (compareWords(range.last, this.#end) > 0) copyWords(range.last, this.#end)
    copyWords(range.first, this.#last.first)
    copyWords(range.last, this.#last.last)
    this.#record = record
    return undefined
  }

  /** Adds what is left to the pieces. */
  finish(): void {
    if (this.#overlapping.length > 0) this.#cut()
    else if (this.#record >= 0) this.pieces.add(this.#last, this.#record)
    this.#record = -1
  }

  #cut(): void {
    const spans = this.#overlapping
    this.#overlapping = []
    const all = 1n << (this.#version === 4 ? 32n : 128n)
    // Of two of one size the higher number counts.
    const numbered = spans.map((span, owner) => ({ ...span, owner }))
    const { starts, owners } = disjointNow(numbered, (bound) => bound + 1n, all)
    for (const [i, owner] of owners.entries()) {
      if (owner >= 0) this.pieces.add(this.#rangeOf(starts[i]!, (starts[i + 1] ?? all) - 1n), spans[owner]!.owner)
    }
  }

  #rangeOf(first: bigint, last: bigint): WordRange {
    return this.#version === 4
      ? wordRange({ version: 4, first: Number(first), last: Number(last) })
      : wordRange({ version: 6, first, last })
  }
}

function spanOf(range: WordRange, owner: number): Span<bigint> {
  const { first, last } = addressRange(range)
  return { first: BigInt(first), last: BigInt(last), owner }
}
