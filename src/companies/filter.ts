import {
  COMPANY_LIMITS,
  type CompanyFilter,
  type CompanySort,
  type CompanyView,
  FIT_LEVELS,
  NOT_KNOWN,
} from '../../schemas/companies.ts'
import { ANY_ID, IDS_IN_PATHS } from '../../schemas/page.ts'
import { InputError } from '../run/errors.ts'
import { addDays, dayIn, momentIn, UTC } from '../run/time-zone.ts'
import { encodedChars, type Parameters } from '../stores/clickhouse/reader.ts'
import { type Condition, conditionSql, leavesOf, mapLeaves } from './condition.ts'
import { type CompanyCondition, type Corrected, knownCompanies, targetOf } from './corrected.ts'
import { dayOf, eventsWithin, type Need, visitOf } from './days.ts'
import { ownConditions, readOwnTerm } from './facts.ts'
import { assertKnownTerm } from './known-values.ts'
import { parseCondition } from './where.ts'

const FIRST_DAY = '1900-01-01'
const LAST_DAY = '2299-12-31'
/** Values are sent in the URL, which servers limit to 16 KiB. */
const VALUES_MAX_CHARS = 8_000

/** First and last day. */
export type Days = Pick<CompanyFilter, 'from' | 'to'>

/** A filter with its days as dates, and its sources by id. */
export interface ResolvedFilter extends CompanyFilter {
  /** IANA name of the zone of its days. */
  readonly zone: string
  /** Days whose events decide about pages, sources and campaigns. */
  readonly eventFrom: string
  readonly eventTo: string | undefined
  /** First day of companies that are new, by `new_days`. */
  readonly newFrom: string | undefined
  /** Its condition. */
  readonly tree: Condition<Leaf> | undefined
}

/** A term of a condition. Its names in a query end with `suffix`, because the same field may occur several times. */
export interface Leaf {
  readonly filter: Omit<ResolvedFilter, 'tree' | 'condition'>
  readonly suffix: string
}

/** A source that a filter may name. */
export interface NamedSource {
  readonly id: string
  readonly name: string | undefined
}

/** Checks what the schema cannot. @throws InputError when a date does not exist, or fields contradict each other */
export function assertFilter(filter: CompanyFilter): void {
  const { days, from, to, new_since, new_days, page_visits_min } = filter
  for (const name of HEAT) {
    if ((filter[name] ?? 0) > COMPANY_LIMITS.heatMax)
      throw new InputError(`${name}: must be 0 to ${COMPANY_LIMITS.heatMax}`)
  }
  for (const [name, day] of Object.entries({ from, to, new_since })) {
    if (day !== undefined && !isMoment(day)) throw new InputError(`${name}: must be a date between 1900 and 2299`)
  }
  if (from !== undefined && to !== undefined && from > to) throw new InputError('from: must not be after to')
  if (days !== undefined && (from !== undefined || to !== undefined)) {
    throw new InputError('days: give either days, or from and to')
  }
  for (const [name, count] of Object.entries({ days, new_days })) {
    if (count !== undefined && (count < 1 || count > COMPANY_LIMITS.daysMax)) {
      throw new InputError(`${name}: must be 1 to ${COMPANY_LIMITS.daysMax}`)
    }
  }
  const pageFields = (['page', 'page_contains'] as const).filter((name) => isGiven(filter, name))
  if (page_visits_min !== undefined && pageFields.length !== 1)
    throw new InputError('page_visits_min: needs pages too, either page~/pricing or page=shop.example/pricing')
  for (const term of filter.own ?? []) {
    try {
      readOwnTerm(term)
    } catch (error) {
      throw new InputError(`own: ${JSON.stringify(term.slice(0, 80))} ${(error as Error).message}`)
    }
  }
  const fits: readonly string[] = [...FIT_LEVELS, NOT_KNOWN]
  for (const value of [...(filter.fit ?? []), ...(filter.fit_not ?? [])]) {
    if (!fits.includes(value)) throw new InputError(`fit: must be ${fits.join(', ')}`)
  }
  const leaves = filter.condition === undefined ? [] : leavesOf(parseCondition(filter.condition))
  for (const leaf of leaves) assertFilter(leaf)
  const chars = [filter, ...leaves]
    .flatMap((part) => Object.values(part))
    .flatMap((value) => (Array.isArray(value) ? value : []))
    .reduce((sum, value) => sum + encodedChars(value), 0)
  if (chars > VALUES_MAX_CHARS) throw new InputError('the filter is too long: give fewer or shorter values')
}

