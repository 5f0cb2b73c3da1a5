import type { QuestionReader } from '../stores/clickhouse/reader.ts'
import { CORRECTIONS } from '../stores/clickhouse/tables.ts'
import {
  type CompanyCondition,
  type Corrected,
  isVisible,
  knownCompanies,
  type NumberCondition,
  targetOf,
  UNCORRECTED,
} from './corrected.ts'

/*
 * The activity of companies on each UTC day. Finished numbers of a day are stored (src/days/README.md). A query reads the stored days that
 * prove themselves, and all other days from `events`. So a first query reads these days, the merges and the hidden companies.
 */

/** Days since 1970-01-01, and when this day was built, in milliseconds. */
type Build = readonly [day: number, builtMs: number]

/** The source of each day in a query about a tenant. */
interface DaySources {
  /** Read from the stored days. */
  readonly builds: readonly Build[]
  /** Read from `events`; undefined: every day. */
  readonly live: readonly number[] | undefined
}

/**
 * How much a query reads. `corrections`: names and corrections only. `days`: also `companyDays`. `pages`: also `pageDays` and heat. A query that
 * reads more than it announced is right, and slow.
 */
export type Need = 'corrections' | 'days' | 'pages'

/** The facts that a query about companies needs first. */
export interface ReadBasis extends Corrected {
  /** Sources of `companyDays`. */
  readonly companies: DaySources
  /** Sources of `pageDays`. */
  readonly pages: DaySources
}

const ONLY_EVENTS: DaySources = { builds: [], live: undefined }

/** Reads `events` only: right for every state of the tables, and slow. */
export const fromEvents = (corrected: Corrected): ReadBasis => ({
  ...corrected,
  companies: ONLY_EVENTS,
  pages: ONLY_EVENTS,
})

/** The settings of a tenant are rows of the log without a company. */
const CORRECTED = `
    maxIf(heat_weights, company_id = '') AS heat_weights,
    maxIf(fit, company_id = '') AS fit,
    groupArrayIf((company_id, counts_for, toString(sipHash64(company_id)), toString(sipHash64(counts_for))), counts_for != '') AS merged,
    groupArrayIf(toString(sipHash64(company_id)), is_hidden) AS hidden`
/** From the log, because the view reads facts of all companies too. */
const FROM_CORRECTED = `
  FROM
  (
    SELECT
      company_id,
      argMaxIf(value, (at, change_id), field = 'hidden') != '' AS is_hidden,
      argMaxIf(value, (at, change_id), field = 'counts_for') AS counts_for,
      argMaxIf(value, (at, change_id), field = 'heat_weights') AS heat_weights,
      argMaxIf(value, (at, change_id), field = 'fit') AS fit
    FROM ${CORRECTIONS}
    WHERE tenant_id = {tenant:String} AND field IN ('hidden', 'counts_for', 'heat_weights', 'fit')
    GROUP BY company_id
  )`
const builds = (view: string) =>
  `(SELECT groupArray((toInt32(day), built)) FROM ${view} WHERE tenant_id = {tenant:String})`

/** SQL of merges, hidden companies and settings: one row of `Corrected`. */
export const CORRECTED_SQL = `
  SELECT ${CORRECTED}
  ${FROM_CORRECTED}`

/** The first query of every read of companies. */
const basisSql = (need: 'days' | 'pages') => `
  SELECT ${CORRECTED},
    ${builds('day_builds')} AS builds,
    ${need === 'pages' ? builds('valid_page_days') : '[]'} AS page_builds,
    toInt32(toDate32(now('UTC'))) AS today
  ${FROM_CORRECTED}`

interface Found extends Corrected {
  /** Every day with events. A build of 0 means none. */
  readonly builds: readonly Build[]
  /** A build of 0: no company saw a page on this day. */
  readonly page_builds: readonly Build[]
  readonly today: number
}

/** Days that a query reads from builds: those of eight years. Older ones are read from `events`, to limit the text of the query. */
const BUILDS_MAX = 3_000

/** Reads the facts that queries about the companies of a tenant need first. Rejects as `QuestionReader.find`. */
export async function readBasis(reader: QuestionReader, tenant: string, need: Need): Promise<ReadBasis> {
  if (need === 'corrections') {
    const [corrected = UNCORRECTED] = await reader.rows<Corrected>(CORRECTED_SQL, { tenant })
    return fromEvents(corrected)
  }
  const [found] = await reader.rows<Found>(basisSql(need), { tenant })
  if (found === undefined) return fromEvents(UNCORRECTED)
  const { builds: all, page_builds, today, ...corrected } = found
  const sourcesOf = (proved: readonly Build[]): DaySources => {
    const past = proved.filter(([day]) => day < today).sort(([a], [b]) => b - a)
    const stored = past.slice(0, BUILDS_MAX)
    const days = new Set(stored.map(([day]) => day))
    // The next query may run tomorrow.
    const live = new Set([...all.flatMap(([day]) => (days.has(day) ? [] : [day])), today, today + 1])
    return { builds: stored.filter(([, built]) => built > 0), live: [...live] }
  }
  const companies = sourcesOf(all.filter(([, built]) => built > 0))
  return { ...corrected, companies, pages: need === 'pages' ? sourcesOf(page_builds) : ONLY_EVENTS }
}

/** Condition on a column with a UTC day, beginning with AND; default: all days. */
export type Within = (day: string) => string

