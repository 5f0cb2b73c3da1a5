import {
  COMPANY_LIMITS,
  type CompanyRow,
  type CompanySort,
  type CompanyView,
  type CountedCompany,
} from '../../schemas/companies.ts'
import type { OfTenant } from '../stores/clickhouse/reader.ts'
import { CORRECTIONS, HIDDEN_CHANGES } from '../stores/clickhouse/tables.ts'
import {
  type CompanyCondition,
  type Corrected,
  knownCompanies,
  type NumberCondition,
  targetIdOf,
  targetOf,
} from './corrected.ts'
import { companyDays, type ReadBasis, WITHIN, type Within } from './days.ts'
import {
  ATTRIBUTE_COLUMNS,
  conditionsOf,
  type Days,
  eventDayParameters,
  FACETS,
  type Facet,
  hasDays,
  type Leaf,
  matchedSql,
  needsHeat,
  needsTouches,
  needsVisits,
  onEventDays,
  parametersOf,
  type ResolvedFilter,
  TAGS,
} from './filter.ts'
import { FIT_RANK, fitColumns } from './fit.ts'
import { heatSql } from './heat.ts'
import { touchesSql } from './touches.ts'

// As in `company_sums`, character by character.
const FIRST_TIMESTAMP = 'minOrNullIf(timestamp, timestamp <= received_at + toIntervalDay(1))'
const RANK = 'toUnixTimestamp64Milli(received_at) * 256 + quality'

/** In the order of `company_sums`. */
const ATTRIBUTE_TEXTS = [
  ...['classification', 'country_code', 'industry_category', 'industry', 'domain', 'org_name', 'business_name'],
]
const joinedTexts = (names: readonly string[]) => names.join(", '\\x1f', ")
const TEXTS = joinedTexts(ATTRIBUTE_TEXTS)
/** Only `company_texts` has them in this order. */
const LOOKUP_TEXTS = joinedTexts([...ATTRIBUTE_TEXTS].reverse())
const textsOf = (texts: string, isLookup: boolean) =>
  isLookup ? `arrayReverse(splitByChar('\\x1f', ${texts}))` : `splitByChar('\\x1f', ${texts})`

/**
 * A row for each company of the tenant, as in the view `companies`: as people corrected it. A company that counts for another one has no row.
 * Hidden ones have `hidden`. One that others were merged into has their ids, names and domains in `merged_texts`. Reads the projection
 * `company_sums`, or `company_texts` for few companies, whose expressions it must repeat exactly.
 * @param isFew whether `of` names single companies
 */
