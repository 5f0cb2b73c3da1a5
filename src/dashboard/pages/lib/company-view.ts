import type { CompanySort, CompanyView } from '../../../../schemas/companies.ts'
import type { OwnColumn } from '../../../../schemas/facts.ts'
import { cutText } from '../../../run/cut-text.ts'
import { type DayRange, daysOfRange, isRangeName, type RangeName } from '../design/ranges.ts'
import { TEXTS } from '../texts/texts.ts'
import { daysAgo } from './days.ts'
import { ownTermOf } from './own-terms.ts'

/** A column of the list of companies. */
export interface Column {
  readonly key:
    | CompanySort
    | 'industry_category'
    | 'trend'
    | 'tags'
    | 'owner'
    | 'status'
    | 'first_touch'
    | 'last_touch'
    | `own.${string}`
  readonly label: string
  readonly isNumber?: true
  /** Undefined: not sortable. */
  readonly sort?: CompanySort
  /** Direction of the first click. */
  readonly first?: 'asc' | 'desc'
  /** Shown only on request, so that the others fit a screen. */
  readonly isExtra?: true
}

const text = (key: CompanySort, label: string): Column => ({ key, label, sort: key, first: 'asc' })
const figure = (key: CompanySort, label: string): Column => ({ key, label, sort: key, first: 'desc', isNumber: true })

/** The most important columns come first, because a narrow screen shows these without scrolling. */
export const COLUMNS: readonly Column[] = [
  text('name', TEXTS.words.fields.company),
  text('domain', TEXTS.words.fields.domain),
  figure('heat', TEXTS.words.fields.heat),
  { ...text('fit', TEXTS.words.fields.fit), first: 'desc' },
  figure('visits', TEXTS.words.fields.visits),
  { ...text('last_seen', TEXTS.words.fields.lastSeen), first: 'desc' },
  text('industry', TEXTS.words.fields.industry),
  text('country_code', TEXTS.words.fields.visitsFrom),
  { key: 'trend', label: TEXTS.words.fields.trend },
  figure('events', TEXTS.words.fields.events),
  { ...text('first_seen', TEXTS.words.fields.firstSeen), first: 'desc', isExtra: true },
  { ...text('classification', TEXTS.words.fields.type), isExtra: true },
  { key: 'industry_category', label: TEXTS.words.fields.category, isExtra: true },
  { key: 'tags', label: TEXTS.words.fields.tags, isExtra: true },
  { key: 'owner', label: TEXTS.words.fields.owner, isExtra: true },
  { key: 'status', label: TEXTS.words.fields.status, isExtra: true },
  { key: 'first_touch', label: TEXTS.words.fields.firstTouch, isExtra: true },
  { key: 'last_touch', label: TEXTS.words.fields.lastTouch, isExtra: true },
  { ...figure('unique_ips', TEXTS.words.fields.uniqueIps), isExtra: true },
  { ...figure('quality', TEXTS.words.fields.quality), isExtra: true },
]

/** The columns of a list, with those of the tenant's own. @param hasFit whether its companies have a fit */
export function listColumns(own: readonly OwnColumn[], hasFit: boolean): readonly Column[] {
  return [
    ...COLUMNS.filter(({ key }) => key !== 'fit' || hasFit),
    ...own.map(({ key, name, type }): Column => {
      const column = { key: `own.${key}`, label: name, isExtra: true } as const
      return type === 'number' ? { ...column, isNumber: true } : column
    }),
  ]
}

/** Whether a column is one of the tenant's own. */
export const isOwnColumn = (name: string): name is `own.${string}` => name.startsWith('own.')

/** The columns that a URL shows: `hide` leaves out, `show` adds. */
export function shownColumns(state: URLSearchParams): Set<Column['key']> {
  const names = (name: string) => new Set((state.get(name) ?? '').split(','))
  const [hidden, added] = [names('hide'), names('show')]
  const isShown = ({ key, isExtra }: Column) => key === 'name' || (isExtra ? added.has(key) : !hidden.has(key))
  return new Set<Column['key']>([...COLUMNS.filter(isShown).map(({ key }) => key), ...[...added].filter(isOwnColumn)])
}

/** The part of a URL that shows these columns. */
export function columnsChange(shown: ReadonlySet<Column['key']>): { hide: string; show: string } {
  const names = (isExtra: boolean) =>
    COLUMNS.filter((column) => (column.isExtra === true) === isExtra && shown.has(column.key) === isExtra)
      .map(({ key }) => key)
      .join()
  const own = [...shown].filter(isOwnColumn)
  return { hide: names(false), show: [names(true), ...own].filter((name) => name !== '').join() }
}

/** A value of a filter that matches unknown ones. */
export const NOT_KNOWN = '-'

export const PAGE_ROWS = 50
export const SEARCH_CHARS_MAX = 200

