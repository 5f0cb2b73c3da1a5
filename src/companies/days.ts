import { UTC } from '../run/time-zone.ts'
import { quote } from '../stores/clickhouse/quote.ts'
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
 * The activity of companies on each day of a zone. Finished numbers of a UTC day are stored (src/days/README.md). A query reads the stored days
 * that prove themselves, and all other days from `events`. So a first query reads these days, the merges and the hidden companies.
 */

/** A UTC day as days since 1970-01-01, and when it was built, in milliseconds. */
type Build = readonly [day: number, builtMs: number]

/** The source of each UTC day in a query about a tenant. */
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
  /** IANA name of the zone whose days are counted. */
  readonly zone: string
  /** Sources of `companyDays`. */
  readonly companies: DaySources
  /** Sources of `pageDays`. */
  readonly pages: DaySources
}

const ONLY_EVENTS: DaySources = { builds: [], live: undefined }

/** Reads `events` only: right for every state of the tables, and slow. */
export const fromEvents = (corrected: Corrected, zone: string): ReadBasis => ({
  ...corrected,
  zone,
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
const builds = (view: string, built = 'built', where = '1') =>
  `(SELECT groupArray((toInt32(day), ${built})) FROM ${view} WHERE tenant_id = {tenant:String} AND ${where})`
/** Builds of a zone. A build of 0 has no zone. */
const companyBuilds = (zone: string) =>
  zone === UTC ? builds('day_builds') : builds('zone_day_builds', `if(zone = ${quote(zone)}, built, 0)`)
const pageBuilds = (zone: string) =>
  zone === UTC
    ? builds('valid_page_days')
    : builds('valid_zone_page_days', 'built', `(zone = ${quote(zone)} OR built = 0)`)

/** SQL of merges, hidden companies and settings: one row of `Corrected`. */
export const CORRECTED_SQL = `
  SELECT ${CORRECTED}
  ${FROM_CORRECTED}`

/** The first query of every read of companies. */
const basisSql = (need: 'days' | 'pages', zone: string) => `
  SELECT ${CORRECTED},
    ${companyBuilds(zone)} AS builds,
    ${need === 'pages' ? pageBuilds(zone) : '[]'} AS page_builds,
    toInt32(toDate32(now('UTC'))) AS today
  ${FROM_CORRECTED}`

interface Found extends Corrected {
  /** Every UTC day with events. A build of 0 means none. */
  readonly builds: readonly Build[]
  /** A build of 0: no company saw a page on this day. */
  readonly page_builds: readonly Build[]
  readonly today: number
}

/** Days that a query reads from builds: those of eight years. Older ones are read from `events`, to limit the text of the query. */
const BUILDS_MAX = 3_000

/** Reads the facts that queries about the companies of a tenant need first, for days of a zone. Rejects as `QuestionReader.find`. */
export async function readBasis(reader: QuestionReader, tenant: string, need: Need, zone: string): Promise<ReadBasis> {
  if (need === 'corrections') {
    const [corrected = UNCORRECTED] = await reader.rows<Corrected>(CORRECTED_SQL, { tenant })
    return fromEvents(corrected, zone)
  }
  const [found] = await reader.rows<Found>(basisSql(need, zone), { tenant })
  if (found === undefined) return fromEvents(UNCORRECTED, zone)
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
  return { ...corrected, zone, companies, pages: need === 'pages' ? sourcesOf(page_builds) : ONLY_EVENTS }
}

/** The first and the last day, as SQL of dates; undefined: no limit. */
export interface Within {
  readonly from?: string | undefined
  readonly to?: string | undefined
}

/** The days of the parameters `from` and `to`. */
export const WITHIN: Within = { from: '{from:Date32}', to: '{to:Date32}' }

const areWithin = ({ from, to }: Within, day: string) =>
  `${from === undefined ? '' : ` AND ${day} >= ${from}`}${to === undefined ? '' : ` AND ${day} <= ${to}`}`

/** UTC days that have days of any zone. */
const around = ({ from, to }: Within): Within => ({ from: from && `${from} - 1`, to: to && `${to} + 1` })

const UTC_DAY = 'toDate32(timestamp)'

/** SQL of the day of a moment in a zone. */
export const dayOf = (moment: string, zone: string) =>
  zone === UTC ? `toDate32(${moment})` : `toDate32(${moment}, ${quote(zone)})`

/** SQL of a number of the visit that an event belongs to: a distinct visitor on a day of a zone. */
export const visitOf = (zone: string) => (zone === UTC ? 'visit' : `cityHash64(visitor, ${dayOf('timestamp', zone)})`)

/** SQL of today in a zone. */
export const todayIn = (zone: string) => `toDate32(now(${quote(zone)}))`

/** Condition on events that are on days of a zone, beginning with AND. The UTC days find them by the key of the table. */
export const eventsWithin = (within: Within, zone: string) =>
  zone === UTC
    ? areWithin(within, UTC_DAY)
    : areWithin(around(within), UTC_DAY) + areWithin(within, dayOf('timestamp', zone))

/** The UTC day of a cut. In a query of cuts `day` is their local day. */
const CUT_DAY = 'cuts.day'

/** Condition on stored rows of the cut UTC days of a zone, beginning with AND. */
const cutsWithin = (within: Within) => areWithin(around(within), CUT_DAY) + areWithin(within, 'local_day')

interface DayRows {
  /** Default: all known companies. */
  readonly companies?: CompanyCondition
  /** Default: all days. */
  readonly within?: Within | undefined
  /** Adds the column `visitors`, an array of their numbers, which takes several times as long. */
  readonly withVisitors?: boolean
}

const IN_TENANT = 'tenant_id = {tenant:String}'
const UNION = '\n    UNION ALL '

const inLiveDays = ({ live }: DaySources) => (live === undefined ? '' : ` AND ${UTC_DAY} IN (${live.join()})`)
const inBuilds = ({ builds }: DaySources, day = 'day') =>
  ` AND (${day}, built) IN (${builds.map(([day, built]) => `(${day},${built})`).join()})`

/**
 * A row for each company and day, before corrections: `company`, `day`, `events`, `visits`. In another zone than UTC `visitors` instead of
 * `visits`, and a row for each part of a day.
 */
function uncorrectedDays(
  { companies: sources, zone }: ReadBasis,
  isOne: NumberCondition,
  { within = {}, withVisitors = false }: DayRows,
): string {
  const day = dayOf('timestamp', zone)
  const visits = zone === UTC ? ', uniqExact(visit) AS visits' : ''
  const live = `
    SELECT company, ${day} AS day, count() AS events${visits}${withVisitors ? ', groupUniqArray(visitor) AS visitors' : ''}
    FROM events
    WHERE ${IN_TENANT} AND ${isOne('company')}${inLiveDays(sources)}${eventsWithin(within, zone)}
    GROUP BY company, day`
  if (sources.builds.length === 0) return live
  const visitors = withVisitors ? ', visitors' : ''
  const stored =
    zone === UTC
      ? `
    SELECT entity AS company, day, toUInt64(events) AS events, toUInt64(visits) AS visits${visitors}
    FROM entity_days
    WHERE ${IN_TENANT} AND kind != 'account' AND ${isOne('entity')}${inBuilds(sources)}${areWithin(within, 'day')}`
      : `
    SELECT company, local_day AS day, toUInt64(events) AS events${visitors}
    FROM zone_days AS cuts
    WHERE ${IN_TENANT} AND ${isOne('company')}${inBuilds(sources, CUT_DAY)}${cutsWithin(within)}`
  return stored + UNION + live
}

/** SQL of a row for each day with events that have neither a company nor an account: `visits`. */
export function accountlessVisits({ companies: sources, zone }: ReadBasis, within: Within): string {
  const live = (visits: string) => `
    SELECT ${visits}
    FROM events
    WHERE ${IN_TENANT} AND account_id = ''${inLiveDays(sources)}${eventsWithin(within, zone)}
    GROUP BY ${dayOf('timestamp', zone)}`
  if (zone !== UTC) {
    const ofDays = live(`${dayOf('timestamp', zone)} AS day, groupUniqArray(visitor) AS visitors`)
    const stored = `
    SELECT local_day AS day, visitors
    FROM zone_days AS cuts
    WHERE ${IN_TENANT} AND company = 0 AND NOT has_account${inBuilds(sources, CUT_DAY)}${cutsWithin(within)}`
    const all = sources.builds.length === 0 ? ofDays : stored + UNION + ofDays
    return `SELECT length(groupUniqArrayArray(visitors)) AS visits FROM (${all}) GROUP BY day`
  }
  if (sources.builds.length === 0) return live('uniqExact(visit) AS visits')
  const stored = `
    SELECT toUInt64(visits) AS visits
    FROM entity_days
    WHERE ${IN_TENANT} AND entity = 0 AND kind != 'company'${inBuilds(sources)}${areWithin(within, 'day')}`
  return stored + UNION + live('uniqExact(visit) AS visits')
}

/**
 * SQL of a row for each company and day, after corrections: `company`, `day`, `events`, `visits`. Merged companies count for their target, and
 * a visitor of several of them is one visit. Hidden companies have rows too: see `isVisible`.
 */
export function companyDays(basis: ReadBasis, rows: DayRows = {}): string {
  const { companies = knownCompanies(basis), withVisitors = false } = rows
  const [apart, united] = basis.zone === UTC ? [companies.unmerged, companies.merged] : [undefined, companies.all]
  const parts: string[] = []
  if (apart !== undefined) parts.push(uncorrectedDays(basis, apart, rows))
  if (united !== undefined) {
    const visited = uncorrectedDays(basis, united, { ...rows, withVisitors: true })
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
  const { pages: sources, zone } = basis
  const stored = (isOne: NumberCondition) => `
    SELECT page, company, day, toUInt64(events) AS events, toUInt64(visits) AS visits, last
    FROM page_days
    WHERE ${IN_TENANT} AND ${isOne('company')} AND ${pages}${inBuilds(sources)}${areWithin(within, 'day')}`
  const live = (isOne: NumberCondition, days: DaySources, visits: string, name = 'visits') => `
    SELECT page, target AS company, day, events, ${name}, last
    FROM
    (
      SELECT page, ${targetOf(basis)} AS target, ${dayOf('timestamp', zone)} AS day, count() AS events, ${visits} AS ${name}, max(timestamp) AS last
      FROM events
      WHERE ${IN_TENANT} AND ${isOne('company')} AND ${pages}${inLiveDays(days)}${eventsWithin(within, zone)}
      GROUP BY page, target, day
    )`
  const counted = (isOne: NumberCondition, days: DaySources) => live(isOne, days, 'uniqExact(visitor)')
  if (sources.builds.length === 0) return counted(all, sources)
  const apart = (isOne: NumberCondition) =>
    zone === UTC
      ? [stored(isOne), counted(isOne, sources)]
      : [
          `
    SELECT page, company, day, sum(events) AS events, length(groupUniqArrayArray(visitors)) AS visits, max(last) AS last
    FROM
    (
      SELECT page, company, local_day AS day, toUInt64(events) AS events, visitors, last
      FROM zone_page_days AS cuts
      WHERE ${IN_TENANT} AND ${isOne('company')} AND ${pages}${inBuilds(sources, CUT_DAY)}${cutsWithin(within)}
      UNION ALL ${live(isOne, sources, 'groupUniqArray(visitor)', 'visitors')}
    )
    GROUP BY page, company, day`,
        ]
  return [
    ...(unmerged === undefined ? [] : apart(unmerged)),
    // Visits of merged companies do not add up, so their events are read.
    ...(merged === undefined ? [] : [counted(merged, ONLY_EVENTS)]),
  ].join(UNION)
}
