import type { AddressRange } from '../../addresses/network.ts'
import type { MmdbValue } from '../../providers/mmdb/encode.ts'
import { MmdbWriter } from '../../providers/mmdb/writer.ts'
import { COMPILED_TYPE, compiledRecord } from '../../providers/tables/compiled.ts'
import { DomainsByName } from '../../providers/tables/domains-by-name.ts'
import { organisationIn, type RowAttributes } from '../../providers/tables/organisation-row.ts'
import type { TableFile } from './table-file.ts'

/** A row about every address of an autonomous system. */
export interface SystemRow {
  readonly asn: number
  readonly record: MmdbValue
}

/** Tables as an MMDB under construction. */
export interface WrittenTables {
  readonly writer: MmdbWriter
  readonly rows: number
  /** Rows about addresses, which are in the MMDB. */
  readonly networks: number
  /** Rows about an AS, which are not; the last one about each. */
  readonly systems: readonly SystemRow[]
}

/**
 * Writes the rows of tables into an MMDB. Where two speak of the same network, the later counts. The tables are read
 * twice: what one row calls an organisation may get its domain from any other.
 * @throws InputError that names file, line and reason
 */
export async function writeTables(tables: readonly TableFile[], builtAtMs: number): Promise<WrittenTables> {
  const domains = new DomainsByName()
  for (const table of tables) for await (const { attributes } of table.rows()) domains.learn(attributes)
  const writer = new MmdbWriter({
    databaseType: COMPILED_TYPE,
    description: { en: 'Organisations by network' },
    buildEpoch: Math.floor(builtAtMs / 1_000),
  })
  const recordOf = (attributes: RowAttributes, scope: 'as' | 'address') =>
    compiledRecord(attributes, domains.complete(organisationIn(attributes)), scope)
  const systems = new Map<number, MmdbValue>()
  let rows = 0
  let networks = 0
  for (const table of tables) {
    for await (const { network, attributes } of table.rows()) {
      rows++
      if (network.version === 'as') {
        systems.set(network.asn, recordOf(attributes, 'as'))
      } else {
        networks++
        writer.insert(network satisfies AddressRange, recordOf(attributes, 'address'))
      }
    }
  }
  return { writer, rows, networks, systems: [...systems].map(([asn, record]) => ({ asn, record })) }
}