/** The query of a URL, for the server. */
export function viewOf(state: URLSearchParams): CompanyView {
  const of = (name: string) => state.get(name) ?? undefined
  const anyOf = (name: string) => state.getAll(name).filter((value) => value !== '')
  const values = (name: string) => (anyOf(name).length > 0 ? anyOf(name) : undefined)
  const sort = COLUMNS.find(({ sort }) => sort !== undefined && sort === of('sort'))?.sort
  const direction = of('dir')
  const search = of('q')
  return {
    search: search && cutText(search, SEARCH_CHARS_MAX),
    industry: values('industry'),
    category: values('category'),
    country: values('country'),
    classification: values('class'),
    page: values('page_is'),
    page_contains: values('at'),
    source: values('source'),
    campaign: values('campaign'),
    ...Object.fromEntries(TOUCH_LISTS.map((name) => [name, values(name)])),
    tag: values('tag'),
    owner: values('owner'),
    status: values('status'),
    fit: values('fit'),
    own: values('own')?.filter((term) => ownTermOf(term) !== undefined),
    hidden: hiddenOf(of('hidden')),
    merged: of('merged') === 'only' ? 'only' : undefined,
    page_visits_min: wholeOf(of('page_visits_min')),
    visits_min: wholeOf(of('visits')),
    heat_min: wholeOf(of('heat_min')),
    ...Object.fromEntries(OTHER_LISTS.map((name) => [name, values(name)])),
    ...Object.fromEntries(OTHER_COUNTS.map((name) => [name, wholeOf(of(name))])),
    ...daysOf(state),
    new_since: momentOf(of('new'), DAY_OR_TIME),
    new_days: dayCountOf(of('new_days')),
    condition: of('condition') || undefined,
    sort,
    direction: direction === 'asc' || direction === 'desc' ? direction : undefined,
  } as CompanyView
}

/** The span that a URL names, days of its own, or undefined for all time. Without any it is the last 30 days. */
export function rangeOf(state: URLSearchParams): RangeName | Partial<DayRange> | undefined {
  const days = ownDays(state)
  if (days !== undefined) return days
  const last = lastDaysOf(state)
  if (last !== undefined) return { from: daysAgo(last - 1), to: daysAgo(0) }
  const name = state.get('when')
  if (name === ALL_TIME) return undefined
  return isRangeName(name) ? name : DEFAULT_RANGE
}

/** The part of a URL that names a span. */
export function rangeChange(
  range: RangeName | DayRange | undefined,
): Readonly<Record<'when' | 'from' | 'to' | 'days', string>> {
  const none = { when: '', from: '', to: '', days: '' }
  if (typeof range === 'object') return { ...none, ...range }
  return { ...none, when: range === undefined ? ALL_TIME : range === DEFAULT_RANGE ? '' : range }
}

/** The number of last days that a URL names, as segments do. */
export function lastDaysOf(state: URLSearchParams): number | undefined {
  return dayCountOf(state.get('days') ?? undefined)
}

function dayCountOf(text: string | undefined): number | undefined {
  const days = wholeOf(text)
  return days !== undefined && days >= 1 && days <= DAYS_MAX ? days : undefined
}

const DAYS_MAX = 3_660

export const ALL_TIME = 'all'
const DEFAULT_RANGE = '30d'

function ownDays(state: URLSearchParams): Partial<DayRange> | undefined {
  const [from, to] = ['from', 'to'].map((name) => momentOf(state.get(name) ?? undefined, DAY))
  if (from === undefined && to === undefined) return undefined
  return { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
}

function daysOf(state: URLSearchParams): Partial<DayRange> {
  const range = rangeOf(state)
  return typeof range === 'string' ? daysOfRange(range) : (range ?? {})
}

function hiddenOf(text: string | undefined): CompanyView['hidden'] {
  return text === 'only' || text === 'with' ? text : undefined
}

function wholeOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,12}$/.test(text) ? Number(text) : undefined
}

/** Filters by the first and the last touch, by the names of `CompanyFilter`. */
const TOUCH_LISTS = ['first_channel', 'last_channel', 'first_campaign', 'last_campaign'] as const

/** Filters that only segments of the command line have, by the names of `CompanyFilter`. */
export const OTHER_LISTS = [
  'industry_not',
  'category_not',
  'country_not',
  'classification_not',
  'tag_not',
  'owner_not',
  'status_not',
  'fit_not',
  'source_not',
  'campaign_not',
  'first_channel_not',
  'last_channel_not',
  'first_campaign_not',
  'last_campaign_not',
] as const
export const OTHER_COUNTS = ['visits_max', 'events_min', 'events_max', 'heat_max'] as const

/** Names of the filters in a URL, without the days. */
export const FILTER_NAMES = [
  'q',
  'industry',
  'category',
  'country',
  'class',
  'page_is',
  'at',
  'source',
  'campaign',
  ...TOUCH_LISTS,
  'tag',
  'owner',
  'status',
  'fit',
  'own',
  'hidden',
  'merged',
  'page_visits_min',
  'visits',
  'heat_min',
  'new',
  'new_days',
  'condition',
  ...OTHER_LISTS,
  ...OTHER_COUNTS,
] as const

/** Names in a URL that change how a list is shown, and not which companies are in it. */
const LOOKS = ['page', 'sort', 'dir', 'hide', 'show', 'segment', 'feed']

/** The part of a URL that says which companies a list has. */
export function searchOf(state: URLSearchParams): string {
  const search = new URLSearchParams(state)
  for (const name of LOOKS) search.delete(name)
  search.sort()
  return search.toString()
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
