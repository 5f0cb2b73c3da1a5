import { columnsOf, isOwnTable, VENDOR_ENDING, vendorRows } from './vendor-csv.ts'
import { vendorTable } from './vendor-table.ts'

/** IPinfo's tables, CSV or an object per line, which name the first and the last address of a row, or have the columns of IPinfo Lite. */
export const ipinfoCsv = vendorTable({
  name: 'ipinfo csv',
  ending: VENDOR_ENDING,
  recognises(line) {
    const columns = columnsOf(line)
    const hasSpans = columns.has('start_ip') && columns.has('end_ip')
    const isLite = columns.has('network') && columns.has('as_domain') && columns.has('continent_code')
    return !isOwnTable(columns) && (hasSpans || isLite)
  },
  rows: vendorRows,
})
