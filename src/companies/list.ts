import { COMPANY_LIMITS, type CompanyRow, type CompanySort, type CompanyView } from '../../schemas/companies.ts'
import type { OfTenant } from '../stores/clickhouse/reader.ts'
import { CORRECTIONS, HIDDEN_CHANGES } from '../stores/clickhouse/tables.ts'
import { COUNTS_FOR, IN_COMPANIES } from './corrected.ts'
import {
  ATTRIBUTE_COLUMNS,
  conditionsOf,
  type Days,
  daysOfEvents,
  eventDayParameters,
  FACETS,
  type Facet,
  hasDays,
  matchedSql,
  needsHeat,
  needsVisits,
  parametersOf,
  type ResolvedFilter,
  TAGS,
  UTM,
} from './filter.ts'
import { HEAT_OF_THESE, heatSql } from './heat.ts'

/*
 * To use a projection of `events`, a query must repeat its expressions exactly. Names and sums of companies come from
 * company_list, sets of addresses from account_sums and account_days.
 */

const OF_TENANT = "tenant_id = {tenant:String} AND company_id > ''"
const RANK = 'toUnixTimestamp64Milli(received_at) * 256 + quality'

/**
 * A row for each company of the tenant, as in the view `companies`: as people corrected it. A company that counts for another one has no row.
 * Hidden ones have `hidden`. One that others were merged into has their ids, names and domains in `merged_texts`. @param of more conditions
 */
export const companiesSql = (of = '') => `
  SELECT
    sums.company_id AS company_id,
    stored,
    if(corrected.name != '', corrected.name, if(texts[7] != '', texts[7], if(texts[6] != '', texts[6], sums.company_id))) AS name,
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
    corrected.owner AS owner
  FROM
  (
    SELECT
      target AS company_id,
      sum(part_stored) AS stored,
      min(part_first) AS first_timestamp,
      max(part_last) AS last_timestamp,
      min(part_received) AS first_received,
      argMax(part_ranked, (part_id = target, part_ranked)) AS ranked,
      argMax(part_texts, (part_id = target, part_ranked)) AS texts,
      groupArrayIf(arrayStringConcat([part_id, part_texts[7], part_texts[6], part_texts[5]], '\n'), part_id != target) AS merged_texts
    FROM
    (
      SELECT
        company_id AS part_id,
        ${COUNTS_FOR} AS target,
        count() AS part_stored,
        minOrNullIf(timestamp, timestamp <= received_at + toIntervalDay(1)) AS part_first,
        maxOrNullIf(timestamp, timestamp <= received_at + toIntervalDay(1)) AS part_last,
        min(received_at) AS part_received,
        max(${RANK}) AS part_ranked,
        splitByChar('\\x1f', finalizeAggregation(argMaxState(concat(classification, '\\x1f', country_code, '\\x1f', industry_category, '\\x1f', industry, '\\x1f', domain, '\\x1f', org_name, '\\x1f', business_name), ${RANK}))) AS part_texts
      FROM events
      WHERE ${OF_TENANT}${of}
      GROUP BY company_id
    )
    GROUP BY target
  ) AS sums
  LEFT JOIN (SELECT company_id, is_hidden, name, tags, owner FROM corrected_companies WHERE tenant_id = {tenant:String}) AS corrected
    ON corrected.company_id = sums.company_id`

/** A row of `companiesSql`. */
export type StoredCompanyRow = Omit<CompanyRow, 'events'> & { readonly stored: number }

/** Only the columns of the schema. */
export function rowOf(row: Omit<CompanyRow, 'events'>, events: number): CompanyRow {
  const { company_id, name, domain, industry, industry_category, country_code, classification } = row
  const { first_seen, last_seen, quality, tags, owner, hidden } = row
  return {
    ...{ company_id, name, domain, industry, industry_category, country_code, classification },
    ...{ events, first_seen, last_seen, quality, tags, owner, hidden },
  }
}

/** Condition on the companies of the parameter `companies`. */
export const OF_THESE = ` AND ${IN_COMPANIES} AND ${COUNTS_FOR} IN {companies:Array(String)}`

const ADDRESSES = 'uniqExactState(sipHash64(ip))'

/** Sets of addresses, by column. They are several times as slow as all other columns. */
const SETS = {
  visits: 'finalizeAggregation(uniqExactState(sipHash64(ip, toDate32(timestamp)))) AS visits',
  unique_ips: `finalizeAggregation(${ADDRESSES}) AS unique_ips`,
} as const
type SetName = keyof typeof SETS
/** Columns that take as long as the rest of a list. */
type SlowName = SetName | 'heat'

/** A visit is a distinct pair of address and day, so this sums the distinct addresses of each day. */
const SETS_OF_DAYS = {
  visits: 'sum(day_addresses) AS visits',
  unique_ips: 'uniqExactMerge(addresses) AS unique_ips',
} as const