/** Checks a filter that somebody gave just now as `assertFilter`, and that companies can have its values. @throws InputError */
export function assertGivenFilter(filter: CompanyFilter): void {
  assertFilter(filter)
  const leaves = filter.condition === undefined ? [] : leavesOf(parseCondition(filter.condition))
  for (const part of [filter, ...leaves]) assertKnownTerm(part)
}

function isMoment(text: string): boolean {
  const ms = Date.parse(text)
  const day = text.slice(0, 10)
  // Date.parse reads February 30 as March 2.
  return Number.isFinite(ms) && new Date(ms).toISOString().startsWith(day) && day >= FIRST_DAY && day <= LAST_DAY
}

/**
 * @param sources those of the tenant; any other value is an id
 * @param zone of its days
 */
export function resolveFilter<F extends CompanyFilter>(
  filter: F,
  nowMs: number,
  sources: readonly NamedSource[],
  zone = UTC,
): F & ResolvedFilter {
  const { days, from, to, new_since, new_days } = filter
  const today = dayIn(zone, nowMs)
  const dates = days === undefined ? { from, to } : { from: addDays(today, 1 - days), to: today }
  const ids = (values: readonly string[] | undefined) =>
    values?.flatMap((value) => {
      const named = sources.filter(({ name }) => name === value).map(({ id }) => id)
      return named.length > 0 ? named : [value]
    })
  let leaves = 0
  const leafOf = (term: CompanyFilter): Leaf => {
    const { tree: _, ...resolved } = resolveFilter(term, nowMs, sources, zone)
    return { filter: resolved, suffix: `_c${++leaves}` }
  }
  return {
    ...filter,
    ...dates,
    zone,
    // A date alone is the beginning of its day.
    ...(new_since?.length === FIRST_DAY.length && { new_since: new Date(momentIn(zone, new_since)).toISOString() }),
    tree: filter.condition === undefined ? undefined : mapLeaves(parseCondition(filter.condition), leafOf),
    source: ids(filter.source),
    source_not: ids(filter.source_not),
    eventFrom: dates.from ?? addDays(dates.to ?? today, 1 - COMPANY_LIMITS.eventDays),
    eventTo: dates.to,
    newFrom: new_days === undefined ? undefined : addDays(today, 1 - new_days),
  }
}

/** Whether a filter names sources, whose ids must be known for it. */
export function namesSources({ source = [], source_not = [], condition = '' }: CompanyFilter): boolean {
  return source.length + source_not.length > 0 || condition.includes('source')
}

/** The filter itself, and the terms of its condition. */
function partsOf(filter: ResolvedFilter): readonly Leaf[] {
  return [{ filter, suffix: '' }, ...leavesOf(filter.tree)]
}