/** The days of the parameters `from` and `to`. */
export const WITHIN: Within = (day) => ` AND ${day} >= {from:Date32} AND ${day} <= {to:Date32}`

interface DayRows {
  /** Default: all known companies. */
  readonly companies?: CompanyCondition
  readonly within?: Within | undefined
  /** Adds the column `visitors`, an array of their numbers, which takes several times as long. */
  readonly withVisitors?: boolean
}

const VISITS = 'uniqExact(visit)'
const DAY = 'toDate32(timestamp)'
const IN_TENANT = 'tenant_id = {tenant:String}'
const UNION = '\n    UNION ALL '

const inLiveDays = ({ live }: DaySources) => (live === undefined ? '' : ` AND ${DAY} IN (${live.join()})`)
const inBuilds = ({ builds }: DaySources) =>
  ` AND (day, built) IN (${builds.map(([day, built]) => `(${day},${built})`).join()})`

/** A row for each company and day, before corrections: `company`, `day`, `events`, `visits`. */
function uncorrectedDays(
  { companies: sources }: ReadBasis,
  isOne: NumberCondition,
  { within = () => '', withVisitors = false }: DayRows,
): string {
  const live = `
    SELECT company, ${DAY} AS day, count() AS events, ${VISITS} AS visits${withVisitors ? ', groupUniqArray(visitor) AS visitors' : ''}
    FROM events
    WHERE ${IN_TENANT} AND ${isOne('company')}${inLiveDays(sources)}${within(DAY)}
    GROUP BY company, day`
  if (sources.builds.length === 0) return live
  const stored = `
    SELECT entity AS company, day, toUInt64(events) AS events, toUInt64(visits) AS visits${withVisitors ? ', visitors' : ''}
    FROM entity_days
    WHERE ${IN_TENANT} AND kind != 'account' AND ${isOne('entity')}${inBuilds(sources)}${within('day')}`
  return stored + UNION + live
}

/** SQL of a row for each day with events that have neither a company nor an account: `visits`. */
export function accountlessVisits({ companies: sources }: ReadBasis, within: Within): string {
  const live = `
    SELECT ${VISITS} AS visits
    FROM events
    WHERE ${IN_TENANT} AND account_id = ''${inLiveDays(sources)}${within(DAY)}
    GROUP BY ${DAY}`
  if (sources.builds.length === 0) return live
  const stored = `
    SELECT toUInt64(visits) AS visits
    FROM entity_days
    WHERE ${IN_TENANT} AND entity = 0 AND kind != 'company'${inBuilds(sources)}${within('day')}`
  return stored + UNION + live
}

/**
 * SQL of a row for each company and day, after corrections: `company`, `day`, `events`, `visits`. Merged companies count for their target, and
 * a visitor of several of them is one visit. Hidden companies have rows too: see `isVisible`.
 */
export function companyDays(basis: ReadBasis, rows: DayRows = {}): string {
  const { companies: { unmerged, merged } = knownCompanies(basis), withVisitors = false } = rows
  const parts: string[] = []
  if (unmerged !== undefined) parts.push(uncorrectedDays(basis, unmerged, rows))
  if (merged !== undefined) {
    const visited = uncorrectedDays(basis, merged, { ...rows, withVisitors: true })
    parts.push(`
    SELECT target AS company, day, sum(events) AS events, length(groupUniqArrayArray(visitors) AS all_visitors) AS visits${withVisitors ? ', all_visitors AS visitors' : ''}
    FROM (SELECT ${targetOf(basis)} AS target, day, events, visitors FROM (${visited}))
    GROUP BY target, day`)
  }
  return parts.join(UNION)
}

/** The same without hidden companies. */
export const visibleDays = (basis: ReadBasis, rows: DayRows = {}) =>
  `SELECT * FROM (${companyDays(basis, rows)}) WHERE ${isVisible(basis, 'company')}`

interface PageRows {
  /** Default: all known companies. */
  readonly companies?: CompanyCondition
  readonly within: Within
  /** Condition on the column `page`. */
  readonly pages?: string
}

/**
 * SQL of a row for each page, company and day, after corrections: `page`, `company`, `day`, `events`, `visits`, and `last`, the time of the
 * latest event.
 */
export function pageDays(
  basis: ReadBasis,
  { companies = knownCompanies(basis), within, pages = "page != ''" }: PageRows,
): string {
  const { all, unmerged, merged } = companies
  const { pages: sources } = basis
  const stored = (isOne: NumberCondition) => `
    SELECT page, company, day, toUInt64(events) AS events, toUInt64(visits) AS visits, last
    FROM page_days
    WHERE ${IN_TENANT} AND ${isOne('company')} AND ${pages}${inBuilds(sources)}${within('day')}`
  const live = (isOne: NumberCondition, days: DaySources) => `
    SELECT page, target AS company, day, events, visits, last
    FROM
    (
      SELECT page, ${targetOf(basis)} AS target, ${DAY} AS day, count() AS events, ${VISITS} AS visits, max(timestamp) AS last
      FROM events
      WHERE ${IN_TENANT} AND ${isOne('company')} AND ${pages}${inLiveDays(days)}${within(DAY)}
      GROUP BY page, target, day
    )`
  if (sources.builds.length === 0) return live(all, sources)
  return [
    ...(unmerged === undefined ? [] : [stored(unmerged), live(unmerged, sources)]),
    // Visits of merged companies do not add up, so their events are read.
    ...(merged === undefined ? [] : [live(merged, ONLY_EVENTS)]),
  ].join(UNION)
}
