import { InputError } from '../../../run/errors.ts'
import { DEFAULT_ENRICHMENT_LIMITS, type EnrichmentLimits } from '../../limits.ts'
import { openMmdb } from '../../providers/mmdb/open.ts'
import { type AsSource, findAsNetworks } from './as-source.ts'
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
