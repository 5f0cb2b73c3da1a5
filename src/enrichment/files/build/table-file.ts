import { readFile } from 'node:fs/promises'
import { InputError } from '../../../run/errors.ts'
import type { EnrichmentLimits } from '../../limits.ts'
import type { OrganisationRow } from '../../providers/tables/organisation-row.ts'
import { tableRows } from '../../providers/tables/provider.ts'
import { decodeText } from '../../providers/text/text-file.ts'

/** An organisation table that can be read once, row by row, because there may be millions of rows. */
export interface TableFile {
  readonly path: string
  /** Ignored columns; complete after the last row. */
  readonly unknownColumns: ReadonlySet<string>
  /** @throws InputError with file, line and reason */
  rows(): AsyncGenerator<OrganisationRow>
}

type TableFormat = 'csv' | 'ndjson'

/** The format of a table by its name; undefined for other files. */
export function tableFormatOf(path: string): TableFormat | undefined {
  return /\.(csv|ndjson)(?:\.gz)?$/i.exec(path)?.[1]?.toLowerCase() as TableFormat | undefined
}

/** @throws InputError with file and reason */
export async function openTableFile(path: string, limits: EnrichmentLimits): Promise<TableFile> {
  const format = tableFormatOf(path)
  if (format === undefined) throw new InputError(`${path}: a table is a .csv or .ndjson file, plain or .gz`)
  const named = (error: unknown) => {
    const { code, message } = error as NodeJS.ErrnoException
    if (error instanceof InputError) return new InputError(`${path}: ${message}`)
    return code === 'ENOENT' ? new InputError(`${path}: the file does not exist`) : error
  }
  let text: Buffer | undefined = await readFile(path)
    .then((bytes) => decodeText(bytes, limits.textBytesMax))
    .catch((error: unknown) => {
      throw named(error)
    })
  const unknownColumns = new Set<string>()
  return {
    path,
    unknownColumns,
    async *rows() {
      if (text === undefined) throw new Error(`${path} was read before`)
      const options = { format, text, rowsMax: limits.tableRowsMax }
      // Lets the memory be freed while the rows are processed.
      text = undefined
      try {
        yield* tableRows(options, unknownColumns)
      } catch (error) {
        throw named(error)
      }
    },
  }
}
