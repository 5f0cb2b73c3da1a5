import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Facts } from '../../facts.ts'
import { loadMmdb } from '../../providers/mmdb/provider.ts'
import { readCompiled } from '../../providers/tables/compiled.ts'
import { OrganisationTable } from '../../providers/tables/organisation-table.ts'
import { loadTable } from '../../providers/tables/provider.ts'
import { linesOf } from '../../providers/text/text-file.ts'
import { TimeSlice } from '../../time-slice.ts'
import { writeTables } from '../build/organisations-writer.ts'
import { openTableFile, tableFormatOf } from '../build/table-file.ts'
import { type DataFormat, openCompiled, textOf } from './format.ts'
import { NETWORKS_FILE, writeNetworks } from './vendor-table.ts'

const SYSTEMS_FILE = 'systems.ndjson'

interface About {
  readonly rows: number
  readonly unknownColumns: readonly string[]
  /** No row has a known value. Undefined from earlier versions. */
  readonly isBlank?: boolean
  /** Whether there are rows about addresses with known values. */
  readonly networks: boolean
}

/** A user's own table of organisations: every CSV and NDJSON file that no other format recognises. */
export const organisations: DataFormat<About> = {
  name: 'organisations',
  ending: /\.(?:csv|ndjson)(?:\.gz)?$/i,
  async load({ path, name, limits }) {
    const text = await textOf(path, limits)
    return await loadTable({ name, format: tableFormatOf(path)!, text, rowsMax: limits.tableRowsMax })
  },
  compiled: {
    async write(path, limits, write) {
      const table = await openTableFile(path, limits)
      const { writer, rows, isBlank, networks, systems } = await writeTables([table], Date.now())
      // A reader recognises a file by its values.
      const hasNetworks = networks > 0 && !isBlank
      if (hasNetworks) await writeNetworks(writer, write)
      // Rows about an AS stay apart: at lookup, other providers map the address to its AS.
      const lines = systems.map(
        ({ asn, record }) => `${JSON.stringify({ asn, record: { ...(record as object), scope: undefined } })}\n`,
      )
      await write(SYSTEMS_FILE, [Buffer.from(lines.join(''))])
      return { rows, unknownColumns: [...table.unknownColumns], isBlank, networks: hasNetworks }
    },
    async load(folder, about, { name, limits: { recordsBytesMax } }) {
      return new OrganisationTable({
        name,
        recognisedAs: 'organisation table, compiled',
        records: about.rows,
        unknownColumns: about.unknownColumns,
        isBlank: about.isBlank === true,
        networks: about.networks
          ? await openCompiled(folder, NETWORKS_FILE, (bytes) =>
              loadMmdb({ name, bytes, mapping: undefined, recordsBytesMax }),
            )
          : undefined,
        systems: await readSystems(join(folder, SYSTEMS_FILE)),
        organisations: undefined,
      })
    },
  },
}

const SYSTEMS_AT_A_TIME = 500

async function readSystems(path: string): Promise<Map<number, Facts>> {
  const slice = new TimeSlice()
  const systems = new Map<number, Facts>()
  for (const { line, text } of linesOf(await readFile(path), Number.POSITIVE_INFINITY)) {
    if (line % SYSTEMS_AT_A_TIME === 0 && slice.isOver) await slice.next()
    const { asn, record } = JSON.parse(text) as { asn: number; record: unknown }
    const facts = readCompiled(record)
    if (facts !== undefined) systems.set(asn, facts)
  }
  return systems
}
