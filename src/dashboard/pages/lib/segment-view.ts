import type { CompanyFilter } from '../../../../schemas/companies.ts'
import type { ListedSegment } from '../../../../schemas/dashboard/segments.ts'
import type { RangeName } from '../design/ranges.ts'
import { lastDaysOf, rangeChange, rangeOf, viewOf } from './company-view.ts'

/** The number of last days that a segment looks at for a span of the list. It moves with the days, also where a span follows weeks. */
const DAYS: Readonly<Record<RangeName, number>> = {
  today: 1,
  '7d': 7,
  '30d': 30,
  week: 7,
  'last-week': 7,
  month: 30,
}

/** Names in the URL of the list, by field of a filter. */
const NAMES: Readonly<Partial<Record<keyof CompanyFilter, string>>> = {
  search: 'q',
  classification: 'class',
  page: 'page_is',
  page_contains: 'at',
  visits_min: 'visits',
  new_since: 'new',
}

const LENGTHS = new Map<number, RangeName>([
  [1, 'today'],
  [7, '7d'],
  [30, '30d'],
])

/** The filter of the list's URL as a segment keeps it: its days are a number of last days. */
export function segmentFilter(state: URLSearchParams): CompanyFilter {
  const { sort: _, direction: __, from, to, ...filter } = viewOf(state)
  const range = rangeOf(state)
  const last =
    typeof range === 'string' ? DAYS[range] : state.has('from') || state.has('to') ? undefined : lastDaysOf(state)
  return known({ ...filter, ...(last === undefined ? { from, to } : { days: last }) })
}

/** What a shared link to the list shows: its segment, which may change, or else the filter of the URL. */
export function sharedOf(
  state: URLSearchParams,
  segment: Pick<ListedSegment, 'segment_id' | 'filter'> | undefined,
): { readonly segment_id: string } | { readonly filter: CompanyFilter } {
  const filter = segmentFilter(state)
  if (segment !== undefined && isSameFilter(filter, segment.filter)) return { segment_id: segment.segment_id }
  return { filter }
}

/** The URL of the list with the filter of a segment. */
export function segmentPath(
  tenant: string,
  { segment_id: id, filter }: Pick<ListedSegment, 'segment_id' | 'filter'>,
): string {
  const query = new URLSearchParams({ segment: id })
  const { days, from, to, ...others } = filter
  for (const [field, value] of Object.entries(others)) {
    const name = NAMES[field as keyof CompanyFilter] ?? field
    for (const item of Array.isArray(value) ? value : [value]) query.append(name, String(item))
  }
  const isOwn = from !== undefined || to !== undefined
  const span = days === undefined ? undefined : LENGTHS.get(days)
  if (days !== undefined && span === undefined) query.set('days', String(days))
  else if (isOwn) {
    if (from !== undefined) query.set('from', from)
    if (to !== undefined) query.set('to', to)
  } else for (const [name, value] of Object.entries(rangeChange(span))) if (value !== '') query.set(name, value)
  return `/t/${tenant}/companies?${query}`
}

/** Whether two filters keep the same companies: the order of fields and values does not matter. */
export function isSameFilter(one: CompanyFilter, other: CompanyFilter): boolean {
  return canonical(one) === canonical(other)
}

function canonical(filter: CompanyFilter): string {
  const fields = Object.entries(known(filter)).map(([name, value]) => [
    name,
    Array.isArray(value) ? [...value].sort() : value,
  ])
  return JSON.stringify(fields.sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)))
}

function known(filter: CompanyFilter): CompanyFilter {
  const entries = Object.entries(filter).filter(([, value]) => value !== undefined && value !== '')
  // Left out is the same.
  return Object.fromEntries(entries.filter(([name, value]) => name !== 'hidden' || value !== 'without'))
}
