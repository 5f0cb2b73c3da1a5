import { setImmediate } from 'node:timers/promises'
import { InputError } from '../../../core/run/errors.ts'
import { DEFAULT_ENRICHMENT_LIMITS, type EnrichmentLimits } from '../../limits.ts'
import { openMmdb } from '../../providers/mmdb/open.ts'
import { MmdbWriter } from '../../providers/mmdb/writer.ts'
import { COMPILED_TYPE, compiledRecord } from '../../providers/tables/compiled.ts'
import { domainsByName, withDomain } from '../../providers/tables/domains-by-name.ts'
import { type OrganisationRow, organisationIn } from '../../providers/tables/organisation-row.ts'
import { type AsSource, findAsNetworks } from './as-source.ts'
import { readTableFile } from './table-file.ts'

export interface CompileOptions {
  /** Paths. Where two speak of the same network, the later counts. */
  readonly tables: readonly string[]
  /** Asked only when a row is about an AS. */
  readonly asSource: AsSource
  /** Milliseconds since the Unix epoch. */
  readonly builtAtMs: number
  readonly limits?: EnrichmentLimits
}

/** An MMDB made of tables. */
export interface CompiledTables {
  readonly bytes: Buffer
  readonly rows: number
  /** Networks of the file that have a record. */
  readonly networks: number
  /** The MMDB that rows about an AS were resolved with; undefined when there are none. */
  readonly asFile: string | undefined
  /** AS numbers of which it knows no network. */
  readonly asUnknown: readonly number[]
  readonly unknownColumns: readonly string[]
}

const ROWS_AT_A_TIME = 5_000
/** Rows about an AS stand behind every row about addresses. */
const AS_LAYER = -1

/**
 * Compiles tables into one file that answers as they do, and that any reader of the format opens.
 * @throws InputError that names file, line and reason
 */
export async function compileTables(options: CompileOptions): Promise<CompiledTables> {
  const limits = options.limits ?? DEFAULT_ENRICHMENT_LIMITS
  const files = []
  for (const path of options.tables) files.push(await readTableFile(path, limits))
  const rows = files.flatMap((file) => file.rows)
  const writer = new MmdbWriter({
    databaseType: COMPILED_TYPE,
    description: { en: 'Organisations by network' },
    buildEpoch: Math.floor(options.builtAtMs / 1_000),
  })
  const systems = new Map<number, OrganisationRow>()
  const domains = await domainsByName(rows)
  const recordOf = ({ attributes, network }: OrganisationRow) =>
    compiledRecord(
      attributes,
      withDomain(organisationIn(attributes), domains),
      network.version === 'as' ? 'as' : 'address',
    )
  for (const [i, row] of rows.entries()) {
    if (i % ROWS_AT_A_TIME === 0) await setImmediate()
    if (row.network.version === 'as') systems.set(row.network.asn, row)
    else writer.insert(row.network, recordOf(row))
  }
  const announced = systems.size === 0 ? undefined : await findAsNetworks(options.asSource, new Set(systems.keys()))
  const known = new Set<number>()
  for (const { range, asn } of announced?.networks ?? []) {
    known.add(asn)
    writer.insert(range, recordOf(systems.get(asn)!), AS_LAYER)
  }
  if (systems.size === rows.length && known.size === 0) {
    throw new InputError(`${announced?.file} knows no network of the AS numbers in the tables`)
  }
  const bytes = writer.toBuffer()
  const { networks } = await openMmdb(bytes)
  return {
    bytes,
    rows: rows.length,
    networks,
    asFile: announced?.file,
    asUnknown: [...systems.keys()].filter((asn) => !known.has(asn)),
    unknownColumns: [...new Set(files.flatMap((file) => file.unknownColumns))],
  }
}
