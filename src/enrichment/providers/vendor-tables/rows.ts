import { setImmediate } from 'node:timers/promises'
import { formatV4 } from '../../../pipeline/event/address.ts'
import { type AddressRange, clip, parseNetwork } from '../../addresses/network.ts'
import { csvRows } from '../text/csv-rows.ts'
import { firstContentLine, lineError, linesOf } from '../text/text-file.ts'

/** A row: its addresses, and its other columns as a record like that of the vendor's MMDB. */
export interface VendorRow {
  readonly line: number
  readonly range: AddressRange
  readonly record: Readonly<Record<string, string>>
}

/** Columns that vendors have and organisation tables do not. */
const VENDOR_COLUMNS = ['as_domain', 'as_type', 'autonomous_system_number', 'continent_code', 'country_name']
/** Columns that make a table an organisation table, regardless of its other columns. */
const OWN_COLUMNS = ['business_name', 'org_name', 'industry', 'industry_category', 'classification', 'description']
/** Columns without data about the addresses. */
const RANGE_COLUMNS: ReadonlySet<string> = new Set(['network', 'start_ip', 'end_ip', 'join_key', 'range'])

/** A vendor's table. */
export interface VendorTable {
  /** Replaces the `database_type` of a vendor's MMDB. */
  readonly databaseType: string
  readonly rows: AsyncIterable<VendorRow>
}

/**
 * Detects a vendor's table: IPinfo's CSV, other CSV with columns that only vendors have, or a file of iptoasn.com.
 * Undefined for other files.
 * @param ending extension of the file's name
 */
export function vendorTableIn(ending: string, text: Buffer): VendorTable | undefined {
  if (/tsv/i.test(ending)) return { databaseType: 'iptoasn', rows: iptoasnRows(text) }
  const columns = new Set(/csv/i.test(ending) ? headerOf(text) : [])
  if (OWN_COLUMNS.some((column) => columns.has(column))) return undefined
  const hasSpans = columns.has('start_ip') && columns.has('end_ip')
  if (!hasSpans && !(columns.has('network') && VENDOR_COLUMNS.some((column) => columns.has(column)))) return undefined
  const isIpinfo = hasSpans || (columns.has('as_domain') && columns.has('continent_code'))
  return { databaseType: isIpinfo ? 'ipinfo csv' : 'csv', rows: vendorCsvRows(text) }
}

function headerOf(text: Buffer): string[] {
  const cells = firstContentLine(text)?.split(',') ?? []
  return cells.map((cell) => cell.trim().replace(/^"|"$/g, '').toLowerCase())
}

/** The rows of a CSV file with a header. @throws InputError with the line and the reason */
async function* vendorCsvRows(text: Buffer): AsyncGenerator<VendorRow> {
  let columns: readonly string[] | undefined
  let [network, first, last] = [-1, -1, -1]
  for await (const { line, cells } of csvRows(text, true)) {
    if (columns === undefined) {
      columns = cells.map((cell) => cell.toLowerCase())
      ;[network, first, last] = [columns.indexOf('network'), columns.indexOf('start_ip'), columns.indexOf('end_ip')]
      continue
    }
    const range = parseRange(line, network < 0 ? `${cells[first]}-${cells[last]}` : cells[network]!)
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

const LINES_AT_A_TIME = 2_000
/** The AS number of iptoasn for addresses that no AS announces. */
const NOT_ANNOUNCED = '0'

/**
 * The rows of a file of iptoasn.com: first and last address, then AS number, country and name of the AS, or only a country.
 * The country of an AS is that of its registration, so it is not used for the addresses.
 * @throws InputError with the line and the reason
 */
async function* iptoasnRows(text: Buffer): AsyncGenerator<VendorRow> {
  for (const { line, text: content } of linesOf(text)) {
    if (line % LINES_AT_A_TIME === 0) await setImmediate()
    if (content.trim() === '' || content.startsWith('#')) continue
    const [first = '', last = '', ...rest] = content.split('\t')
    const range = parseRange(line, `${addressIn(first)}-${addressIn(last)}`)
    const [asn = '', , name = ''] = rest
    if (rest.length === 1) {
      if (/^[A-Z]{2}$/.test(asn)) yield { line, range, record: { country_code: asn } }
      continue
    }
    if (!/^\d{1,10}$/.test(asn))
      throw lineError(line, `"${clip(asn)}" is not an AS number: a file of iptoasn.com is expected`)
    if (asn === NOT_ANNOUNCED) continue
    yield { line, range, record: { autonomous_system_number: asn, autonomous_system_organization: name } }
  }
}

/** Some files write IPv4 addresses as numbers. */
function addressIn(text: string): string {
  return /^\d{1,10}$/.test(text) && Number(text) < 2 ** 32 ? formatV4(Number(text)) : text
}

function parseRange(line: number, text: string): AddressRange {
  const range = parseNetwork(text)
  if (typeof range === 'string') throw lineError(line, range)
  if (range.version === 'as') throw lineError(line, `"${clip(text)}" is not a network`)
  return range
}
