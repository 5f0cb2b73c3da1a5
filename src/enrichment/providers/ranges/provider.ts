import type { Address } from '../../../pipeline/event/address.ts'
import { InputError } from '../../../run/errors.ts'
import { formatPrefix } from '../../addresses/network.ts'
import type { BoundedCache } from '../../bounded-cache.ts'
import type { Facts } from '../../facts.ts'
import { rulesDigest } from '../../rules/decided.ts'
import { type Decoded, decodedRecords } from '../decoded-records.ts'
import { sizedReader } from '../mmdb/as-sizes.ts'
import { recordReader } from '../mmdb/read-record.ts'
import { isUnknown, recognise } from '../mmdb/recognise.ts'
import type { Provider, ProviderKind } from '../provider.ts'
import { readDecidedRecord } from './decided-records.ts'
import { type OpenRangeFile, openRangeFile } from './range-file.ts'

interface RangeFileOptions {
  readonly name: string
  /** The provider keeps the buffer. */
  readonly bytes: Buffer
  /** Cached decoded records, in bytes of memory. */
  readonly recordsBytesMax: number
  readonly isDefault?: boolean
}

/** Evenly spread records by which a file is recognised. */
const SAMPLES = 200

/**
 * Loads a range file like an MMDB with the same records.
 * @throws InputError when it is damaged or its records are not recognised
 */
export async function loadRangeFile(options: RangeFileOptions): Promise<Provider> {
  const file = openRangeFile(options.bytes)
  const step = Math.ceil(file.records / SAMPLES)
  const samples = Array.from({ length: Math.ceil(file.records / step) }, (_, i) => file.decode(i * step))
  const shape = await recognise(file.head.databaseType, samples)
  if (isUnknown(shape)) throw new InputError(`not recognised: records with ${shape.keys.join(', ')}`)
  const read = sizedReader(recordReader(shape))
  const isDecided = file.head.rules === rulesDigest().text
  const factsOf = (record: number) =>
    (isDecided ? readDecidedRecord(file.values(record)) : undefined) ?? read(file.decode(record))
  return new RangeFileProvider(options, file, { ...shape, warnings: [] }, factsOf)
}

/** The ranges of a file, and a reader for its records. */
export class RangeFileProvider implements Provider {
  readonly name: string
  readonly kind: ProviderKind
  readonly isDefault: boolean
  readonly recognisedAs: string
  readonly builtAt: Date | undefined
  readonly records: number
  readonly warnings: readonly string[]
  readonly #file: OpenRangeFile
  readonly #read: (record: number) => Facts | undefined
  readonly #decoded: BoundedCache<number, Decoded>

  constructor(
    { name, isDefault, recordsBytesMax }: RangeFileOptions,
    file: OpenRangeFile,
    { kind, recognisedAs, warnings }: Pick<Provider, 'kind' | 'recognisedAs' | 'warnings'>,
    read: (record: number) => Facts | undefined,
  ) {
    const { builtAtMs, ranges } = file.head
    this.name = name
    this.kind = kind
    this.isDefault = isDefault === true
    this.recognisedAs = recognisedAs
    this.warnings = warnings
    this.builtAt = builtAtMs === 0 ? undefined : new Date(builtAtMs)
    this.records = ranges
    this.#file = file
    this.#read = read
    this.#decoded = decodedRecords(recordsBytesMax)
  }

  find(address: Address): Facts | undefined {
    const record = this.#file.index.find(address)
    if (record < 0) return undefined
    const known = this.#decoded.get(record)
    if (known !== undefined) return known.facts
    const facts = this.#read(record)
    this.#decoded.set(record, { facts })
    return facts
  }

  networkOf(address: Address): string | undefined {
    const { index } = this.#file
    return index.find(address) < 0 ? undefined : formatPrefix(address, index.prefixLengthAt(address))
  }
}
