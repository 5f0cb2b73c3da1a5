import type { QuestionReader } from '../stores/clickhouse/reader.ts'
import { type Corrected, isShown, OF_KNOWN, type OfCompanies, ofMerged, targetOf } from './corrected.ts'

/*
 * What companies did on each UTC day. Finished numbers of a day are stored (src/days/README.md); a question reads those that prove
 * themselves, and all other days from `events`. So a question first asks which days these are, and whether people merged or hid companies.
 */

/** Which days of a tenant a question reads from where. Undefined: all days from events. */
type Sources = { readonly builds: readonly Build[]; readonly live: readonly number[] } | undefined
/** Days since 1970-01-01, and when this day was built, in milliseconds. */
type Build = readonly [day: number, builtMs: number]

/** What questions about companies must know first. */
export interface Reading extends Corrected {
  readonly companies: Sources
  readonly pages: Sources
}

/** Reads events only, which is right for every state of the tables, and slow. */
export const fromEvents = (corrected: Corrected): Reading => ({ ...corrected, companies: undefined, pages: undefined })

const CORRECTED = `
    groupArrayIf((company_id, counts_for, toString(sipHash64(company_id)), toString(sipHash64(counts_for))), counts_for != '') AS merged,
    groupArrayIf(toString(sipHash64(company_id)), is_hidden) AS hidden`
const FROM_CORRECTED = 'FROM corrected_companies WHERE tenant_id = {tenant:String}'
const builds = (view: string) =>
  `(SELECT groupArray((toInt32(day), built)) FROM ${view} WHERE tenant_id = {tenant:String})`

/** SQL of what people merged and hid: one row of `Corrected`. */
export const correctedSql = `
  SELECT ${CORRECTED}
  ${FROM_CORRECTED}`

/** What every question about companies asks first. */
export const READING = `
  SELECT ${CORRECTED},
    ${builds('day_builds')} AS builds,
    ${builds('valid_page_days')} AS page_builds,
    toInt32(toDate32(now('UTC'))) AS today
  ${FROM_CORRECTED}`

interface Found extends Corrected {
  /** Every day with events; a build of 0 is none. */
  readonly builds: readonly Build[]
  /** A build of 0: no company saw a page on this day. */
  readonly page_builds: readonly Build[]
  readonly today: number
}

/** Asks what questions about the companies of a tenant must know first. Rejects as `QuestionReader.find`. */
export async function readingOf(reader: QuestionReader, tenant: string): Promise<Reading> {
  const [found] = await reader.rows<Found>(READING, { tenant })
  const { merged = [], hidden = [], builds: all = [], page_builds = [], today } = found ?? ({} as Partial<Found>)
  if (today === undefined) return fromEvents({ merged, hidden })
  const sourcesOf = (proved: readonly Build[]) => {
    const past = proved.filter(([day]) => day < today).sort(([a], [b]) => b - a)
    const stored = past.slice(0, BUILDS_MAX)
    const days = new Set(stored.map(([day]) => day))
    // The next question may be asked tomorrow.
    const live = new Set([...all.flatMap(([day]) => (days.has(day) ? [] : [day])), today, today + 1])
    return { builds: stored.filter(([, built]) => built > 0), live: [...live] }
  }
  const companies = sourcesOf(all.filter(([, built]) => built > 0))
  return { merged, hidden, companies, pages: sourcesOf(page_builds) }
}

/** Days whose builds are in the text of a question: those of eight years. Older ones are read from events. */
const BUILDS_MAX = 3_000

/** Condition on a column with a UTC day, beginning with AND; default: all days. */
export type Within = (day: string) => string

/** The days of the parameters `from` and `to`. */
export const WITHIN: Within = (day) => ` AND ${day} >= {from:Date32} AND ${day} <= {to:Date32}`

interface Rows {
  readonly of?: OfCompanies
  readonly within?: Within | undefined
  /** Adds the column `visitors`, an array of their numbers, which takes several times as long. */
  readonly withVisitors?: boolean
}

const VISITS = 'uniqExact(visit)'
const DAY = 'toDate32(timestamp)'
const OF_TENANT = 'tenant_id = {tenant:String}'

