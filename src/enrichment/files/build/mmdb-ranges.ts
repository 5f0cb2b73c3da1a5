import { InputError } from '../../../run/errors.ts'
import { openMmdb } from '../../providers/mmdb/open.ts'
import type { RangeValue } from '../../providers/ranges/range-file.ts'
import { RangeFileWriter } from './range-file-writer.ts'

type FlatRecord = Readonly<Record<string, RangeValue>>

/**
 * Converts an MMDB with flat records to a range file.
 * @throws InputError with the reason when it is damaged, or a record has a member other than text, number or flag
 */
export async function mmdbRangeFile(bytes: Buffer, source: string): Promise<Buffer> {
  const { tree, decode, databaseType, builtAt } = await openMmdb(bytes)
  const writer = new RangeFileWriter()
  const records: FlatRecord[] = []
  const numbers = new Map<number, number>()
  const store = (pointer: number) => {
    const number = records.push(flat(decode(pointer))) - 1
    numbers.set(pointer, number)
    return number
  }
  let last = -1
  let record = -1
  tree.eachNetworkInWords((network, pointer) => {
    // Neighbours often share one record.
    if (pointer !== last) record = numbers.get(pointer) ?? store(pointer)
    last = pointer
    writer.insert(network, record)
  })
  const members = [...new Set(records.flatMap((record) => Object.keys(record)))]
  return writer.toBuffer({ source, databaseType, builtAtMs: builtAt?.getTime() ?? 0, members }, records)
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
