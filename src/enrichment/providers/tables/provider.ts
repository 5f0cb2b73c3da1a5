import { setImmediate } from 'node:timers/promises'
import { InputError } from '../../../run/errors.ts'
import { formatRange } from '../../addresses/network.ts'
import { type RangeEntry, RangeMap } from '../../addresses/range-map.ts'
import { PackedTexts } from '../packed-texts.ts'
import type { Provider } from '../provider.ts'
import { csvRows } from '../text/csv-rows.ts'
import { jsonObjects } from '../text/json-lines.ts'
import { lineError } from '../text/text-file.ts'
import { DomainsByName } from './domains-by-name.ts'
import { type OrganisationRow, type RawRow, readRow, TABLE_COLUMNS, type TableColumn } from './organisation-row.ts'
import { indexNames } from './organisations-by-name.ts'
import { type PackedRow, packRow } from './packed-rows.ts'
import { type PackedTable, tableOf } from './packed-table.ts'

interface TableOptions {
  readonly name: string
  readonly format: 'csv' | 'ndjson'
  /** UTF-8, decompressed. */
  readonly text: Buffer
  readonly rowsMax: number
}

/**
 * Streams the validated rows of a table.
 * @param unknown receives unknown columns
 * @throws InputError with line and reason at the first invalid row
 */
export async function* tableRows(
  { format, text, rowsMax }: Omit<TableOptions, 'name'>,
  unknown: Set<string>,
): AsyncGenerator<OrganisationRow> {
  const read = format === 'csv' ? csvTableRows : ndjsonTableRows
  let rows = 0
  for await (const { line, row } of read(text, unknown)) {
    const checked = readRow(row)
    if (typeof checked === 'string') throw lineError(line, checked)
    if (rows++ === rowsMax) throw lineError(line, `more than ${rowsMax} rows`)
    yield checked
  }
  if (rows === 0) throw new InputError('the table has no rows')
}

const ROWS_AT_A_TIME = 5_000
/** Larger tables do not match by name: the index of their names would take too long and too much memory. */
const NAMED_ROWS_MAX = 100_000

/** Yields to other work. @throws InputError as `tableRows` */
export async function loadTable({ name, ...options }: TableOptions): Promise<Provider> {
  return tableOf(name, await packTable(options))
}

/** As `loadTable`. */
export async function packTable(options: Omit<TableOptions, 'name'>): Promise<PackedTable> {
  const rows: OrganisationRow[] = []
  const unknown = new Set<string>()
  const domains = new DomainsByName()
  for await (const row of tableRows(options, unknown)) {
    rows.push(row)
    domains.learn(row.attributes)
  }
  const numbers = new Map<string, number>()
  const distinct: PackedRow[] = []
  const texts: string[] = []
  const entries: RangeEntry<number>[] = []
  const systems = new Map<number, number>()
  for (const [i, { network, attributes }] of rows.entries()) {
    if (i % ROWS_AT_A_TIME === 0) await setImmediate()
    const domain = domains.domainOf(attributes)
    const text = packRow(attributes, domain)
    let number = numbers.get(text)
    if (number === undefined) {
      number = texts.push(text) - 1
      distinct.push({ attributes, domain })
      numbers.set(text, number)
    }
    if (network.version === 'as') systems.set(network.asn, number)
    else entries.push({ range: network, value: number })
  }
  const { index } = await RangeMap.build(entries)
  const asNumbers = Uint32Array.from(systems.keys()).sort()
  return {
    records: rows.length,
    unknownColumns: [...unknown],
    index,
    networks: PackedTexts.of(entries.map(({ range }) => formatRange(range))),
    networkRows: Uint32Array.from(entries, ({ value }) => value),
    systems: asNumbers,
    systemRows: asNumbers.map((asn) => systems.get(asn)!),
    rows: PackedTexts.of(texts),
    names: rows.length > NAMED_ROWS_MAX ? undefined : indexNames(distinct),
  }
}

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
async function* csvTableRows(text: Buffer, unknown: UnknownColumns): AsyncGenerator<NumberedRow> {
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
async function* ndjsonTableRows(text: Buffer, unknown: UnknownColumns): AsyncGenerator<NumberedRow> {
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
