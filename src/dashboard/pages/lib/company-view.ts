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

/** In their order; an export calls them the same. */
export const COLUMNS: readonly Column[] = [
  text('name', 'Company'),
  text('domain', 'Domain'),
  text('industry', 'Industry'),
  { key: 'industry_category', label: 'Category' },
  text('country_code', 'Country'),
  text('classification', 'Class'),
  figure('events', 'Events'),
  figure('visits', 'Visits'),
  figure('unique_ips', 'Unique IPs'),
  { key: 'daily_visits', label: 'Daily visits' },
  { ...text('first_seen', 'First seen'), first: 'desc' },
  { ...text('last_seen', 'Last seen'), first: 'desc' },
  figure('quality', 'Quality'),
]

export const PAGE_ROWS = 50

/** What a URL shows, as the server is asked for it. */
export function viewOf(state: URLSearchParams): CompanyView {
  const of = (name: string) => state.get(name) ?? undefined
  const sort = COLUMNS.find(({ sort }) => sort !== undefined && sort === of('sort'))?.sort
  const direction = of('dir')
  return {
    search: of('q'),
    industry: of('industry'),
    category: of('category'),
    country: of('country'),
    classification: of('class'),
    from: of('from'),
    to: of('to'),
    new_since: of('new'),
    sort,
    direction: direction === 'asc' || direction === 'desc' ? direction : undefined,
  } as CompanyView
}

/** Pages count from 1. */
export function pageOf(state: URLSearchParams): number {
  const page = Number(state.get('page') ?? 1)
  return Number.isInteger(page) && page > 0 && page <= 200_000 ? page : 1
}
