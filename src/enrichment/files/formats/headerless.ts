import { clip } from '../../addresses/network.ts'
import { csvRows, plainCells } from '../../providers/text/csv-rows.ts'
import { lineError } from '../../providers/text/text-file.ts'
import type { DataFormat } from './format.ts'
import { rangeBetween, rangeIn, type VendorRecord, type VendorRow, vendorTable } from './vendor-table.ts'

/** Names of the columns after the addresses: those of `COLUMNS`, or of text. */
type Layout = readonly string[]

interface HeaderlessTable {
  readonly name: string
  readonly vendor: string
  /** Whether a file is one of the vendor's by its name and the addresses of its first row. */
  isOwn(cells: readonly string[], file: string): boolean
  readonly layouts: readonly Layout[]
  /** The products that have these layouts, for messages. */
  readonly products: string
  /** The content of a row. @param values without unknown ones */
  record?(values: Record<string, string>): VendorRecord
}

/** The values of columns that tell layouts apart. Any other column holds text. */
const COLUMNS: Readonly<Record<string, RegExp>> = {
  asn: /^\d{1,10}$/,
  cidr: /^[\da-f.:]+\/\d{1,3}$/i,
  continent: /^[A-Z]{2}$/,
  country_code: /^[A-Z]{2}$/,
  latitude: /^-?\d{1,2}(?:\.\d*)?$/,
  longitude: /^-?\d{1,3}(?:\.\d*)?$/,
  // Names of providers, which other products have here, have small letters sooner or later.
  zip_code: /^[^a-z]{1,20}$/,
  time_zone: /^[+-]\d\d:\d\d$/,
  proxy_type: /^[A-Z]{3}$/,
  usage_type: /^[A-Z]{3}(?:\/[A-Z]{3})*$/,
}

/**
 * The format of a vendor's CSV that has no header: the addresses, then the columns of one of the layouts. A row that fits no layout is an
 * error, so no column is taken for another.
 */
export function headerlessTable(table: HeaderlessTable): DataFormat {
  return vendorTable({
    name: table.name,
    vendor: table.vendor,
    ending: /\.csv(?:\.gz)?$/i,
    recognises(line, file) {
      const cells = plainCells(line ?? '')
      return cells !== undefined && table.isOwn(cells, file)
    },
    rows: (text) => rowsOf(table, text),
  })
}

async function* rowsOf(
  { vendor, layouts, products, record = (values) => values }: HeaderlessTable,
  text: Buffer,
): AsyncGenerator<VendorRow> {
  // Rows of unknown values fit several layouts. They yield the same in each.
  let left = layouts
  for await (const { line, cells } of csvRows(text, true)) {
    const [first = '', last = ''] = cells
    const isNetwork = first.includes('/')
    const range = isNetwork ? rangeIn(line, first) : rangeBetween(line, first, last)
    const values = cells.slice(isNetwork ? 1 : 2)
    const fitting = left.filter((layout) => fits(layout, values))
    if (fitting.length === 0) {
      throw lineError(
        line,
        `"${clip(values.join(','))}" after the addresses, without a header, is no row of ${products} of ${vendor}: take the MMDB of these ` +
          'data, or add a header such as start_ip,end_ip,country_code,city',
      )
    }
    left = fitting
    yield { line, range, record: record(known(fitting[0]!, values)) }
  }
}

function fits(layout: Layout, values: readonly string[]): boolean {
  return (
    layout.length === values.length &&
    layout.every((column, i) => isNothing(values[i]!) || COLUMNS[column]?.test(values[i]!) !== false)
  )
}

function isNothing(value: string): boolean {
  return value === '' || value === '-'
}

function known(layout: Layout, values: readonly string[]): Record<string, string> {
  const found: Record<string, string> = {}
  for (const [i, column] of layout.entries()) if (!isNothing(values[i]!)) found[column] = values[i]!
  // Vendors write 0, 0 for an unknown place.
  if (Number(found.latitude) === 0 && Number(found.longitude) === 0) {
    delete found.latitude
    delete found.longitude
  }
  return found
}
