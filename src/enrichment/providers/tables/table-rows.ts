import { InputError } from '../../../run/errors.ts'
import { csvRows } from '../text/csv-rows.ts'
import { jsonObjects } from '../text/json-lines.ts'
import { lineError } from '../text/text-file.ts'
import { type RawRow, TABLE_COLUMNS, type TableColumn } from './organisation-row.ts'

/** A row and its line number. */
interface NumberedRow {
  readonly line: number
  readonly row: RawRow
}

/** Receives the names of up to `UNKNOWN_COLUMNS_MAX` unknown columns. */
type UnknownColumns = Set<string>

const UNKNOWN_COLUMNS_MAX = 20

/**
 * The rows of a table with a header.
 * @throws InputError with the line and the reason
 */
export async function* csvTableRows(text: Buffer, unknown: UnknownColumns): AsyncGenerator<NumberedRow> {
  let columns: readonly (TableColumn | undefined)[] | undefined
  for await (const { line, cells } of csvRows(text, true)) {
    if (columns === undefined) {
      columns = header(line, cells, unknown)
      continue
    }
    const row: RawRow = {}
    for (let i = 0; i < columns.length; i++) {
      const column = columns[i]
      const cell = cells[i]!.trim()
      if (column !== undefined && cell !== '') row[column] = cell
    }
    yield { line, row }
  }
  if (columns === undefined) throw new InputError('the file has no header')
}

function header(line: number, cells: readonly string[], unknown: UnknownColumns): (TableColumn | undefined)[] {
  const names = cells.map((cell) => cell.toLowerCase())
  const columns = names.map((name) => TABLE_COLUMNS.find((column) => column === name))
  if (!columns.includes('network')) throw lineError(line, `the header has no column "network": ${cells.join(', ')}`)
  names.forEach((name, i) => {
    if (names.indexOf(name) !== i) throw lineError(line, `the header has the column "${name}" twice`)
    if (columns[i] === undefined) note(unknown, name)
  })
  return columns
}

function note(unknown: UnknownColumns, name: string): void {
  if (unknown.size < UNKNOWN_COLUMNS_MAX) unknown.add(name)
}

/**
 * The rows of a table with one JSON object per line. Skips blank lines.
 * @throws InputError with the line and the reason
 */
export async function* ndjsonTableRows(text: Buffer, unknown: UnknownColumns): AsyncGenerator<NumberedRow> {
  for await (const { line, object } of jsonObjects(text)) {
    const row: RawRow = {}
    for (const [key, value] of Object.entries(object)) {
      const column = TABLE_COLUMNS.find((name) => name === key)
      if (column === undefined) note(unknown, key)
      else if (typeof value === 'string' || typeof value === 'number') {
        const cell = String(value).trim()
        if (cell !== '') row[column] = cell
      } else if (value !== null) throw lineError(line, `\`${key}\` must be text or a number`)
    }
    yield { line, row }
  }
}
