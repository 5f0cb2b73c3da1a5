import type { CompanySort, CompanyView } from '../../schemas/dashboard/companies.ts'
import { COMPANY_LIMITS, NOT_KNOWN } from '../../schemas/dashboard/companies.ts'
import type { OfTenant, Parameters } from '../stores/clickhouse/reader.ts'

/*
 * To use a projection of `events`, a query must repeat its expressions exactly. Names and sums of companies come from
 * company_list, sets of addresses from account_sums and account_days.
 */

const OF_TENANT = "tenant_id = {tenant:String} AND company_id > ''"
const RANK = 'toUnixTimestamp64Milli(received_at) * 256 + quality'

/** A row for each company of the tenant, as in the view `companies`. */
export const COMPANIES = `
  SELECT
    company_id,
    stored,
    if(texts[7] != '', texts[7], if(texts[6] != '', texts[6], company_id)) AS name,
    texts[6] AS full_name,
    texts[5] AS domain,
    texts[4] AS industry,
    texts[3] AS industry_category,
    texts[2] AS country_code,
    texts[1] AS classification,
    ifNull(first_timestamp, first_received) AS first_seen,
    ifNull(last_timestamp, first_received) AS last_seen,
    known AS quality
  FROM
  (
    SELECT
      company_id,
      count() AS stored,
      minOrNullIf(timestamp, timestamp <= received_at + toIntervalDay(1)) AS first_timestamp,
      maxOrNullIf(timestamp, timestamp <= received_at + toIntervalDay(1)) AS last_timestamp,
      min(received_at) AS first_received,
      max(${RANK}) % 256 AS known,
      splitByChar('\\x1f', finalizeAggregation(argMaxState(concat(classification, '\\x1f', country_code, '\\x1f', industry_category, '\\x1f', industry, '\\x1f', domain, '\\x1f', org_name, '\\x1f', business_name), ${RANK}))) AS texts
    FROM events
    WHERE ${OF_TENANT}
    GROUP BY company_id
  )`

const ADDRESSES = 'uniqExactState(sipHash64(ip))'

/** Sets of addresses, by column. They are several times as slow as all other columns. */
const SETS = {
  visits: 'finalizeAggregation(uniqExactState(sipHash64(ip, toDate32(timestamp)))) AS visits',
  unique_ips: `finalizeAggregation(${ADDRESSES}) AS unique_ips`,
} as const
type SetName = keyof typeof SETS

/** A visit is a distinct pair of address and day, so this sums the distinct addresses of each day. */
const SETS_OF_DAYS = {
  visits: 'sum(day_addresses) AS visits',
  unique_ips: 'uniqExactMerge(addresses) AS unique_ips',
} as const

/** Events, addresses and visits by company and day. @param of more conditions */
export const companyDays = (of: string) => `
  SELECT
    company_id,
    toDate32(timestamp) AS day,
    count() AS day_events,
    ${ADDRESSES} AS addresses,
    finalizeAggregation(${ADDRESSES}) AS day_addresses
  FROM events
  WHERE ${OF_TENANT}${of}
  GROUP BY company_id, day`

interface Sql {
  readonly query: string
  readonly parameters: OfTenant
}

