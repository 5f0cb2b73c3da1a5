import type { Scope } from '../../facts.ts'
import type { MmdbValue } from '../../providers/mmdb/encode.ts'
import { MmdbWriter } from '../../providers/mmdb/writer.ts'
import { COMPILED_TYPE, compiledRecord } from '../../providers/tables/compiled.ts'
import { DomainsByName } from '../../providers/tables/domains-by-name.ts'
import type { RowAttributes } from '../../providers/tables/organisation-row.ts'
import type { TableFile } from './table-file.ts'

/** A row about every address of an autonomous system. */
interface SystemRow {
  readonly asn: number
  readonly record: MmdbValue
}

interface WrittenTables {
  readonly writer: MmdbWriter
  readonly rows: number
  /** No row has a known value. */
  readonly isBlank: boolean
  /** Number of rows about addresses; the writer has them. */
  readonly networks: number
  /** The last row about each AS; the writer does not have them. */
  readonly systems: readonly SystemRow[]
}

/**
 * Writes the rows of tables into an MMDB. For the same network, the later row wins.
 * @throws InputError with file, line and reason
 */
export async function writeTables(tables: readonly TableFile[], builtAtMs: number): Promise<WrittenTables> {
  const writer = new MmdbWriter({
    databaseType: COMPILED_TYPE,
    description: { en: 'Organisations by network' },
    buildEpoch: Math.floor(builtAtMs / 1_000),
  })
  const domains = new DomainsByName()
  const recordOf = (attributes: RowAttributes, scope: Scope) =>
    compiledRecord(attributes, domains.domainOf(attributes), scope)
  const systems = new Map<number, RowAttributes>()
  let rows = 0
  let networks = 0
  let isBlank = true
  for (const table of tables) {
    for await (const { network, attributes } of table.rows()) {
      rows++
      isBlank &&= Object.keys(attributes).length === 0
      domains.learn(attributes)
      if (network.version === 'as') {
        systems.set(network.asn, attributes)
        continue
      }
      networks++
      // A later row may still bring the domain of this name.
      if (domains.isSettled(attributes)) {
        writer.insert(network, recordOf(attributes, 'address'))
      } else {
        writer.insertStored(
          network,
          writer.storeLater(() => recordOf(attributes, 'address')),
        )
      }
    }
  }
  const ofSystems = [...systems].map(([asn, attributes]) => ({ asn, record: recordOf(attributes, 'as') }))
  return { writer, rows, isBlank, networks, systems: ofSystems }
}
