import { InputError } from '../../../run/errors.ts'
import { disjointNow, RangeIndex, type Span } from '../../addresses/range-index.ts'
import {
  addressRange,
  compareWords,
  copyWords,
  emptyRange,
  formatWordRange,
  type WordRange,
  wordRange,
} from '../../addresses/word-range.ts'
import { encodeRangeFile, type RangeFileHead, type RangeRecord } from '../../providers/ranges/range-file.ts'
import { PieceList } from './piece-list.ts'

/**
 * Builds a range file. The ranges of each family must be sorted by first address. If ranges overlap, the smallest wins; of
 * two equal ones, the later.
 */
export class RangeFileWriter {
  readonly #v4 = new DisjointRanges(4)
  readonly #v6 = new DisjointRanges(6)

  /**
   * @param record number of its record
   * @throws InputError with both ranges when one starts before its predecessor
   */
  insert(range: WordRange, record: number): void {
    const before = (range.first.length === 1 ? this.#v4 : this.#v6).add(range, record)
    if (before === undefined) return
    throw new InputError(
      `${formatWordRange(range)} follows ${formatWordRange(before)} but starts before it: sort the ranges by first address`,
    )
  }

  /**
   * The whole file. Do not insert afterwards.
   * @param records in the order of their numbers
   */
  toBuffer(head: Omit<RangeFileHead, 'ranges'>, records: Iterable<RangeRecord>): Buffer {
    this.#v4.finish()
    this.#v6.finish()
    const [v4, v6] = [this.#v4.pieces, this.#v6.pieces]
    const [v4Columns, v6Columns] = [v4.finish(), v6.finish()]
    const index = RangeIndex.of({
      v4Starts: v4Columns.starts,
      v4Owners: v4Columns.records,
      v6Starts: v6Columns.starts,
      v6Owners: v6Columns.records,
    })
    return encodeRangeFile({ head: { ...head, ranges: v4.ranges + v6.ranges }, index, records })
  }
}

/**
 * Cuts ranges of one family into pieces. The ranges must be sorted by first address. A few overlap in published tables:
 * then the smallest wins; of two equal ones, the later. It buffers ranges only while they overlap.
 */
class DisjointRanges {
  readonly pieces: PieceList
  readonly #version: 4 | 6
  /** The last range; not in `pieces` yet. */
  readonly #last: WordRange
  #record = -1
  /** The last address of all buffered ranges. */
  readonly #end: Uint32Array
  /** The buffered ranges, if more than one. */
  #overlapping: Span<bigint>[] = []

  constructor(version: 4 | 6) {
    this.#version = version
    this.pieces = new PieceList(version)
    this.#last = emptyRange(version)
    this.#end = emptyRange(version).last
  }

  /**
   * @param range is copied
   * @returns the previous range if this one starts before it and so was not added
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

  /** Adds the buffered ranges to the pieces. */
  finish(): void {
    if (this.#overlapping.length > 0) this.#cut()
    else if (this.#record >= 0) this.pieces.add(this.#last, this.#record)
    this.#record = -1
  }

  #cut(): void {
    const spans = this.#overlapping
    this.#overlapping = []
    const all = 1n << (this.#version === 4 ? 32n : 128n)
    // The higher owner number wins between equal ranges.
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
