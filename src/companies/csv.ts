import type { CountedCompany } from '../../schemas/companies.ts'
import type { OwnColumn } from '../../schemas/facts.ts'

/** Columns with the titles and the order of the page. */
const TITLES: Readonly<Record<Exclude<keyof CountedCompany, 'own'>, string>> = {
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
  status: 'Status',
  hidden: 'Hidden',
  company_id: 'Id',
}
type Column = keyof typeof TITLES
const NAMES = Object.keys(TITLES) as Column[]
const ALWAYS: readonly string[] = ['name', 'company_id'] satisfies Column[]
/** All titles, without those of own columns. */
export const CSV_TITLES: readonly string[] = Object.values(TITLES)

/** Without it, Excel does not read a file as UTF-8. */
const BYTE_ORDER_MARK = '\ufeff'

/**
 * Companies as CSV (RFC 4180) for spreadsheets: a byte order mark, then a header line.
 * @param ownColumns of the tenant, which come last
 * @param hidden columns to omit
 */
export async function* companiesCsv(
  rows: AsyncIterable<readonly CountedCompany[]>,
  ownColumns: () => Promise<readonly OwnColumn[]>,
  hidden: readonly string[] = [],
): AsyncGenerator<string> {
  const own = await ownColumns()
  const names = NAMES.filter((name) => ALWAYS.includes(name) || !hidden.includes(name))
  let head = BYTE_ORDER_MARK + line([...names.map((name) => TITLES[name]), ...own.map(({ name }) => name)])
  const cellsOf = (row: CountedCompany) => [
    ...names.map((name) => textOf(row[name])),
    ...own.map(({ key, type }) => {
      const value = row.own[key] ?? ''
      return type === 'number' && value !== '' ? Number(value) : value
    }),
  ]
  for await (const portion of rows) {
    yield head + portion.map((row) => line(cellsOf(row))).join('')
    head = ''
  }
  if (head !== '') yield head
}

function textOf(value: CountedCompany[Column]): string | number {
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
