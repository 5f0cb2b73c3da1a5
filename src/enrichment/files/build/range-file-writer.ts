import { InputError } from '../../../core/run/errors.ts'
import { wordsOf } from '../../addresses/cidrs.ts'
import { type AddressRange, formatRange } from '../../addresses/network.ts'
import { RangeIndex } from '../../addresses/range-index.ts'
import { encodeRangeFile, type RangeFileHead, type RangeValue } from '../../providers/ranges/range-file.ts'
import { type Family, PieceList } from './piece-list.ts'

const V4: Family<number> = {
  all: 2 ** 32,
  next: (address) => address + 1,
  write: (address, to) => to.push(address),
}

const V6: Family<bigint> = {
  all: 1n << 128n,
  next: (address) => address + 1n,
  write(address, to) {
    for (const word of wordsOf(address)) to.push(word)
  },
}

/** A record of the writer that stored it, as a number. */
export type StoredRecord = number

/** What is stored of a range; members that are undefined are left out. */
export type RangeRecord = Readonly<Record<string, RangeValue | undefined>>

/**
 * Builds a range file of ranges that come in the order of their first addresses, IPv4 and IPv6 each by themselves. Of
 * ranges that overlap the one with the fewest addresses counts; of two of one size, the later.
 */
export class RangeFileWriter {
  readonly #records: (() => RangeRecord)[] = []
  readonly #v4 = new PieceList(V4)
  readonly #v6 = new PieceList(V6)

  /** @param record is asked for when the file is written */
  store(record: () => RangeRecord): StoredRecord {
    return this.#records.push(record) - 1
  }

  /** @throws InputError when the range starts before those that were inserted */
  insert(range: AddressRange, record: StoredRecord): void {
    const isInOrder =
      range.version === 4
        ? this.#v4.add(range.first, range.last, record)
        : this.#v6.add(range.first, range.last, record)
    if (!isInOrder) throw new InputError(`${formatRange(range)} starts before the range that is listed before it`)
  }

  /** The whole file. Nothing is inserted after it. */
  toBuffer(head: Omit<RangeFileHead, 'members' | 'ranges'>): Buffer {
    const records = this.#records.map((record) => record())
    const members = [...new Set(records.flatMap((record) => Object.keys(record)))]
    const [v4, v6] = [this.#v4.finish(), this.#v6.finish()]
    const index = new RangeIndex({
      v4Starts: v4.starts,
      v4Owners: v4.records,
      v6Starts: v6.starts,
      v6Owners: v6.records,
    })
    const ranges = this.#v4.ranges + this.#v6.ranges
    const values = records.map((record) => members.map((member) => record[member] ?? null))
    return encodeRangeFile({ head: { ...head, members, ranges }, index, records: values })
  }
}