/** SQL of a term with the names of its own. */
function named(sql: string, { suffix }: Leaf): string {
  return suffix === ''
    ? sql
    : sql.replace(/\{(\w+):/g, `{$1${suffix}:`).replace(/\bmatched\.(\w+)/g, `matched.$1${suffix}`)
}

/** Lists about the company itself, and their columns. */
const ATTRIBUTES = {
  industry: 'industry',
  category: 'industry_category',
  country: 'country_code',
  classification: 'classification',
  owner: 'owner',
  status: 'status',
  fit: 'fit',
} as const
/** Lists about its touches, and their columns in `touchesSql`. */
const TOUCHES = {
  first_channel: 'touches.first_channel',
  last_channel: 'touches.last_channel',
  first_campaign: 'touches.first_campaign',
  last_campaign: 'touches.last_campaign',
} as const
/** Lists about its events. */
const EVENT_LISTS = { source: 'source_id', campaign: 'utm_campaign' } as const
type AttributeName = keyof typeof ATTRIBUTES | keyof typeof TOUCHES
type EventListName = keyof typeof EVENT_LISTS
export const FACETS = [...Object.keys({ ...ATTRIBUTES, ...TOUCHES }), 'tag', ...Object.keys(EVENT_LISTS)] as (
  | AttributeName
  | 'tag'
  | EventListName
)[]
export type Facet = (typeof FACETS)[number]

/** The expression for the value of a facet in a row of companies, joined with `touchesSql`. */
export const ATTRIBUTE_COLUMNS: Readonly<Record<AttributeName, string>> = { ...ATTRIBUTES, ...TOUCHES }

/** The tags in a row of companies; one empty tag when there are none, which the value `-` finds. */
export const TAGS = "if(empty(tags), [''], tags)"

/**
 * Conditions on a row of companies. Those of a facet are apart, because the choices of a facet leave its own out.
 * They use columns of `companiesSql`, and of the subqueries `matched`, `counts`, `heats` and `touches` that are joined to it.
 */
export function conditionsOf(filter: Omit<ResolvedFilter, 'tree'> & Partial<Pick<ResolvedFilter, 'tree'>>): {
  readonly facets: ReadonlyMap<Facet, string>
  readonly others: string[]
} {
  const facets = new Map<Facet, string>()
  const facet = (name: Facet, conditions: readonly string[]) => {
    if (conditions.length > 0) facets.set(name, conditions.join(' AND '))
  }
  for (const [name, column] of Object.entries(ATTRIBUTE_COLUMNS)) {
    const [of, not] = [`${name}`, `${name}_not`]
    facet(name as AttributeName, [
      ...(isGiven(filter, of) ? [`${column} IN {${of}:Array(String)}`] : []),
      ...(isGiven(filter, not) ? [`${column} NOT IN {${not}:Array(String)}`] : []),
    ])
  }
  facet('tag', [
    ...(isGiven(filter, 'tag') ? [`hasAny(${TAGS}, {tag:Array(String)})`] : []),
    ...(isGiven(filter, 'tag_not') ? [`NOT hasAny(${TAGS}, {tag_not:Array(String)})`] : []),
  ])
  for (const name of Object.keys(EVENT_LISTS) as EventListName[]) {
    facet(name, [
      ...(isGiven(filter, name) ? [`matched.${name}_in`] : []),
      ...(isGiven(filter, `${name}_not`) ? [`NOT matched.${name}_out`] : []),
    ])
  }
  const others: string[] = []
  if (filter.hidden !== 'with') others.push(filter.hidden === 'only' ? 'hidden' : 'NOT hidden')
  if (filter.merged === 'only') others.push('notEmpty(merged_texts)')
  if (searchOf(filter) !== '') {
    // Search one concatenated text, which is faster. The search text has no line feed.
    const texts = "arrayStringConcat(arrayConcat([company_id, name, full_name, domain], merged_texts), '\\n')"
    others.push(`positionCaseInsensitiveUTF8(${texts}, {search:String}) > 0`)
  }
  if (filter.new_since !== undefined) {
    others.push("first_seen >= fromUnixTimestamp64Milli({new_since:Int64}, 'UTC')")
  }
  if (filter.newFrom !== undefined) others.push(`${dayOf('first_seen', filter.zone)} >= {new_from:Date32}`)
  if (isGiven(filter, 'page')) others.push('matched.page_in')
  if (isGiven(filter, 'page_contains')) others.push('matched.page_contains_in')
  if (filter.page_visits_min !== undefined) others.push('matched.page_visits >= {page_visits_min:UInt64}')
  others.push(...ownConditions(filter.own ?? []).conditions)
  const events = hasDays(filter) ? 'counts.events' : 'stored'
  for (const [name, column] of [
    ['events', events],
    ['visits', 'counts.visits'],
    ['heat', 'heats.heat'],
  ] as const) {
    if (filter[`${name}_min`] !== undefined) others.push(`${column} >= {${name}_min:UInt64}`)
    if (filter[`${name}_max`] !== undefined) others.push(`${column} <= {${name}_max:UInt64}`)
  }
  if (filter.tree !== undefined) others.push(conditionSql(filter.tree, (leaf) => leafSql(leaf, filter)))
  return { facets, others }
}

/** SQL of a term of a condition. @param days of the whole filter */
export function leafSql(leaf: Leaf, { from, to }: Days): string {
  // Only the whole filter leaves hidden companies out.
  const { facets, others } = conditionsOf({ ...leaf.filter, from, to, hidden: 'with' })
  // A search for spaces keeps all companies.
  return named([...facets.values(), ...others].join(' AND ') || 'true', leaf)
}

export function hasDays({ from, to }: Days): boolean {
  return from !== undefined || to !== undefined
}

const HEAT = ['heat_min', 'heat_max'] as const

/** Whether the filter compares heat, which must be computed for it. */
export function needsHeat(filter: ResolvedFilter): boolean {
  return partsOf(filter).some(({ filter: part }) => HEAT.some((name) => part[name] !== undefined))
}

/** Whether the filter compares touches, which must be read for it. */
export function needsTouches(filter: ResolvedFilter): boolean {
  const names = Object.keys(TOUCHES).flatMap((name) => [name, `${name}_not`])
  return partsOf(filter).some(({ filter: part }) => names.some((name) => isGiven(part, name)))
}

/** Whether the filter compares visits, which must be counted for it. */
export function needsVisits(filter: ResolvedFilter): boolean {
  return partsOf(filter).some(({ filter: { visits_min, visits_max } }) => (visits_min ?? visits_max) !== undefined)
}

/** The data that a query needs to compare with a filter and sort by a column. */
export function needOf(filter: ResolvedFilter, sort?: CompanySort): Need {
  if (needsHeat(filter) || sort === 'heat') return 'pages'
  return hasDays(filter) || needsVisits(filter) || sort === 'visits' || sort === 'unique_ips' ? 'days' : 'corrections'
}

function isGiven(filter: CompanyFilter, name: string): boolean {
  const value = filter[name as keyof CompanyFilter]
  return Array.isArray(value) && value.length > 0
}

/** The path of `events.page`, which begins with it when the URL names no host. */
export const PATH_OF_PAGE = "substring(page, position(page, '/'))"
export const HOST_OF_PAGE = "substring(page, 1, position(page, '/') - 1)"

/** Conditions on events. */
const PAGES = {
  page: `(page IN {page:Array(String)} OR ${PATH_OF_PAGE} IN {page_path:Array(String)})`,
  page_contains: 'multiSearchAnyCaseInsensitiveUTF8(url, {page_contains:Array(String)})',
} as const
type PageField = keyof typeof PAGES

const IDS = new RegExp(IDS_IN_PATHS, 'g')

/** Pages as `events.page` has them, and paths on any host. */
function pageParameters({ page = [], page_contains = [] }: CompanyFilter): Parameters {
  const pages = page.map((text) => text.replace(IDS, ANY_ID))
  const withoutHost = (text: string) => (text.startsWith('/') ? text : `/${text}`)
  return {
    ...(page.length > 0 && {
      page: pages.flatMap((text) =>
        text.startsWith('/') ? [] : [text.startsWith('-') ? withoutHost(text.slice(1)) : text],
      ),
      page_path: pages.filter((text) => text.startsWith('/')),
    }),
    ...(page_contains.length > 0 && { page_contains }),
  }
}

/**
 * The events that decide about pages, sources and campaigns, by the number of the company; undefined when the filter has none of these.
 * Columns `page_in`, `page_contains_in`, `page_visits`, and `NAME_in` and `NAME_out` of sources and campaigns. Visits of a company are the sum
 * of those of its days.
 * @param by `day`: by company and day, with the column `day`
 */
export function matchedSql(
  filter: ResolvedFilter,
  basis: Corrected,
  of: CompanyCondition = knownCompanies(basis),
  by?: 'day',
): string | undefined {
  const sums: string[] = []
  const conditions: string[] = []
  for (const leaf of partsOf(filter)) {
    for (const { condition, columns } of matchedOf(leaf.filter)) {
      conditions.push(named(condition, leaf))
      for (const [name, sql] of columns) sums.push(`${named(sql, leaf)} AS ${name}${leaf.suffix}`)
    }
  }
  if (conditions.length === 0) return undefined
  const day = by === undefined ? '' : `, ${dayOf('timestamp', filter.zone)} AS day`
  return `
    SELECT ${targetOf(basis)} AS target${day}, ${sums.join()}
    FROM events
    WHERE tenant_id = {tenant:String} AND ${of.all('company')}${onEventDays(filter)}
      AND (${conditions.join(' OR ')})
    GROUP BY target${by === undefined ? '' : ', day'}`
}

/** Conditions on events of a filter, without those of its condition, and columns of `matchedSql` about them. */
function matchedOf(filter: Leaf['filter']) {
  const found: { readonly condition: string; readonly columns: (readonly [name: string, sql: string])[] }[] = []
  for (const [name, condition] of Object.entries(PAGES) as [PageField, string][]) {
    if (!isGiven(filter, name)) continue
    const visits = ['page_visits', `uniqExactIf(${visitOf(filter.zone)}, ${condition})`] as const
    const columns = [[`${name}_in`, `max(${condition})`] as const]
    found.push({ condition, columns: filter.page_visits_min === undefined ? columns : [...columns, visits] })
  }
  for (const [name, column] of Object.entries(EVENT_LISTS)) {
    for (const [end, given] of [
      ['in', name],
      ['out', `${name}_not`],
    ] as const) {
      if (!isGiven(filter, given)) continue
      const condition = `${column} IN {${given}:Array(String)}`
      found.push({ condition, columns: [[`${name}_${end}`, `max(${condition})`]] })
    }
  }
  return found
}

/** Condition on the days of events that decide, beginning with AND. */
export const onEventDays = ({ eventTo, zone }: Pick<ResolvedFilter, 'eventTo' | 'zone'>) =>
  eventsWithin({ from: '{event_from:Date32}', to: eventTo === undefined ? undefined : '{event_to:Date32}' }, zone)

/** The parameters of all conditions. */
export function parametersOf(filter: ResolvedFilter | Days): Parameters {
  const parameters: Record<string, string | number | readonly string[]> = {}
  if (filter.from !== undefined) parameters.from = filter.from
  if (filter.to !== undefined) parameters.to = filter.to
  if (!('eventFrom' in filter)) return parameters
  for (const { filter: part, suffix } of partsOf(filter)) {
    for (const [name, value] of Object.entries(ownParameters(part))) parameters[`${name}${suffix}`] = value
  }
  const isAboutEvents = partsOf(filter).some((part) => matchedOf(part.filter).length > 0)
  return isAboutEvents ? { ...parameters, ...eventDayParameters(filter) } : parameters
}

/** The parameters of a filter without days, and without those of its condition. */
function ownParameters(filter: Leaf['filter']): Parameters {
  const parameters: Record<string, string | number | readonly string[]> = {}
  if (searchOf(filter) !== '') parameters.search = searchOf(filter)
  for (const name of FACETS.flatMap((facet) => [facet, `${facet}_not`] as const)) {
    if (isGiven(filter, name)) parameters[name] = filter[name]!.map((value) => (value === NOT_KNOWN ? '' : value))
  }
  Object.assign(parameters, pageParameters(filter), ownConditions(filter.own ?? []).parameters)
  for (const name of ['page_visits_min', 'visits_min', 'visits_max', 'events_min', 'events_max', ...HEAT] as const) {
    if (filter[name] !== undefined) parameters[name] = filter[name]
  }
  if (filter.newFrom !== undefined) parameters.new_from = filter.newFrom
  if (filter.new_since !== undefined) parameters.new_since = Date.parse(filter.new_since)
  return parameters
}

/** The parameters of `onEventDays`. */
export function eventDayParameters({ eventFrom, eventTo }: ResolvedFilter): Parameters {
  return { event_from: eventFrom, ...(eventTo !== undefined && { event_to: eventTo }) }
}

function searchOf({ search = '' }: CompanyView): string {
  return search.replaceAll('\n', ' ').trim().slice(0, COMPANY_LIMITS.searchMaxChars)
}
