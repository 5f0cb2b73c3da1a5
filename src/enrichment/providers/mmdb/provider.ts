import type { Address } from '../../../pipeline/event/address.ts'
import { InputError } from '../../../run/errors.ts'
import { formatPrefix } from '../../addresses/network.ts'
import type { BoundedCache } from '../../bounded-cache.ts'
import type { Facts } from '../../facts.ts'
import { type Decoded, decodedRecords } from '../decoded-records.ts'
import type { Provider, ProviderKind } from '../provider.ts'
import { COMPILED_TYPE, readCompiled } from '../tables/compiled.ts'
import { AS_RANGES_TYPE, AsSizes, sizedReader, withSpace } from './as-sizes.ts'
import { mappedShape, parseMapping } from './mapping.ts'
import { type OpenMmdb, openMmdb } from './open.ts'
import { type AsnReader, asnReader, type RecordReader, recordReader } from './read-record.ts'
import { isUnknown, recognise, type Shape } from './recognise.ts'

interface MmdbOptions {
  readonly name: string
  readonly bytes: Buffer
  /** Text of the mapping file, if any. */
  readonly mapping: string | undefined
  /** Cached decoded records, in bytes of memory. */
  readonly recordsBytesMax: number
  readonly isDefault?: boolean
  /** The known shape of a compiled table. */
  readonly shape?: Shape | undefined
}

/** The file is intact, but its records have no known members. */
export class UnknownMmdbError extends InputError {
  override name = 'UnknownMmdbError'
  readonly databaseType: string
  readonly keys: readonly string[]

  constructor(databaseType: string, keys: readonly string[]) {
    const members = keys.length === 0 ? 'no members' : keys.join(', ')
    super(
      `not recognised: database_type "${databaseType}", records with ${members}; map them in a .mmdb.json beside it`,
    )
    this.databaseType = databaseType
    this.keys = keys
  }
}

/** @throws InputError when the file is damaged, UnknownMmdbError when its records are not recognised */
export async function loadMmdb(options: MmdbOptions): Promise<Provider> {
  const { mmdb, kind, recognisedAs, read, asnOf } = await readMmdb(options.bytes, options.mapping, options.shape)
  // A compiled table must answer like the table itself, which has no sizes.
  const isSized = mmdb.databaseType === AS_RANGES_TYPE
  const sizes = kind === 'asn' && options.shape === undefined && !isSized ? await AsSizes.of(mmdb, asnOf) : undefined
  const reader: RecordReader = isSized
    ? sizedReader(read)
    : sizes === undefined
      ? read
      : (record) => withSpace(read(record), (asn) => sizes.of(asn))
  return new MmdbProvider(options, mmdb, kind, recognisedAs, reader)
}

/** A verified file, and the readers of its records. */
interface ReadableMmdb {
  readonly mmdb: OpenMmdb
  readonly kind: ProviderKind
  readonly recognisedAs: string
  readonly read: RecordReader
  readonly asnOf: AsnReader
}

/**
 * @param mapping text of the mapping file, if any
 * @param shape as in `MmdbOptions`
 * @throws as `loadMmdb`
 */
export async function readMmdb(bytes: Buffer, mapping: string | undefined, shape?: Shape): Promise<ReadableMmdb> {
  const mmdb = await openMmdb(bytes)
  if (shape !== undefined) {
    const recognisedAs = `${shape.recognisedAs} table, compiled`
    return { mmdb, kind: shape.kind, recognisedAs, read: recordReader(shape), asnOf: asnReader(shape) }
  }
  const recognised = await recognise(mmdb.databaseType, mmdb.samples)
  const unknown = isUnknown(recognised)
  if (mapping !== undefined) {
    const shape = mappedShape(unknown ? undefined : recognised, parseMapping(mapping), mmdb.databaseType)
    const { kind, recognisedAs } = shape
    return { mmdb, kind, recognisedAs, read: recordReader(shape), asnOf: asnReader(shape) }
  }
  if (unknown) throw new UnknownMmdbError(recognised.databaseType, recognised.keys)
  const { kind, recognisedAs } = recognised
  if (mmdb.databaseType === COMPILED_TYPE) {
    return { mmdb, kind, recognisedAs, read: readCompiled, asnOf: (record) => readCompiled(record)?.evidence.asn }
  }
  return { mmdb, kind, recognisedAs, read: recordReader(recognised), asnOf: asnReader(recognised) }
}

/** A damaged record is reported when it is asked for. */
function isBlank(record: unknown, read: RecordReader): boolean {
  try {
    return read(record) === undefined
  } catch {
    return false
  }
}

class MmdbProvider implements Provider {
  readonly name: string
  readonly kind: ProviderKind
  readonly isDefault: boolean
  readonly recognisedAs: string
  readonly builtAt: Date | undefined
  readonly records: number
  readonly warnings: readonly string[] = []
  readonly isBlank: boolean
  readonly #mmdb: OpenMmdb
  readonly #read: RecordReader
  readonly #decoded: BoundedCache<number, Decoded>

  constructor(options: MmdbOptions, mmdb: OpenMmdb, kind: ProviderKind, recognisedAs: string, read: RecordReader) {
    this.name = options.name
    this.kind = kind
    this.isDefault = options.isDefault === true
    this.recognisedAs = recognisedAs
    this.builtAt = mmdb.builtAt
    this.records = mmdb.networks
    this.isBlank = mmdb.samples.every((sample) => isBlank(sample, read))
    this.#mmdb = mmdb
    this.#read = read
    this.#decoded = decodedRecords(options.recordsBytesMax)
  }

  find(address: Address): Facts | undefined {
    const record = this.#mmdb.tree.find(address)
    if (record < 0) return undefined
    const known = this.#decoded.get(record)
    if (known !== undefined) return known.facts
    const facts = this.#read(this.#mmdb.decode(record))
    this.#decoded.set(record, { facts })
    return facts
  }

  networkOf(address: Address): string | undefined {
    if (this.#mmdb.tree.find(address) < 0) return undefined
    return formatPrefix(address, this.#mmdb.tree.prefixLength)
  }
}