export const companiesSql = (basis: Corrected, of: CompanyCondition = knownCompanies(basis), isFew = false) => {
  const partsOf = (isOne: NumberCondition, isLookup: boolean) => `
      SELECT
        any(company_id) AS part_id,
        count() AS part_stored,
        ${FIRST_TIMESTAMP} AS part_first,
        maxOrNullIf(timestamp, timestamp <= received_at + toIntervalDay(1)) AS part_last,
        min(received_at) AS part_received,
        max(${RANK}) AS part_ranked,
        finalizeAggregation(argMaxState(concat(${isLookup ? LOOKUP_TEXTS : TEXTS}), ${RANK})) AS part_texts
      FROM events
      WHERE tenant_id = {tenant:String} AND ${isOne('company')}
      GROUP BY company`
  const unmerged = (isOne: NumberCondition) => `
    SELECT
      part_id AS target_id,
      part_stored AS stored,
      part_first AS first_timestamp,
      part_last AS last_timestamp,
      part_received AS first_received,
      part_ranked AS ranked,
      ${textsOf('part_texts', isFew)} AS texts,
      CAST([], 'Array(String)') AS merged_texts
    FROM (${partsOf(isOne, isFew)})`
  const merged = (isOne: NumberCondition) => `
    SELECT
      ${targetIdOf(basis, 'part_id')} AS target_id,
      sum(part_stored) AS stored,
      min(part_first) AS first_timestamp,
      max(part_last) AS last_timestamp,
      min(part_received) AS first_received,
      argMax(part_ranked, (part_id = target_id, part_ranked)) AS ranked,
      ${textsOf('argMax(part_texts, (part_id = target_id, part_ranked))', true)} AS texts,
      groupArrayIf(arrayStringConcat(arrayPushFront(arraySlice(${textsOf('part_texts', true)}, 5), part_id), '\n'), part_id != target_id) AS merged_texts
    FROM (${partsOf(isOne, true)})
    GROUP BY target_id`
  const fit = fitColumns(basis)
  const parts = [...(of.unmerged ? [unmerged(of.unmerged)] : []), ...(of.merged ? [merged(of.merged)] : [])]
  const rows = `
  SELECT
    sipHash64(sums.target_id) AS company,
    sums.target_id AS company_id,
    stored,
    if(corrected.name != '', corrected.name, if(texts[7] != '', texts[7], if(texts[6] != '', texts[6], sums.target_id))) AS name,
    texts[6] AS full_name,
    texts[5] AS domain,
    texts[4] AS industry,
    texts[3] AS industry_category,
    texts[2] AS country_code,
    texts[1] AS classification,
    ifNull(first_timestamp, first_received) AS first_seen,
    ifNull(last_timestamp, first_received) AS last_seen,
    ranked % 256 AS quality,
    intDiv(ranked, 256) AS received_ms,
    toBool(corrected.is_hidden) AS hidden,
    merged_texts,
    corrected.tags AS tags,
    corrected.owner AS owner,
    corrected.status AS status,
    corrected.own AS own
  FROM (${parts.join('\n    UNION ALL ')}) AS sums
  LEFT JOIN (SELECT company_id, is_hidden, name, tags, owner, status, own FROM corrected_companies WHERE tenant_id = {tenant:String}${isFew ? ` AND ${of.all('sipHash64(company_id)')}` : ''}) AS corrected
    ON corrected.company_id = sums.target_id`
  return `
  SELECT *, ${fit}
  FROM (${rows})`
}

/** When each company was first seen, hidden ones too: `company`, `company_id` and `first_seen` of `companiesSql`, in a third of the time. */
export const firstSeenSql = (corrected: Corrected) => `
  SELECT target AS company, target_id AS company_id, first_seen
  FROM
  (
    SELECT
      ${targetOf(corrected)} AS target,
      ${targetIdOf(corrected, 'any(company_id)')} AS target_id,
      ifNull(${FIRST_TIMESTAMP}, min(received_at)) AS first_seen
    FROM events
    WHERE tenant_id = {tenant:String} AND ${knownCompanies(corrected).all('company')}
    GROUP BY target
  )`

/** A row of `companiesSql`. */
export type StoredCompanyRow = Omit<CompanyRow, 'events'> & { readonly stored: number }

/** Only the columns of the schema. */
export function rowOf(row: Omit<CompanyRow, 'events'>, events: number): CompanyRow {
  const { company_id, name, domain, industry, industry_category, country_code, classification } = row
  const { first_seen, last_seen, quality, tags, owner, status, own, fit, fit_reasons, hidden } = row
  return {
    ...{ company_id, name, domain, industry, industry_category, country_code, classification },
    ...{ events, first_seen, last_seen, quality, tags, owner, status, own, fit, fit_reasons, hidden },
  }
}

/** Columns whose values come from days. */
type CountName = 'visits' | 'unique_ips'
/** Columns that a list computes only when it needs them; `touches` are those of `TOUCH_COLUMNS`. */
type SlowName = CountName | 'heat' | 'touches'

/** Columns of the company itself, without those that take long for all companies. */
const COLUMNS = `company_id, name, domain, industry, industry_category, country_code, classification,
        first_seen, last_seen, quality, tags, owner, status, fit, fit_reasons, hidden`