/** Events, addresses and visits by company and day. @param of more conditions */
export const companyDays = (of: string) => `
  SELECT
    ${COUNTS_FOR} AS company,
    toDate32(timestamp) AS day,
    count() AS day_events,
    ${ADDRESSES} AS addresses,
    finalizeAggregation(${ADDRESSES}) AS day_addresses
  FROM events
  WHERE ${OF_TENANT}${of}
  GROUP BY company, day`

interface Sql {
  readonly query: string
  readonly parameters: OfTenant
}

/** A view with its days as dates, and its sources by id. */
export type ResolvedView = ResolvedFilter & Pick<CompanyView, 'sort' | 'direction'>

/** SQL of a view. @param wanted columns to compute for every company, in addition to those that sort and filter */
export function listSql(tenantId: string, view: ResolvedView, page: string, wanted: readonly SlowName[] = []): Sql {
  const { sort = 'last_seen', direction = 'desc' } = view
  const shown = (['visits', 'unique_ips', 'heat'] as const).filter((name) => name === sort || wanted.includes(name))
  const { facets, others } = conditionsOf(view)
  return {
    query: `
      SELECT
        company_id, name, domain, industry, industry_category, country_code, classification,
        ${hasDays(view) ? 'counts.events' : 'stored'} AS events${shown.map((name) => `, ${name === 'heat' ? 'heats' : 'counts'}.${name} AS ${name}`).join('')},
        first_seen, last_seen, quality, tags, owner, hidden
      FROM ${joined(view, shown)}
      ${where([...facets.values(), ...others])}
      ORDER BY ${orderOf(sort, direction)}, company_id
      ${page}`,
    parameters: { tenant: tenantId, ...parametersOf(view) },
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

/** Companies that a correction concerned, with those that a merge now or formerly counts for, and those with events that a rule hid or showed. */
const CORRECTED_SINCE = `
    SELECT arrayJoin(if(field = 'counts_for', [company_id, value, before], [company_id]))
    FROM ${CORRECTIONS}
    WHERE tenant_id = {tenant:String} AND at >= fromUnixTimestamp64Milli({updated_since:Int64}, 'UTC')
    UNION ALL
    SELECT ${COUNTS_FOR}
    FROM ${HIDDEN_CHANGES}
    WHERE tenant_id = {tenant:String} AND at >= fromUnixTimestamp64Milli({updated_since:Int64}, 'UTC')`

/**
 * Condition on the companies after a part, so that ClickHouse skips all before it by the key of its projection. Those that count for a
 * later one stay, whatever their own id.
 */
const AFTER = ` AND (company_id > {after:String} OR company_id IN (
    SELECT company_id FROM corrected_companies WHERE tenant_id = {tenant:String} AND counts_for > {after:String}
  ))`

/**
 * SQL of a part of a list. It reads all companies after `after`, because a filter may keep few of them: a limit before the filter would
 * miss some.
 */
export function partSql(tenantId: string, filter: ResolvedFilter, { after, updatedSinceMs, limit }: ListPart): Sql {
  const { facets, others } = conditionsOf(filter)
  const updated =
    updatedSinceMs === undefined ? [] : [`(received_ms >= {updated_since:Int64} OR company_id IN (${CORRECTED_SINCE}))`]
  return {
    query: `
      SELECT
        company_id, name, domain, industry, industry_category, country_code, classification,
        ${hasDays(filter) ? 'counts.events' : 'stored'} AS events, first_seen, last_seen, quality,
        tags, owner, hidden
      FROM ${joined(filter, [], after === '' ? '' : AFTER)}
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
 * @param of default: only among those in the parameter `companies`
 * @param columns of `companiesSql`
 */
export function matchingSql(tenantId: string, filter: ResolvedFilter, of = OF_THESE, columns = 'company_id'): Sql {
  const { facets, others } = conditionsOf(filter)
  return {
    query: `
      SELECT ${columns}
      FROM ${joined(filter, [], of)}
      ${where([...facets.values(), ...others])}`,
    parameters: { tenant: tenantId, ...parametersOf(filter) },
  }
}

/** Values of filters about the company itself, with the companies that all other filters keep. */
export function choicesSql(tenantId: string, filter: ResolvedFilter): Sql {
  const { facets, others } = conditionsOf(filter)
  const names = Object.keys(ATTRIBUTE_COLUMNS) as (keyof typeof ATTRIBUTE_COLUMNS)[]
  return {
    query: `
      SELECT filter, value, count() AS companies
      FROM
      (
        SELECT ${Object.values(ATTRIBUTE_COLUMNS).join()}, ${TAGS} AS tag, ${[...names, 'tag' as const].map((name) => `${keptBut(name, facets)} AS kept_${name}`).join()}
        FROM ${joined(filter, [])}
        ${where(others)}
      )
      ARRAY JOIN
        arrayConcat([${names.map((name) => `'${name}'`).join()}], arrayMap(each -> 'tag', tag)) AS filter,
        arrayConcat([${Object.values(ATTRIBUTE_COLUMNS).join()}], tag) AS value,
        arrayConcat([${names.map((name) => `kept_${name}`).join()}], arrayMap(each -> kept_tag, tag)) AS kept
      WHERE kept
      GROUP BY filter, value
      ORDER BY companies DESC, value
      LIMIT ${COMPANY_LIMITS.choices} BY filter`,
    parameters: { tenant: tenantId, ...parametersOf(filter) },
  }
}

/** The same for filters about events. */
export function eventChoicesSql(tenantId: string, filter: ResolvedFilter): Sql {
  const { facets, others } = conditionsOf(filter)
  const of = `${OF_TENANT}${daysOfEvents(filter)}`
  const kept = `
    SELECT company_id, ${keptBut('source', facets)} AS kept_source, ${keptBut('campaign', facets)} AS kept_campaign
    FROM ${joined(filter, [])}
    ${where(others)}`
  return {
    query: `
      SELECT filter, value, count() AS companies
      FROM
      (
        SELECT ${COUNTS_FOR} AS company, 'source' AS filter, toString(source_id) AS value FROM events WHERE ${of} GROUP BY company, value
        UNION ALL
        SELECT ${COUNTS_FOR} AS company, 'campaign' AS filter, toString(utm_campaign) AS value FROM events WHERE ${of} AND ${UTM} GROUP BY company, value
      ) AS seen
      INNER JOIN (${kept}) AS kept ON kept.company_id = seen.company
      WHERE (filter = 'source' OR value != '') AND if(filter = 'source', kept_source, kept_campaign)
      GROUP BY filter, value
      ORDER BY companies DESC, value
      LIMIT ${COMPANY_LIMITS.choices} BY filter`,
    parameters: { tenant: tenantId, ...parametersOf(filter), ...eventDayParameters(filter) },
  }
}

/** Companies with the counts and flags that the conditions of a filter use. @param of more conditions on companies */
function joined(filter: ResolvedFilter, shown: readonly SlowName[], of = ''): string {
  const ofShown = shown.filter((name) => name !== 'heat')
  const sets = [...new Set([...ofShown, ...(needsVisits(filter) ? (['visits'] as const) : [])])]
  const heat = shown.includes('heat') || needsHeat(filter) ? (of === OF_THESE ? HEAT_OF_THESE : heatSql()) : ''
  const counts = hasDays(filter) || sets.length > 0 ? countsSql(hasDays(filter) ? filter : undefined, sets, of) : ''
  const matched = matchedSql(filter, of)
  return `(${companiesSql(of)}) AS companies
      ${heat === '' ? '' : `LEFT JOIN (${heat}) AS heats USING company_id`}
      ${counts === '' ? '' : `INNER JOIN (${counts}) AS counts USING company_id`}
      ${matched === undefined ? '' : `LEFT JOIN (${matched}) AS matched USING company_id`}`
}

function keptBut(facet: Facet, facets: ReadonlyMap<Facet, string>): string {
  const conditions = FACETS.filter((name) => name !== facet && facets.has(name)).map((name) => facets.get(name))
  return conditions.length === 0 ? '1' : `(${conditions.join(' AND ')})`
}

function where(conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
}

/**
 * Counts of companies that `companiesSql` lacks: events on the days of a view, and sets of addresses.
 * @param view undefined: all days, without events
 * @param of more conditions
 */
export function countsSql(view: Days | undefined, sets: readonly SetName[], of = ''): string {
  const where = `${OF_TENANT}${of}`
  if (view === undefined) {
    const columns = sets.map((name) => SETS[name]).join()
    return `SELECT company AS company_id, ${sets.join()} FROM (SELECT ${COUNTS_FOR} AS company, ${columns} FROM events WHERE ${where} GROUP BY company)`
  }
  const days = daysOf(view)
  if (sets.length === 0)
    return `SELECT company AS company_id, events FROM (SELECT ${COUNTS_FOR} AS company, count() AS events FROM events WHERE ${where}${days} GROUP BY company)`
  const columns = sets.map((name) => SETS_OF_DAYS[name]).join()
  return `SELECT company AS company_id, sum(day_events) AS events, ${columns} FROM (${companyDays(of + days)}) GROUP BY company`
}

/** Condition on the days of a view. */
export function daysOf({ from, to }: Days): string {
  const first = from === undefined ? '' : ' AND toDate32(timestamp) >= {from:Date32}'
  return to === undefined ? first : `${first} AND toDate32(timestamp) <= {to:Date32}`
}

const TEXTS: ReadonlySet<CompanySort> = new Set(['name', 'domain', 'industry', 'country_code', 'classification'])

/** Sorts texts case-insensitively, with unknown values last. */
function orderOf(sort: CompanySort, direction: 'asc' | 'desc'): string {
  const way = direction === 'asc' ? 'ASC' : 'DESC'
  return TEXTS.has(sort) ? `${sort} = '', lowerUTF8(${sort}) ${way}` : `${sort} ${way}`
}
