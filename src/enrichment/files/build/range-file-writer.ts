import { InputError } from '../../../run/errors.ts'
import { RangeIndex } from '../../addresses/range-index.ts'
import { formatWordRange, type WordRange } from '../../addresses/word-range.ts'
import { encodeRangeFile, type RangeFileHead, type RangeRecord } from '../../providers/ranges/range-file.ts'
import { DisjointRanges } from './disjoint-ranges.ts'

/**
 * Builds a range file of ranges that come in the order of their first addresses, IPv4 and IPv6 each by themselves. Of
 * ranges that overlap the one with the fewest addresses counts; of two of one size, the later.
 */
export class RangeFileWriter {
  readonly #v4 = new DisjointRanges(4)
  readonly #v6 = new DisjointRanges(6)

  /**
   * @param record number of its record
   * @throws InputError that names both ranges when one starts before the one that was inserted before it
   */
  insert(range: WordRange, record: number): void {
    const before = (range.first.length === 1 ? this.#v4 : this.#v6).add(range, record)
    if (before === undefined) return
    throw new InputError(
      `${formatWordRange(range)} comes after ${formatWordRange(before)}, and starts before it: sort the ranges by their first addresses`,
    )
  }

  /**
   * The whole file. Nothing is inserted after it.
   * @param records in the order of their numbers
   */
  toBuffer(head: Omit<RangeFileHead, 'ranges'>, records: Iterable<RangeRecord>): Buffer {
    this.#v4.finish()
    this.#v6.finish()
    const [v4, v6] = [this.#v4.pieces, this.#v6.pieces]
    const [v4Columns, v6Columns] = [v4.finish(), v6.finish()]
    const index = new RangeIndex({
      v4Starts: v4Columns.starts,
      v4Owners: v4Columns.records,
      v6Starts: v6Columns.starts,
      v6Owners: v6Columns.records,
    })
    return encodeRangeFile({ head: { ...head, ranges: v4.ranges + v6.ranges }, index, records })
  }
}