/** Columns of `touchesSql` that a row of `CountedCompany` has. */
const TOUCH_COLUMNS = ['first_channel', 'first_campaign', 'last_channel', 'last_campaign'] as const
export type ShownTouches = Pick<CountedCompany, (typeof TOUCH_COLUMNS)[number]>

/** @param row of `touchesSql`; undefined: the company has no touch */
export function shownTouches(row: ShownTouches | undefined): ShownTouches {
  const { first_channel = '', first_campaign = '', last_channel = '', last_campaign = '' } = row ?? {}
  return { first_channel, first_campaign, last_channel, last_campaign }
}

const eventsOf = (days: Days) => (hasDays(days) ? 'counts.events' : 'stored')

/** Where a list finds its slow columns. */
const SLOW_COLUMNS: Readonly<Record<SlowName, readonly string[]>> = {
  visits: ['counts.visits AS visits'],
  unique_ips: ['counts.unique_ips AS unique_ips'],
  heat: ['heats.heat AS heat'],
  touches: TOUCH_COLUMNS.map((name) => `touches.${name} AS ${name}`),
}
const SLOW_NAMES = Object.keys(SLOW_COLUMNS) as SlowName[]

interface Sql {
  readonly query: string
  readonly parameters: OfTenant
}

/** A view with its days as dates, and its sources by id. */
export type ResolvedView = ResolvedFilter & Pick<CompanyView, 'sort' | 'direction'>

/**
 * SQL of a view.
 * @param columns default: all; without texts, a list takes a fourth of the time
 * @param wanted columns to compute for every company, in addition to those that sort and filter
 */
export function listSql(
  tenantId: string,
  basis: ReadBasis,
  view: ResolvedView,
  page: string,
  {
    columns = `${COLUMNS}, own`,
    wanted = [],
    chosen,
  }: {
    readonly columns?: string
    readonly wanted?: readonly SlowName[]
    /** Only these ids; default: all. */
    readonly chosen?: readonly string[] | undefined
  } = {},
): Sql {
  const { sort = 'last_seen', direction = 'desc' } = view
  const shown = SLOW_NAMES.filter((name) => name === sort || wanted.includes(name))
  const slow = shown.flatMap((name) => SLOW_COLUMNS[name].map((column) => `, ${column}`))
  const { facets, others } = conditionsOf(view)
  return {
    query: `
      SELECT ${columns}, ${eventsOf(view)} AS events${slow.join('')}
      FROM ${joined(basis, view, shown)}
      ${where([...facets.values(), ...others, ...(chosen ? ['company_id IN {chosen:Array(String)}'] : [])])}
      ORDER BY ${orderOf(sort, direction)}, company_id
      ${page}`,
    parameters: { tenant: tenantId, ...parametersOf(view), ...(chosen && { chosen }) },
  }
}

/** A part of a list in the order of ids, which no event changes. */
export interface ListPart {
  /** The last id of the part before; `''` for the first one. */
  readonly after: string
  /** Only companies with an event that was received, or a correction that was made, at or after this moment. */
  readonly updatedSinceMs: number | undefined
  readonly limit: number
}

/** Values of own columns of some companies. */
export const ownSql = (of: CompanyCondition) => `
  SELECT company_id, own
  FROM corrected_companies
  WHERE tenant_id = {tenant:String} AND ${of.all('sipHash64(company_id)')}`

/** Companies with a correction, their past and present merge targets, and those with events that a rule hid or showed. */
const correctedSince = (basis: ReadBasis) => `
    SELECT arrayJoin(if(field = 'counts_for', [company_id, value, before], [company_id]))
    FROM ${CORRECTIONS}
    WHERE tenant_id = {tenant:String} AND at >= fromUnixTimestamp64Milli({updated_since:Int64}, 'UTC')
    UNION ALL
    SELECT ${targetIdOf(basis)}
    FROM ${HIDDEN_CHANGES}
    WHERE tenant_id = {tenant:String} AND at >= fromUnixTimestamp64Milli({updated_since:Int64}, 'UTC')`

