import type { CompanySort, CompanyView } from '../../../../schemas/companies.ts'

/** A column of the list of companies. */
export interface Column {
  readonly key: CompanySort | 'industry_category' | 'daily_visits'
  readonly label: string
  readonly isNumber?: true
  /** Undefined: not sortable. */
  readonly sort?: CompanySort
  /** Direction of the first click. */
  readonly first?: 'asc' | 'desc'
}

const text = (key: CompanySort, label: string): Column => ({ key, label, sort: key, first: 'asc' })
const figure = (key: CompanySort, label: string): Column => ({ key, label, sort: key, first: 'desc', isNumber: true })

/** The most important columns come first, because a narrow screen shows only these. An export has the same names and order. */
export const COLUMNS: readonly Column[] = [
  text('name', 'Company'),
  figure('events', 'Events'),
  figure('visits', 'Visits'),
  { key: 'daily_visits', label: 'Daily visits' },
  { ...text('last_seen', 'Last seen'), first: 'desc' },
  text('domain', 'Domain'),
  text('industry', 'Industry'),
  text('country_code', 'Visits from'),
  text('classification', 'Class'),
  figure('unique_ips', 'Unique IPs'),
  { ...text('first_seen', 'First seen'), first: 'desc' },
  { key: 'industry_category', label: 'Category' },
  figure('quality', 'Quality'),
]

export const PAGE_ROWS = 50
export const SEARCH_CHARS_MAX = 200

/** The query of a URL, for the server. */
export function viewOf(state: URLSearchParams): CompanyView {
  const of = (name: string) => state.get(name) ?? undefined
  const anyOf = (name: string) => state.getAll(name).filter((value) => value !== '')
  const values = (name: string) => (anyOf(name).length > 0 ? anyOf(name) : undefined)
  const sort = COLUMNS.find(({ sort }) => sort !== undefined && sort === of('sort'))?.sort
  const direction = of('dir')
  return {
    search: of('q')?.slice(0, SEARCH_CHARS_MAX),
    industry: values('industry'),
    category: values('category'),
    country: values('country'),
    classification: values('class'),
    from: momentOf(of('from'), DAY),
    to: momentOf(of('to'), DAY),
    new_since: momentOf(of('new'), DAY_OR_TIME),
    sort,
    direction: direction === 'asc' || direction === 'desc' ? direction : undefined,
  } as CompanyView
}

const DAY = /^\d{4}-\d{2}-\d{2}$/
const DAY_OR_TIME = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}(\.\d{1,3})?Z)?$/

/** Ignores invalid values, because links may be cut off or typed. */
function momentOf(text: string | undefined, pattern: RegExp): string | undefined {
  return text !== undefined && pattern.test(text) && !Number.isNaN(Date.parse(text)) ? text : undefined
}

/** Pages count from 1. */
export function pageOf(state: URLSearchParams): number {
  const page = Number(state.get('page') ?? 1)
  return Number.isInteger(page) && page > 0 && page <= 200_000 ? page : 1
}

const lists = new Map<string, string>()

/** Remembers the view of the list, so that a company's page links back to it. @param search of its URL */
export function rememberList(tenant: string, search: string): void {
  lists.set(tenant, search)
}

/** The last view of the list; the whole list when there is none. */
export function listPath(tenant: string): string {
  const search = lists.get(tenant) ?? ''
  return `/t/${tenant}/companies${search === '' ? '' : `?${search}`}`
}
