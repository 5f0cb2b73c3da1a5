import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { InputError } from '../../../run/errors.ts'
import type { AddressRange } from '../../addresses/network.ts'
import { DEFAULT_ENRICHMENT_LIMITS, type EnrichmentLimits } from '../../limits.ts'
import { openMmdb } from '../../providers/mmdb/open.ts'
import { readMmdb } from '../../providers/mmdb/provider.ts'
import { readMapping } from '../formats/mmdb.ts'
import { writeTables } from './organisations-writer.ts'
import { openTableFile, type TableFile } from './table-file.ts'

interface CompileOptions {
  /** Paths. For the same network, the later table wins. */
  readonly tables: readonly string[]
  /** Read only when a row is about an AS. */
  readonly asSource: AsSource
  /** Milliseconds since the Unix epoch. */
  readonly builtAtMs: number
  readonly limits?: EnrichmentLimits
}

/** An MMDB made of tables. */
interface CompiledTables {
  readonly bytes: Buffer
  readonly rows: number
  /** Number of networks with a record. */
  readonly networks: number
  /** The MMDB that resolved the rows about an AS; undefined without any. */
  readonly asFile: string | undefined
  /** AS numbers without a network in that MMDB. */
  readonly asUnknown: readonly number[]
  readonly unknownColumns: readonly string[]
}

/** Rows about an AS lose against every row about addresses. */
const AS_LAYER = -1

/**
 * Compiles tables into one MMDB that gives the same answers.
 * @throws InputError with file, line and reason
 */
export async function compileTables(options: CompileOptions): Promise<CompiledTables> {
  const limits = options.limits ?? DEFAULT_ENRICHMENT_LIMITS
  const tables: TableFile[] = []
  for (const path of options.tables) tables.push(await openTableFile(path, limits))
  const { writer, rows, networks: ofAddresses, systems } = await writeTables(tables, options.builtAtMs)
  const records = new Map(systems.map(({ asn, record }) => [asn, record]))
  const announced = systems.length === 0 ? undefined : await findAsNetworks(options.asSource, new Set(records.keys()))
  const known = new Set<number>()
  for (const { range, asn } of announced?.networks ?? []) {
    known.add(asn)
    writer.insert(range, records.get(asn)!, AS_LAYER)
  }
  if (ofAddresses === 0 && known.size === 0) {
    throw new InputError(`${announced?.file} has no network of the AS numbers in the tables`)
  }
  const bytes = writer.toBuffer()
  const { networks } = await openMmdb(bytes)
  return {
    bytes,
    rows,
    networks,
    asFile: announced?.file,
    asUnknown: [...records.keys()].filter((asn) => !known.has(asn)),
    unknownColumns: [...new Set(tables.flatMap(({ unknownColumns }) => [...unknownColumns]))],
  }
}

/** The source of the networks of autonomous systems: one MMDB, or the best one of a folder. */
type AsSource = { readonly file: string } | { readonly dir: string }

/** The networks, and the file that has them. */
interface FoundAsNetworks {
  readonly file: string
  readonly networks: readonly AsNetwork[]
}

/**
 * Finds the networks of autonomous systems. In a folder it picks the MMDB with the most of them.
 * @throws InputError when no MMDB has AS numbers
 */
async function findAsNetworks(source: AsSource, wanted: ReadonlySet<number>): Promise<FoundAsNetworks> {
  const files = 'file' in source ? [source.file] : await mmdbsIn(source.dir)
  let best: FoundAsNetworks | undefined
  for (const file of files) {
    const networks = await read(file, wanted, 'file' in source)
    if (networks !== undefined && networks.length > (best?.networks.length ?? -1)) best = { file, networks }
  }
  if (best !== undefined) return best
  const where = 'file' in source ? `${source.file} has none` : `no MMDB in ${source.dir} has any`
  throw new InputError(`rows for AS numbers need an MMDB with AS numbers: ${where}; name one with --asn FILE.mmdb`)
}

async function mmdbsIn(dir: string): Promise<string[]> {
  const files = await readdir(dir)
  return files.filter((file) => /^[^.].*\.mmdb$/i.test(file)).map((file) => join(dir, file))
}

/** Skips a file of a folder that cannot be read, as the server does. */
async function read(file: string, wanted: ReadonlySet<number>, isRequired: boolean): Promise<AsNetwork[] | undefined> {
  try {
    return await asNetworksIn(await readFile(file), await readMapping(file), wanted)
  } catch (error) {
    if (!isRequired) return undefined
    const { code, message } = error as NodeJS.ErrnoException
    throw new InputError(`${file}: ${code === 'ENOENT' ? 'the file does not exist' : message}`)
  }
}

/** A network and the AS that announces it. */
interface AsNetwork {
  readonly range: AddressRange
  readonly asn: number
}

/**
 * Walks the whole tree of an MMDB for networks of autonomous systems.
 * @param mapping text of the MMDB's mapping file
 * @returns undefined when no record of the file has an AS number
 * @throws InputError when the file cannot be read
 */
async function asNetworksIn(
  bytes: Buffer,
  mapping: string | undefined,
  wanted: ReadonlySet<number>,
): Promise<AsNetwork[] | undefined> {
  const { mmdb, asnOf } = await readMmdb(bytes, mapping)
  if (!mmdb.samples.some((sample) => asnOf(sample) !== undefined)) return undefined
  const numbers = new Map<number, number | undefined>()
  const found: AsNetwork[] = []
  mmdb.tree.eachNetwork((range, record) => {
    if (!numbers.has(record)) numbers.set(record, asnOf(mmdb.decode(record)))
    const asn = numbers.get(record)
    if (asn !== undefined && wanted.has(asn)) found.push({ range, asn })
  })
  return found
}
