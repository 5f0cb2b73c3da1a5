import type { CompanySort, CompanyView } from '../../../../schemas/dashboard/companies.ts'

/** A column of the list of companies. */
export interface Column {
  readonly key: CompanySort | 'industry_category' | 'daily_visits'
  readonly label: string
  readonly isNumber?: true
  /** Undefined: the list cannot be sorted by it. */
  readonly sort?: CompanySort
  /** The direction that a first click sorts in. */
  readonly first?: 'asc' | 'desc'
}

const text = (key: CompanySort, label: string): Column => ({ key, label, sort: key, first: 'asc' })
const figure = (key: CompanySort, label: string): Column => ({ key, label, sort: key, first: 'desc', isNumber: true })

/** What matters most comes first: a narrow screen shows no more. An export has the same names and order. */
export const COLUMNS: readonly Column[] = [
  text('name', 'Company'),
  figure('events', 'Events'),
  figure('visits', 'Visits'),
  { key: 'daily_visits', label: 'Daily visits' },
  { ...text('last_seen', 'Last seen'), first: 'desc' },
  text('domain', 'Domain'),
  text('industry', 'Industry'),
  text('country_code', 'Country'),
  text('classification', 'Class'),
  figure('unique_ips', 'Unique IPs'),
  { ...text('first_seen', 'First seen'), first: 'desc' },
  { key: 'industry_category', label: 'Category' },
  figure('quality', 'Quality'),
]

export const PAGE_ROWS = 50
export const SEARCH_CHARS_MAX = 200

/** What a URL shows, as the server is asked for it. */
export function viewOf(state: URLSearchParams): CompanyView {
  const of = (name: string) => state.get(name) ?? undefined
  const sort = COLUMNS.find(({ sort }) => sort !== undefined && sort === of('sort'))?.sort
  const direction = of('dir')
  return {
    search: of('q')?.slice(0, SEARCH_CHARS_MAX),
    industry: of('industry'),
    category: of('category'),
    country: of('country'),
    classification: of('class'),
    from: momentOf(of('from'), DAY),
    to: momentOf(of('to'), DAY),
    new_since: momentOf(of('new'), DAY_OR_TIME),
    sort,
    direction: direction === 'asc' || direction === 'desc' ? direction : undefined,
  } as CompanyView
}

const DAY = /^\d{4}-\d{2}-\d{2}$/
const DAY_OR_TIME = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}(\.\d{1,3})?Z)?$/

/** A link that was cut or typed by hand shows what is left of it. */
function momentOf(text: string | undefined, pattern: RegExp): string | undefined {
  return text !== undefined && pattern.test(text) && !Number.isNaN(Date.parse(text)) ? text : undefined
}

/** Pages count from 1. */
export function pageOf(state: URLSearchParams): number {
  const page = Number(state.get('page') ?? 1)
  return Number.isInteger(page) && page > 0 && page <= 200_000 ? page : 1
}

const lists = new Map<string, string>()

/** What of the list was last looked at, so that a company leads back to it. @param search as in its URL */
export function rememberList(tenant: string, search: string): void {
  lists.set(tenant, search)
}

/** The list as it was last looked at; all of it when it was not. */
export function listPath(tenant: string): string {
  const search = lists.get(tenant) ?? ''
  return `/t/${tenant}/companies${search === '' ? '' : `?${search}`}`
}
