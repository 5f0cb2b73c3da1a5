import type { CountedCompany } from '../../schemas/companies.ts'

/** Columns with the titles and the order of the page. */
const TITLES: Readonly<Record<keyof CountedCompany, string>> = {
  name: 'Company',
  events: 'Events',
  visits: 'Visits',
  heat: 'Heat',
  last_seen: 'Last seen',
  domain: 'Domain',
  industry: 'Industry',
  country_code: 'Visits from',
  classification: 'Class',
  unique_ips: 'Unique IPs',
  first_seen: 'First seen',
  industry_category: 'Category',
  quality: 'Quality',
  tags: 'Tags',
  owner: 'Owner',
  hidden: 'Hidden',
  company_id: 'Id',
}
const NAMES = Object.keys(TITLES) as (keyof CountedCompany)[]
const ALWAYS: readonly string[] = ['name', 'company_id'] satisfies (keyof CountedCompany)[]

/** Without it, Excel does not read a file as UTF-8. */
const BYTE_ORDER_MARK = '\ufeff'

/** Companies as CSV (RFC 4180) for spreadsheets: a byte order mark, then a header line. @param hidden columns to omit */
export async function* companiesCsv(
  rows: AsyncIterable<readonly CountedCompany[]>,
  hidden: readonly string[] = [],
): AsyncGenerator<string> {
  const names = NAMES.filter((name) => ALWAYS.includes(name) || !hidden.includes(name))
  let head = BYTE_ORDER_MARK + line(names.map((name) => TITLES[name]))
  for await (const portion of rows) {
    yield head + portion.map((row) => line(names.map((name) => textOf(row[name])))).join('')
    head = ''
  }
  if (head !== '') yield head
}

function textOf(value: CountedCompany[keyof CountedCompany]): string | number {
  if (typeof value === 'boolean') return value ? 'yes' : ''
  return typeof value === 'object' ? value.join(', ') : value
}

function line(cells: readonly (string | number)[]): string {
  return `${cells.map((cell) => (typeof cell === 'number' ? cell : cellOf(cell))).join()}\r\n`
}

/** Spreadsheets would read these texts as formulas. Where a comma is the decimal sign, they begin a cell at `;`, also in quotes. */
const FORMULA = /(^|[;\t]\s{0,9})(?=[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20])/g

/** A text as a cell. An apostrophe keeps a spreadsheet from running it as a formula (OWASP, CSV Injection). */
function cellOf(text: string): string {
  const safe = text.replace(FORMULA, "$1'")
  return /[",\r\n]|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