const readsLive = (sources: Sources) => (sources === undefined ? '' : ` AND ${DAY} IN (${sources.live.join()})`)
const areBuilt = ({ builds }: NonNullable<Sources>) =>
  `(day, built) IN (${builds.map(([day, built]) => `(${day},${built})`).join()})`

/** A row for each company and day, whatever people corrected: `company`, `day`, `events`, `visits`. */
function daysAsStored(reading: Reading, { of = OF_KNOWN, within = () => '', withVisitors = false }: Rows = {}) {
  const { companies } = reading
  const stored = `
    SELECT entity AS company, day, toUInt64(events) AS events, toUInt64(visits) AS visits${withVisitors ? ', visitors' : ''}
    FROM entity_days
    WHERE ${OF_TENANT} AND kind != 'account' AND ${of('entity')} AND ${companies === undefined ? '' : areBuilt(companies)}${within('day')}`
  const live = `
    SELECT company, ${DAY} AS day, count() AS events, ${VISITS} AS visits${withVisitors ? ', groupUniqArray(visitor) AS visitors' : ''}
    FROM events
    WHERE ${OF_TENANT} AND ${of('company')}${readsLive(companies)}${within(DAY)}
    GROUP BY company, day`
  return companies === undefined || companies.builds.length === 0 ? live : `${stored}\n    UNION ALL${live}`
}

/**
 * A row for each company and day as people corrected them: merged companies count together for their target, and a visitor of several of
 * them is one visit. Hidden companies have rows too: see `isShown`.
 */
export function companyDays(reading: Reading, rows: Rows = {}): string {
  if (reading.merged.length === 0) return daysAsStored(reading, rows)
  const { of = OF_KNOWN, withVisitors = false } = rows
  return `
    ${daysAsStored(reading, { ...rows, of: ofMerged(reading, of, 'NOT IN') })}
    UNION ALL
    SELECT target AS company, day, sum(events) AS events, length(groupUniqArrayArray(visitors) AS all_visitors) AS visits${withVisitors ? ', all_visitors AS visitors' : ''}
    FROM (SELECT ${targetOf(reading)} AS target, day, events, visitors FROM (${daysAsStored(reading, { ...rows, of: ofMerged(reading, of, 'IN'), withVisitors: true })}))
    GROUP BY target, day`
}

/** The same without hidden companies. */
export const shownDays = (reading: Reading, rows: Rows = {}) =>
  reading.hidden.length > 0
    ? `SELECT * FROM (${companyDays(reading, rows)}) WHERE ${isShown(reading, 'company')}`
    : companyDays(reading, rows)

interface PageRows {
  readonly of?: OfCompanies
  readonly within: Within
  /** Condition on the column `page`. */
  readonly pages?: string
}

/**
 * A row for each page, company and day, as people corrected them: `page`, `company`, `day`, `events`, `visits`, and `last`, the time of the
 * latest event.
 */
export function pageDays(reading: Reading, { of = OF_KNOWN, within, pages = "page != ''" }: PageRows): string {
  const { pages: sources } = reading
  const stored = `
    SELECT page, company, day, toUInt64(events) AS events, toUInt64(visits) AS visits, last
    FROM page_days
    WHERE ${OF_TENANT} AND ${of('company')} AND ${pages} AND ${sources === undefined ? '' : areBuilt(sources)}${within('day')}`
  const live = (read: Sources, ofLive: OfCompanies) => `
    SELECT page, ${targetOf(reading)} AS target, ${DAY} AS day, count() AS events, ${VISITS} AS visits, max(timestamp) AS last
    FROM events
    WHERE ${OF_TENANT} AND ${ofLive('company')} AND ${pages}${readsLive(read)}${within(DAY)}
    GROUP BY page, target, day`
  const named = (rows: string) => `SELECT page, target AS company, day, events, visits, last FROM (${rows})`
  if (sources === undefined || sources.builds.length === 0) return named(live(sources, of))
  if (reading.merged.length === 0) return `${stored}\n    UNION ALL ${named(live(sources, of))}`
  // Visits of merged companies do not add up, so their events are read.
  return [
    stored.replace(of('company'), ofMerged(reading, of, 'NOT IN')('company')),
    named(live(sources, ofMerged(reading, of, 'NOT IN'))),
    named(live(undefined, ofMerged(reading, of, 'IN'))),
  ].join('\n    UNION ALL ')
}