/** SQL of a view. @param sets columns to count for every company, in addition to the one that sorts */
export function listSql(tenantId: string, view: CompanyView, page: string, sets: readonly SetName[] = []): Sql {
  const { sort = 'last_seen', direction = 'desc' } = view
  const needed = (['visits', 'unique_ips'] as const).filter((name) => name === sort || sets.includes(name))
  const conditions = conditionsOf(view)
  const hasDays = view.from !== undefined || view.to !== undefined
  const counted = hasDays || needed.length > 0 ? countsSql(hasDays ? view : undefined, needed) : ''
  return {
    query: `
      SELECT
        company_id, name, domain, industry, industry_category, country_code, classification,
        ${hasDays ? 'counts.events' : 'stored'} AS events${needed.map((name) => `, counts.${name} AS ${name}`).join('')},
        first_seen, last_seen, quality
      FROM (${COMPANIES}) AS companies
      ${counted === '' ? '' : `INNER JOIN (${counted}) AS counts USING company_id`}
      ${conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`}
      ORDER BY ${orderOf(sort, direction)}, company_id
      ${page}`,
    parameters: { tenant: tenantId, ...parametersOf(view) },
  }
}

/**
 * Counts of companies that `COMPANIES` lacks: events on the days of a view, and sets of addresses.
 * @param view undefined: all days, without events
 * @param of more conditions
 */
export function countsSql(view: Days | undefined, sets: readonly SetName[], of = ''): string {
  const where = `${OF_TENANT}${of}`
  if (view === undefined) {
    return `SELECT company_id, ${sets.map((name) => SETS[name]).join()} FROM events WHERE ${where} GROUP BY company_id`
  }
  const days = daysOf(view)
  if (sets.length === 0)
    return `SELECT company_id, count() AS events FROM events WHERE ${where}${days} GROUP BY company_id`
  const columns = sets.map((name) => SETS_OF_DAYS[name]).join()
  return `SELECT company_id, sum(day_events) AS events, ${columns} FROM (${companyDays(of + days)}) GROUP BY company_id`
}

type Days = Pick<CompanyView, 'from' | 'to'>

/** Condition on the days of a view. */
function daysOf({ from, to }: Days): string {
  const first = from === undefined ? '' : ' AND toDate32(timestamp) >= {from:Date32}'
  return to === undefined ? first : `${first} AND toDate32(timestamp) <= {to:Date32}`
}

/** Columns by filter. */
const EXACT = {
  industry: 'industry',
  category: 'industry_category',
  country: 'country_code',
  classification: 'classification',
} as const

function conditionsOf(view: CompanyView): string[] {
  const conditions: string[] = []
  if (searchOf(view) !== '') {
    // Search one concatenated text, which is faster. The search text has no line feed.
    const texts = "concat(company_id, '\\n', name, '\\n', full_name, '\\n', domain)"
    conditions.push(`positionCaseInsensitiveUTF8(${texts}, {search:String}) > 0`)
  }
  for (const [filter, column] of Object.entries(EXACT)) {
    if (view[filter as keyof typeof EXACT] !== undefined) conditions.push(`${column} = {${filter}:String}`)
  }
  if (view.new_since !== undefined) conditions.push("first_seen >= fromUnixTimestamp64Milli({new_since:Int64}, 'UTC')")
  return conditions
}

/** Parameters of a view. */
export function parametersOf(view: CompanyView): Parameters {
  const parameters: Record<string, string | number> = {}
  if (searchOf(view) !== '') parameters.search = searchOf(view)
  for (const filter of Object.keys(EXACT) as (keyof typeof EXACT)[]) {
    const value = view[filter]
    if (value !== undefined) parameters[filter] = value === NOT_KNOWN ? '' : value
  }
  if (view.from !== undefined) parameters.from = view.from
  if (view.to !== undefined) parameters.to = view.to
  if (view.new_since !== undefined) parameters.new_since = Date.parse(view.new_since)
  return parameters
}

function searchOf({ search = '' }: CompanyView): string {
  return search.replaceAll('\n', ' ').trim().slice(0, COMPANY_LIMITS.searchMaxChars)
}

const TEXTS: ReadonlySet<CompanySort> = new Set(['name', 'domain', 'industry', 'country_code', 'classification'])

/** Sorts texts case-insensitively, with unknown values last. */
function orderOf(sort: CompanySort, direction: 'asc' | 'desc'): string {
  const way = direction === 'asc' ? 'ASC' : 'DESC'
  return TEXTS.has(sort) ? `${sort} = '', lowerUTF8(${sort}) ${way}` : `${sort} ${way}`
}
