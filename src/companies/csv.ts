import type { CountedCompany } from '../../schemas/companies.ts'
import type { OwnColumn } from '../../schemas/facts.ts'

/** Columns with their titles, in their order. */
export const COLUMN_TITLES: Readonly<Record<Exclude<keyof CountedCompany, 'own'>, string>> = {
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
  first_channel: 'First channel',
  first_campaign: 'First campaign',
  last_channel: 'Last channel',
  last_campaign: 'Last campaign',
  // Last, because they come and go with the signs of a tenant: programs may count columns.
  fit: 'Fit',
  fit_reasons: 'Fit reasons',
}
type Column = keyof typeof COLUMN_TITLES
const NAMES = Object.keys(COLUMN_TITLES) as Column[]
const ALWAYS: readonly string[] = ['name', 'company_id'] satisfies Column[]
/** All titles, without those of own columns. */
export const CSV_TITLES: readonly string[] = Object.values(COLUMN_TITLES)

/** Without it, Excel does not read a file as UTF-8. */
const BYTE_ORDER_MARK = '\ufeff'

/**
 * Companies as CSV (RFC 4180) for spreadsheets: a byte order mark, then a header line.
 * @param ownColumns of the tenant, which come last
 * @param hidden columns to omit; those about fit are omitted where no company has one
 */
export async function* companiesCsv(
  rows: AsyncIterable<readonly CountedCompany[]>,
  ownColumns: () => Promise<readonly OwnColumn[]>,
  hidden: readonly string[] = [],
): AsyncGenerator<string> {
  const own = await ownColumns()
  const asked = NAMES.filter((name) => ALWAYS.includes(name) || !hidden.includes(name))
  const withoutFit = asked.filter((name) => name !== 'fit' && name !== 'fit_reasons')
  const headOf = (names: readonly Column[]) =>
    BYTE_ORDER_MARK + line([...names.map((name) => COLUMN_TITLES[name]), ...own.map(({ name }) => name)])
  const cellsOf = (row: CountedCompany, names: readonly Column[]) => [
    ...names.map((name) => textOf(row[name])),
    ...own.map(({ key, type }) => {
      const value = row.own[key] ?? ''
      return type === 'number' && value !== '' ? Number(value) : value
    }),
  ]
  let shown: readonly Column[] | undefined
  for await (const portion of rows) {
    // Either all companies of a tenant have a fit or none has.
    const names = shown ?? ((portion[0]?.fit ?? '') === '' ? withoutFit : asked)
    const head = shown === undefined ? headOf(names) : ''
    shown = names
    yield head + portion.map((row) => line(cellsOf(row, names))).join('')
  }
  if (shown === undefined) yield headOf(withoutFit)
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
