import { InputError } from '../../../core/run/errors.ts'
import type { AddressRange } from '../../addresses/network.ts'
import { openMmdb } from '../../providers/mmdb/open.ts'
import type { RangeValue } from '../../providers/ranges/range-file.ts'
import { RangeFileWriter, type StoredRecord } from './range-file-writer.ts'

type FlatRecord = Readonly<Record<string, RangeValue>>

/**
 * Makes a range file of an MMDB with flat records.
 * @throws InputError with the reason when it is damaged, or its records hold more than texts, numbers and flags
 */
export async function mmdbRangeFile(bytes: Buffer, source: string): Promise<Buffer> {
  const { tree, decode, databaseType, builtAt } = await openMmdb(bytes)
  const writer = new RangeFileWriter()
  const stored = new Map<number, StoredRecord>()
  const store = (pointer: number) => {
    const record = flat(decode(pointer))
    const number = writer.store(() => record)
    stored.set(pointer, number)
    return number
  }
  // The networks come in order, and many are halves of what has one record.
  let range: AddressRange | undefined
  let last = -1
  tree.eachNetwork((network, pointer) => {
    if (pointer === last && range !== undefined && isNext(range, network)) {
      range = { ...range, last: network.last } as AddressRange
      return
    }
    if (range !== undefined) writer.insert(range, stored.get(last) ?? store(last))
    range = network
    last = pointer
  })
  if (range !== undefined) writer.insert(range, stored.get(last) ?? store(last))
  return writer.toBuffer({ source, databaseType, builtAtMs: builtAt?.getTime() ?? 0 })
}

function isNext(range: AddressRange, next: AddressRange): boolean {
  return range.version === 4 ? next.first === range.last + 1 : next.first === range.last + 1n
}

function flat(record: unknown): FlatRecord {
  const isFlat =
    typeof record === 'object' &&
    record !== null &&
    !Array.isArray(record) &&
    Object.values(record).every((value) => ['string', 'number', 'boolean'].includes(typeof value))
  if (!isFlat) throw new InputError(`a record is not flat: ${JSON.stringify(record)?.slice(0, 100)}`)
  return record as FlatRecord
}
