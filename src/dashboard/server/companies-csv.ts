import type { CountedCompany } from '../../../schemas/dashboard/companies.ts'

/** Columns as the page calls them. */
const COLUMNS: readonly (readonly [title: string, of: (row: CountedCompany) => string | number])[] = [
  ['Company', ({ name }) => name],
  ['Domain', ({ domain }) => domain],
  ['Industry', ({ industry }) => industry],
  ['Category', ({ industry_category }) => industry_category],
  ['Country', ({ country_code }) => country_code],
  ['Class', ({ classification }) => classification],
  ['Events', ({ events }) => events],
  ['Visits', ({ visits }) => visits],
  ['Unique IPs', ({ unique_ips }) => unique_ips],
  ['First seen', ({ first_seen }) => first_seen],
  ['Last seen', ({ last_seen }) => last_seen],
  ['Quality', ({ quality }) => quality],
  ['Id', ({ company_id }) => company_id],
]

/** Companies as CSV (RFC 4180), a line each behind a line of titles. */
export async function* companiesCsv(rows: AsyncIterable<readonly CountedCompany[]>): AsyncGenerator<string> {
  let head = line(COLUMNS.map(([title]) => title))
  for await (const some of rows) {
    yield head + some.map((row) => line(COLUMNS.map(([, of]) => of(row)))).join('')
    head = ''
  }
  if (head !== '') yield head
}

function line(cells: readonly (string | number)[]): string {
  return `${cells.map((cell) => (typeof cell === 'number' ? cell : cellOf(cell))).join()}\r\n`
}

/** What programs for tables would take for a formula. */
const FORMULA = /^[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]/

/** A text as a cell, behind an apostrophe when it would be calculated (OWASP, CSV Injection). */
function cellOf(text: string): string {
  const safe = FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n]|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