/**
 * SQL of a part of a list. It reads all companies after `after`, because a filter may keep few of them: a limit before the filter would
 * miss some.
 */
export function partSql(
  tenantId: string,
  basis: ReadBasis,
  filter: ResolvedFilter,
  { after, updatedSinceMs, limit }: ListPart,
): Sql {
  const { facets, others } = conditionsOf(filter)
  const updated =
    updatedSinceMs === undefined
      ? []
      : [`(received_ms >= {updated_since:Int64} OR company_id IN (${correctedSince(basis)}))`]
  return {
    query: `
      SELECT ${COLUMNS}, ${eventsOf(filter)} AS events
      FROM ${joined(basis, filter, [])}
      ${where(['company_id > {after:String}', ...updated, ...facets.values(), ...others])}
      ORDER BY company_id
      LIMIT {limit:UInt32}`,
    parameters: {
      ...{ tenant: tenantId, after, limit, ...parametersOf(filter) },
      ...(updatedSinceMs !== undefined && { updated_since: updatedSinceMs }),
    },
  }
}

/**
 * SQL of the companies that a filter keeps.
 * @param of only among these
 * @param columns of `companiesSql`, or made of what `further` needs
 */
export function matchingSql(
  tenantId: string,
  basis: ReadBasis,
  filter: ResolvedFilter,
  of: CompanyCondition,
  columns = 'company_id',
  further: readonly Leaf[] = [],
): Sql {
  const { facets, others } = conditionsOf(filter)
  const read = further.length === 0 ? filter : { ...filter, tree: { all: further.map((is) => ({ is })) } }
  return {
    query: `
      SELECT ${columns}
      FROM ${joined(basis, read, [], of)}
      ${where([...facets.values(), ...others])}`,
    parameters: { tenant: tenantId, ...parametersOf(filter) },
  }
}

/** Values of filters about the company itself, with the companies that all other filters keep. */
export function choicesSql(tenantId: string, basis: ReadBasis, filter: ResolvedFilter): Sql {
  const { facets, others } = conditionsOf(filter)
  const names = Object.keys(ATTRIBUTE_COLUMNS) as (keyof typeof ATTRIBUTE_COLUMNS)[]
  return {
    query: `
      SELECT filter, value, count() AS companies
      FROM
      (
        SELECT ${names.map((name) => `${ATTRIBUTE_COLUMNS[name]} AS value_${name}`).join()}, ${TAGS} AS tag, ${[...names, 'tag' as const].map((name) => `${keptBut(name, facets)} AS kept_${name}`).join()}
        FROM ${joined(basis, filter, ['touches'])}
        ${where(others)}
      )
      ARRAY JOIN
        arrayConcat([${names.map((name) => `'${name}'`).join()}], arrayMap(each -> 'tag', tag)) AS filter,
        arrayConcat([${names.map((name) => `value_${name}`).join()}], tag) AS value,
        arrayConcat([${names.map((name) => `kept_${name}`).join()}], arrayMap(each -> kept_tag, tag)) AS kept
      WHERE kept
      GROUP BY filter, value
      ORDER BY companies DESC, value
      LIMIT ${COMPANY_LIMITS.choices} BY filter`,
    parameters: { tenant: tenantId, ...parametersOf(filter) },
  }
}

