import { CSV_ENDING, columnsOf, isOwnTable, vendorCsvRows } from './vendor-csv.ts'
import { vendorTable } from './vendor-table.ts'

/** IPinfo's CSV files, which name the first and the last address of a row, or have the columns of IPinfo Lite. */
export const ipinfoCsv = vendorTable({
  name: 'ipinfo csv',
  ending: CSV_ENDING,
  recognises(line) {
    const columns = columnsOf(line)
    const hasSpans = columns.has('start_ip') && columns.has('end_ip')
    const isLite = columns.has('network') && columns.has('as_domain') && columns.has('continent_code')
    return !isOwnTable(columns) && (hasSpans || isLite)
  },
  rows: vendorCsvRows,
})
