import { InputError } from '../../../run/errors.ts'
import { RangeIndex } from '../../addresses/range-index.ts'
import { formatWordRange, type WordRange } from '../../addresses/word-range.ts'
import { encodeRangeFile, type RangeFileHead, type RangeRecord } from '../../providers/ranges/range-file.ts'
import { DisjointRanges } from './disjoint-ranges.ts'

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
