import { csvRows } from '../../providers/text/csv-rows.ts'
import { rangeIn, type VendorRow, vendorTable } from './vendor-table.ts'

export const CSV_ENDING = /\.csv(?:\.gz)?$/i

/** Columns that vendors have and organisation tables do not. */
const VENDOR_COLUMNS = ['as_domain', 'as_type', 'autonomous_system_number', 'continent_code', 'country_name']
/** Columns that make a table an organisation table, regardless of its other columns. */
const OWN_COLUMNS = ['business_name', 'org_name', 'industry', 'industry_category', 'classification', 'description']
/** Columns without data about the addresses. */
const RANGE_COLUMNS: ReadonlySet<string> = new Set(['network', 'start_ip', 'end_ip', 'join_key', 'range'])

/** Any other CSV with networks and columns that only vendors have, such as GeoLite2's. */
export const vendorCsv = vendorTable({
  name: 'csv',
  ending: CSV_ENDING,
  recognises(line) {
    const columns = columnsOf(line)
    return !isOwnTable(columns) && columns.has('network') && VENDOR_COLUMNS.some((column) => columns.has(column))
  },
  rows: vendorCsvRows,
})

/** Whether the columns are those of an organisation table. */
export function isOwnTable(columns: ReadonlySet<string>): boolean {
  return OWN_COLUMNS.some((column) => columns.has(column))
}

/** The names in a header, in lower case. */
export function columnsOf(header: string | undefined): ReadonlySet<string> {
  const cells = header?.split(',') ?? []
  return new Set(cells.map((cell) => cell.trim().replace(/^"|"$/g, '').toLowerCase()))
}

/** The rows of a CSV file whose addresses are in `network`, or in `start_ip` and `end_ip`. */
export async function* vendorCsvRows(text: Buffer): AsyncGenerator<VendorRow> {
  let columns: readonly string[] | undefined
  let [network, first, last] = [-1, -1, -1]
  for await (const { line, cells } of csvRows(text, true)) {
    if (columns === undefined) {
      columns = cells.map((cell) => cell.toLowerCase())
      ;[network, first, last] = [columns.indexOf('network'), columns.indexOf('start_ip'), columns.indexOf('end_ip')]
      continue
    }
    const range = rangeIn(line, network < 0 ? `${cells[first]}-${cells[last]}` : cells[network]!)
    yield { line, range, record: recordOf(columns, cells) }
  }
}

function recordOf(columns: readonly string[], cells: readonly string[]): Record<string, string> {
  // The file chooses the names, so the object must not have a prototype.
  const record: Record<string, string> = Object.create(null)
  for (let i = 0; i < columns.length; i++) {
    if (cells[i] !== '' && !RANGE_COLUMNS.has(columns[i]!)) record[columns[i]!] = cells[i]!
  }
  return record
}
