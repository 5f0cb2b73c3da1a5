import { InputError } from '../../../run/errors.ts'
import { addressRange, type WordRange } from '../../addresses/word-range.ts'
import { AS_RANGES_TYPE, spaceMembers } from '../../providers/mmdb/as-sizes.ts'
import { type AsSpace, SpaceCounts } from '../../providers/mmdb/as-space.ts'
import { MmdbWriter } from '../../providers/mmdb/writer.ts'
import type { RangeValue } from '../../providers/ranges/range-file.ts'
import { lineError } from '../../providers/text/text-file.ts'
import { eachAsRange } from './as-range-rows.ts'
import { RangeFileWriter } from './range-file-writer.ts'

/** @throws InputError when it cannot take the range */
type TakeRange = (range: WordRange, record: number) => void

/** Members of a record. */
type AsRecord = Readonly<Record<string, Exclude<RangeValue, null> | undefined>>

/**
 * Compiles ranges of autonomous systems (`eachAsRange`) into an MMDB with the members of GeoLite2-ASN. It adds the
 * address space of each AS, so that loading need not count.
 * @throws InputError with the line and the reason
 */
export async function compileAsRanges(texts: readonly Buffer[], builtAtMs: number, source: string): Promise<Buffer> {
  const writer = new MmdbWriter({
    databaseType: AS_RANGES_TYPE,
    description: { en: `Autonomous systems by network, of ${source}` },
    buildEpoch: Math.floor(builtAtMs / 1_000),
  })
  const records = new AsRecords()
  const stored: ReturnType<MmdbWriter['storeLater']>[] = []
  await readRanges(texts, records, (range, record) => {
    if (record === stored.length) stored.push(writer.storeLater(() => membersOf(records, record)))
    writer.insertStored(addressRange(range), stored[record]!)
  })
  return writer.toBuffer()
}

/** As `compileAsRanges`, into a range file with the same records, in a tenth of the time. */
export async function asRangeFile(texts: readonly Buffer[], builtAtMs: number, source: string): Promise<Buffer> {
  const writer = new RangeFileWriter()
  const records = new AsRecords()
  await readRanges(texts, records, (range, record) => writer.insert(range, record))
  const members = Object.keys(membersOf(records, 0))
  return writer.toBuffer({ source, databaseType: AS_RANGES_TYPE, builtAtMs, members }, allOf(records))
}

async function readRanges(texts: readonly Buffer[], records: AsRecords, take: TakeRange): Promise<void> {
  for (const text of texts) {
    await eachAsRange(text, (range, asn, name, line) => {
      const record = records.add(asn, name, range)
      try {
        take(range, record)
      } catch (error) {
        throw error instanceof InputError ? lineError(line, error.message) : error
      }
    })
  }
  if (records.count === 0) throw new InputError('the file holds no ranges')
}

function* allOf(records: AsRecords): Generator<AsRecord> {
  for (let record = 0; record < records.count; record++) yield membersOf(records, record)
}

function membersOf(records: AsRecords, record: number): AsRecord {
  const name = records.name(record)
  return {
    autonomous_system_number: records.asn(record),
    autonomous_system_organization: name === '' ? undefined : name,
    ...spaceMembers(records.space(record)),
  }
}

/** More names than a text can hold. */
const NAMES_MAX = 2 ** 31

/**
 * Collects a record for each AS number and name, and the address space of each AS. It keeps columns, like
 * `SpaceCounts`.
 */
class AsRecords {
  readonly #asns: number[] = []
  readonly #names: string[] = []
  readonly #systems: number[] = []
  readonly #systemOf = new Map<number, number>()
  readonly #nameNumbers = new Map<string, number>()
  /** Records by AS and number of the name. */
  readonly #recordOf = new Map<number, number>()
  /** The last record of each AS, because most have one name. */
  readonly #lastRecords: number[] = []
  readonly #spaces = new SpaceCounts()

  /** Number of records. They are numbered from 0. */
  get count(): number {
    return this.#asns.length
  }

  /**
   * Counts a range.
   * @param name `''` for none
   * @returns the number of its record
   */
  add(asn: number, name: string, { first, last }: WordRange): number {
    const system = this.#systemOf.get(asn) ?? this.#addSystem(asn)
    if (first.length === 1) this.#spaces.addV4(system, first[0]!, last[0]!)
    else this.#spaces.addV6(system)
    const before = this.#lastRecords[system]!
    if (before >= 0 && this.#names[before] === name) return before
    const record = this.#find(system, asn, name)
    this.#lastRecords[system] = record
    return record
  }

  asn(record: number): number {
    return this.#asns[record]!
  }

  /** `''` for none. */
  name(record: number): string {
    return this.#names[record]!
  }

  /** The address space of the AS. Call it after all ranges were added. */
  space(record: number): AsSpace {
    return this.#spaces.of(this.#systems[record]!)
  }

  #addSystem(asn: number): number {
    const system = this.#spaces.add()
    this.#lastRecords.push(-1)
    this.#systemOf.set(asn, system)
    return system
  }

  #find(system: number, asn: number, name: string): number {
    let number = this.#nameNumbers.get(name)
    if (number === undefined) {
      number = this.#nameNumbers.size
      this.#nameNumbers.set(name, number)
    }
    const key = system * NAMES_MAX + number
    let record = this.#recordOf.get(key)
    if (record === undefined) {
      record = this.#asns.push(asn) - 1
      this.#names.push(name)
      this.#systems.push(system)
      this.#recordOf.set(key, record)
    }
    return record
  }
}
