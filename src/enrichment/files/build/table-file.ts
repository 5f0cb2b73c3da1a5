import { readFile } from 'node:fs/promises'
import { InputError } from '../../../core/run/errors.ts'
import type { EnrichmentLimits } from '../../limits.ts'
import type { OrganisationRow } from '../../providers/tables/organisation-row.ts'
import { readTable } from '../../providers/tables/provider.ts'
import { decodeText } from '../../providers/text/text-file.ts'

/** The rows of an organisation table, and the columns that were passed over. */
export interface TableFile {
  readonly path: string
  readonly rows: readonly OrganisationRow[]
  readonly unknownColumns: readonly string[]
}

/** @throws InputError that names the file, the line and the reason */
export async function readTableFile(path: string, limits: EnrichmentLimits): Promise<TableFile> {
  const format = /\.(csv|ndjson)(?:\.gz)?$/i.exec(path)?.[1]?.toLowerCase()
  if (format === undefined) throw new InputError(`${path}: a table is a .csv or .ndjson file, plain or .gz`)
  try {
    const text = await decodeText(await readFile(path), limits.textBytesMax)
    const { rows, unknown } = await readTable({
      format: format as 'csv' | 'ndjson',
      text,
      rowsMax: limits.tableRowsMax,
    })
    return { path, rows, unknownColumns: unknown }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (error instanceof InputError) throw new InputError(`${path}: ${message}`)
    if (code === 'ENOENT') throw new InputError(`${path}: there is no such file`)
    throw error
  }
}
