import { setImmediate } from 'node:timers/promises'
import { InputError } from '../../../run/errors.ts'
import { describeJsonError } from '../../../run/json-error.ts'
import { csvRows } from '../text/csv-rows.ts'
import { lineError, linesOf } from '../text/text-file.ts'
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

const LINES_AT_A_TIME = 2_000

/**
 * The rows of a table with one JSON object per line. Skips blank lines.
 * @throws InputError with the line and the reason
 */
export async function* ndjsonTableRows(text: Buffer, unknown: UnknownColumns): AsyncGenerator<NumberedRow> {
  for (const { line, text: json } of linesOf(text)) {
    if (line % LINES_AT_A_TIME === 0) await setImmediate()
    if (json.trim() !== '') yield { line, row: ndjsonRow(line, json, unknown) }
  }
}

function ndjsonRow(line: number, json: string, unknown: UnknownColumns): RawRow {
  const row: RawRow = {}
  for (const [key, value] of Object.entries(parseObject(line, json))) {
    const column = TABLE_COLUMNS.find((name) => name === key)
    if (column === undefined) note(unknown, key)
    else if (typeof value === 'string' || typeof value === 'number') {
      const cell = String(value).trim()
      if (cell !== '') row[column] = cell
    } else if (value !== null) throw lineError(line, `\`${key}\` must be text or a number`)
  }
  return row
}

function parseObject(line: number, json: string): object {
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch {
    throw lineError(line, describeJsonError(json))
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw lineError(line, 'not a JSON object')
  return value
}
