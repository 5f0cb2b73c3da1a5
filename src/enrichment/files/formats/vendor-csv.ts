import { csvRows } from '../../providers/text/csv-rows.ts'
import { jsonObjects, objectIn } from '../../providers/text/json-lines.ts'
import { firstContentLine, lineError } from '../../providers/text/text-file.ts'
import { rangeBetween, rangeIn, type VendorRow, vendorTable } from './vendor-table.ts'

/** CSV, or an object per line: IPinfo names the latter `.json.gz`. */
export const VENDOR_ENDING = /\.(?:csv|ndjson|json)(?:\.gz)?$/i

/** Columns that vendors have and organisation tables do not. */
const VENDOR_COLUMNS = ['as_domain', 'as_type', 'autonomous_system_number', 'continent_code', 'country_name']
/** Columns that make a table an organisation table, regardless of its other columns. */
const OWN_COLUMNS = ['business_name', 'org_name', 'industry', 'industry_category', 'classification', 'description']
/** How databases export NULL. */
const NULL = '\\N'
/** Columns without data about the addresses. */
const RANGE_COLUMNS: ReadonlySet<string> = new Set(['network', 'start_ip', 'end_ip', 'join_key', 'range'])

/** Any other table with networks and columns that only vendors have, such as GeoLite2's. */
export const vendorCsv = vendorTable({
  name: 'csv',
  ending: VENDOR_ENDING,
  recognises(line) {
    const columns = columnsOf(line)
    return !isOwnTable(columns) && columns.has('network') && VENDOR_COLUMNS.some((column) => columns.has(column))
  },
  rows: vendorRows,
})

/** Whether the columns are those of an organisation table. */
export function isOwnTable(columns: ReadonlySet<string>): boolean {
  return OWN_COLUMNS.some((column) => columns.has(column))
}

/** The names in a header, or the keys of an object, in lower case. @param line the first of a table */
export function columnsOf(line: string | undefined): ReadonlySet<string> {
  const object = line?.startsWith('{') ? objectIn(line) : undefined
  const cells = object === undefined ? (line?.split(',') ?? []) : Object.keys(object)
  return new Set(cells.map((cell) => cell.trim().replace(/^"|"$/g, '').toLowerCase()))
}

/** The rows of a table whose addresses are in `network`, or in `start_ip` and `end_ip`. */
export function vendorRows(text: Buffer): AsyncGenerator<VendorRow> {
  return firstContentLine(text)?.startsWith('{') ? jsonRows(text) : csvTableRows(text)
}

async function* jsonRows(text: Buffer): AsyncGenerator<VendorRow> {
  for await (const { line, object } of jsonObjects(text)) {
    const record = newRecord()
    for (const key in object) put(record, key.toLowerCase(), object[key])
    const { network = `${object.start_ip ?? ''}-${object.end_ip ?? ''}` } = object
    if (typeof network !== 'string' || network === '-') throw lineError(line, '`network` is missing')
    yield { line, range: rangeIn(line, network), record }
  }
}

async function* csvTableRows(text: Buffer): AsyncGenerator<VendorRow> {
  let columns: readonly string[] | undefined
  let [network, first, last] = [-1, -1, -1]
  for await (const { line, cells } of csvRows(text, true)) {
    if (columns === undefined) {
      columns = cells.map((cell) => cell.toLowerCase())
      ;[network, first, last] = [columns.indexOf('network'), columns.indexOf('start_ip'), columns.indexOf('end_ip')]
      continue
    }
    const range = network < 0 ? rangeBetween(line, cells[first]!, cells[last]!) : rangeIn(line, cells[network]!)
    const record = newRecord()
    for (let i = 0; i < columns.length; i++) put(record, columns[i]!, cells[i])
    yield { line, range, record }
  }
}

/** The file chooses the names, so the object must not have a prototype. */
function newRecord(): Record<string, string | number | boolean> {
  return Object.create(null)
}

/** Adds a value that is known. Objects and lists are none. */
function put(record: Record<string, string | number | boolean>, column: string, value: unknown): void {
  if (RANGE_COLUMNS.has(column)) return
  if (typeof value === 'number' || typeof value === 'boolean') record[column] = value
  else if (typeof value === 'string' && value !== '' && value !== NULL) record[column] = value
}
