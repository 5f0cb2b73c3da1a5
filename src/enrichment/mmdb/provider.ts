import type { Address } from '../../core/address.ts'
import { InputError } from '../../core/errors.ts'
import { BoundedCache } from '../bounded-cache.ts'
import type { Facts } from '../facts.ts'
import { formatRange, prefixRange } from '../network.ts'
import type { Provider, ProviderKind } from '../provider.ts'
import { mappedShape, parseMapping } from './mapping.ts'
import { type OpenMmdb, openMmdb } from './open.ts'
import { type RecordReader, recordReader } from './read-record.ts'
import { isUnknown, recognise } from './recognise.ts'

/** How an MMDB is loaded. */
export interface MmdbOptions {
  readonly name: string
  readonly bytes: Buffer
  /** Text of the mapping file beside it; undefined when there is none. */
  readonly mapping: string | undefined
  /** Decoded records to keep. */
  readonly recordsMax: number
}

/** The file is whole, but its records hold nothing that is known. */
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

/** @throws InputError when the file is damaged, `UnknownMmdbError` when nobody knows its records */
export async function loadMmdb(options: MmdbOptions): Promise<Provider> {
  const mmdb = await openMmdb(options.bytes)
  const recognised = recognise(mmdb.databaseType, mmdb.samples)
  const unknown = isUnknown(recognised)
  if (options.mapping === undefined) {
    if (unknown) throw new UnknownMmdbError(recognised.databaseType, recognised.keys)
    return new MmdbProvider(options, mmdb, recognised.kind, recognised.recognisedAs, recordReader(recognised))
  }
  const shape = mappedShape(unknown ? undefined : recognised, parseMapping(options.mapping), mmdb.databaseType)
  return new MmdbProvider(options, mmdb, shape.kind, shape.recognisedAs, recordReader(shape))
}

/** What is kept of a record. */
interface Decoded {
  readonly facts: Facts | undefined
}

class MmdbProvider implements Provider {
  readonly name: string
  readonly kind: ProviderKind
  readonly recognisedAs: string
  readonly builtAt: Date | undefined
  readonly records: number
  readonly warnings: readonly string[] = []
  readonly #mmdb: OpenMmdb
  readonly #read: RecordReader
  readonly #decoded: BoundedCache<number, Decoded>

  constructor(options: MmdbOptions, mmdb: OpenMmdb, kind: ProviderKind, recognisedAs: string, read: RecordReader) {
    this.name = options.name
    this.kind = kind
    this.recognisedAs = recognisedAs
    this.builtAt = mmdb.builtAt
    this.records = mmdb.networks
    this.#mmdb = mmdb
    this.#read = read
    this.#decoded = new BoundedCache(options.recordsMax)
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
    return formatRange(prefixRange(address, this.#mmdb.tree.prefixLength))
  }
}