/** The same for filters about events. */
export function eventChoicesSql(tenantId: string, basis: ReadBasis, filter: ResolvedFilter): Sql {
  const { facets, others } = conditionsOf(filter)
  const of = `tenant_id = {tenant:String} AND company != 0${onEventDays(filter)}`
  const target = targetOf(basis)
  const kept = `
    SELECT company, ${keptBut('source', facets)} AS kept_source, ${keptBut('campaign', facets)} AS kept_campaign
    FROM ${joined(basis, filter, [])}
    ${where(others)}`
  return {
    query: `
      SELECT filter, value, count() AS companies
      FROM
      (
        SELECT ${target} AS target, 'source' AS filter, toString(source_id) AS value FROM events WHERE ${of} GROUP BY target, value
        UNION ALL
        SELECT ${target} AS target, 'campaign' AS filter, toString(utm_campaign) AS value FROM events WHERE ${of} AND utm_campaign != '' GROUP BY target, value
      ) AS seen
      INNER JOIN (${kept}) AS kept ON kept.company = seen.target
      WHERE if(filter = 'source', kept_source, kept_campaign)
      GROUP BY filter, value
      ORDER BY companies DESC, value
      LIMIT ${COMPANY_LIMITS.choices} BY filter`,
    parameters: { tenant: tenantId, ...parametersOf(filter), ...eventDayParameters(filter) },
  }
}

/** Companies with the counts and flags that the conditions of a filter use. */
function joined(
  basis: ReadBasis,
  filter: ResolvedFilter,
  shown: readonly SlowName[],
  of: CompanyCondition = knownCompanies(basis),
): string {
  const counts = shown.filter((name) => name !== 'heat' && name !== 'touches')
  const names = [...new Set([...counts, ...(needsVisits(filter) ? (['visits'] as const) : [])])]
  const matched = matchedSql(filter, basis, of)
  const joins = [
    ...(shown.includes('heat') || needsHeat(filter)
      ? [`LEFT JOIN (${heatSql(basis, of)}) AS heats USING company`]
      : []),
    ...(hasDays(filter) || names.length > 0
      ? [`INNER JOIN (${countsSql(basis, filter, names, of)}) AS counts USING company`]
      : []),
    ...(shown.includes('touches') || needsTouches(filter)
      ? [`LEFT JOIN (${touchesSql(basis, of)}) AS touches USING company`]
      : []),
    ...(matched === undefined ? [] : [`LEFT JOIN (${matched}) AS matched ON matched.target = companies.company`]),
  ]
  return `(${companiesSql(basis, of)}) AS companies
      ${joins.join('\n      ')}`
}

function keptBut(facet: Facet, facets: ReadonlyMap<Facet, string>): string {
  const conditions = FACETS.filter((name) => name !== facet && facets.has(name)).map((name) => facets.get(name))
  return conditions.length === 0 ? '1' : `(${conditions.join(' AND ')})`
}

function where(conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
}

/** Counts of companies on the days of a view: `company`, `events`, and those named. */
export function countsSql(
  basis: ReadBasis,
  days: Days,
  names: readonly CountName[],
  of: CompanyCondition = knownCompanies(basis),
): string {
  const withVisitors = names.includes('unique_ips')
  const columns = { visits: 'sum(days.visits) AS visits', unique_ips: 'uniqExactArray(visitors) AS unique_ips' }
  return `
    SELECT company, sum(days.events) AS events${names.map((name) => `, ${columns[name]}`).join('')}
    FROM (${companyDays(basis, { companies: of, within: within(days), withVisitors })}) AS days
    GROUP BY company`
}

/** The days of a view, from the parameters `from` and `to`. */
export const within = ({ from, to }: Days): Within => ({
  from: from === undefined ? undefined : WITHIN.from,
  to: to === undefined ? undefined : WITHIN.to,
})

const SORTED_TEXTS: ReadonlySet<CompanySort> = new Set(['name', 'domain', 'industry', 'country_code', 'classification'])

/** Sorts texts case-insensitively, with unknown values last. */
function orderOf(sort: CompanySort, direction: 'asc' | 'desc'): string {
  const way = direction === 'asc' ? 'ASC' : 'DESC'
  if (sort === 'fit') return `${FIT_RANK} ${way}, last_seen DESC`
  return SORTED_TEXTS.has(sort) ? `${sort} = '', lowerUTF8(${sort}) ${way}` : `${sort} ${way}`
}
