import type { CompanyHeat } from '../../schemas/companies.ts'
import type { HeatWeights } from '../../schemas/dashboard/heat.ts'
import { HOME, type HomeCompany, type RisingCompany, type WeekSums } from '../../schemas/dashboard/home.ts'
import { addDays, dayIn, inUtc, UTC, type ZoneOf } from '../run/time-zone.ts'
import type { OfTenant, QuestionReader } from '../stores/clickhouse/reader.ts'
import { byId, rowsOfCompanies } from './companies.ts'
import { type CompanyCondition, isVisible, knownCompanies, targetOf } from './corrected.ts'
import { companyDays, dayOf, eventsWithin, pageDays, type ReadBasis, readBasis, WITHIN, type Within } from './days.ts'
import type { ResolvedFilter } from './filter.ts'
import { bestFirst, fitLinesOf } from './fit.ts'
import { ARE_INTENT_PAGES, HEAT_DAYS, heatOfDays, heatWeightsOf } from './heat.ts'
import { companiesSql, firstSeenSql, matchingSql, rowOf, type StoredCompanyRow } from './list.ts'

/** The days of a heat of today, and of one a week ago. */
const HEAT_SPAN_DAYS = HEAT_DAYS + HOME.weekDays
/** Days before the day of a parameter. */
const ago = (to: string) => `toUInt8(toInt32({${to}:Date32}) - toInt32(day))`
/** The days of all weeks. A filter of companies has its own `from` and `to`. */
const IN_WEEKS: Within = { from: '{weeks_from:Date32}', to: '{weeks_to:Date32}' }

/** SQL of each day of this week and the one before, the oldest first. */
const ofDays = (sqlOf: (ago: number) => string) =>
  Array.from({ length: 2 * HOME.weekDays }, (_, i) => sqlOf(2 * HOME.weekDays - 1 - i)).join()

const row = `(company_id, week_visits, week_events, usual_visits, toString(start), if(is_known_before, toString(last_before), ''), week_days)`
const list = (score: string, condition: string, rows: number) =>
  `arrayMap(entry -> entry.2, groupArraySortedIf(${rows})((-toFloat64(${score}), ${row}), ${condition}))`

/**
 * Everything about this week in one pass. A rise of visits is how far a week is above a usual one, in terms of the square root of a usual
 * one: 2 visits after 1 are less of a rise than 30 after 15. Heat needs the pages of events, so only the companies with the strongest rises
 * are compared by it.
 * @param rows of the lists of new companies and of those that came back
 * @param chosen SQL of the numbers of the companies to read; undefined: all
 */
const weeksSql = (basis: ReadBasis, rows: number, chosen: string | undefined) => `
  SELECT
    countIf(week_events > 0) AS now_companies,
    countIf(last_week_events > 0) AS before_companies,
    countIf(is_new) AS now_new,
    countIf(first_day >= {last_week:Date32} AND first_day < {week:Date32}) AS before_new,
    sum(week_visits) AS now_visits,
    sum(last_week_visits) AS before_visits,
    sum(week_events) AS now_events,
    sum(last_week_events) AS before_events,
    [${ofDays((ago) => `sum(visits_${ago})`)}] AS daily_visits,
    ${list('week_visits', 'is_new', rows)} AS newcomers,
    ${list('(week_visits - usual_visits) / sqrt(usual_visits + 1)', 'is_known', HOME.risingCandidates)} AS candidates,
    ${list('week_visits', 'is_back', rows)} AS returned
  FROM
  (
    SELECT
      company_id,
      ${dayOf('first_seen', basis.zone)} AS first_day,
      week_events,
      week_visits,
      week_days,
      ${ofDays((ago) => `visits_${ago}`)},
      last_week_events,
      last_week_visits,
      {weeks_to:Date32} - start_ago AS start,
      {weeks_to:Date32} - before_ago AS last_before,
      is_known_before,
      week_events > 0 AND first_day >= {week:Date32} AS is_new,
      round(past_visits / greatest(1, least(${HOME.usualWeeks}, dateDiff('day', first_day, {week:Date32}) / ${HOME.weekDays})), 1) AS usual_visits,
      week_events > 0 AND NOT is_new AND
        dateDiff('day', if(is_known_before, last_before, greatest(first_day, {weeks_from:Date32} - 1)), start) >= ${HOME.awayDays} AS is_back,
      week_events > 0 AND NOT is_new AND NOT is_back AS is_known
    FROM
    (
      SELECT
        company,
        sumIf(events, ago < ${HOME.weekDays}) AS week_events,
        sumIf(visits, ago < ${HOME.weekDays}) AS week_visits,
        countIf(ago < ${HOME.weekDays}) AS week_days,
        sumIf(events, ago >= ${HOME.weekDays} AND ago < ${2 * HOME.weekDays}) AS last_week_events,
        sumIf(visits, ago >= ${HOME.weekDays} AND ago < ${2 * HOME.weekDays}) AS last_week_visits,
        sumIf(visits, ago >= ${HOME.weekDays}) AS past_visits,
        countIf(ago >= ${HOME.weekDays}) > 0 AS is_known_before,
        ${ofDays((ago) => `sumIf(visits, ago = ${ago}) AS visits_${ago}`)},
        maxIf(ago, ago < ${HOME.weekDays}) AS start_ago,
        minIf(ago, ago >= ${HOME.weekDays}) AS before_ago
      FROM (SELECT company, ${ago('weeks_to')} AS ago, events, visits FROM (${companyDays(basis, { within: IN_WEEKS })}))
      GROUP BY company
    ) AS weeks
    INNER JOIN (${firstSeenSql(basis)}) AS companies USING company
    WHERE ${isVisible(basis, 'company')}${chosen === undefined ? '' : ` AND company IN (${chosen})`}
  )`

/** The activity of companies on each day, for their heat today and a week ago too. */
const companyDaysSql = (basis: ReadBasis, of: CompanyCondition) =>
  byId(`
  SELECT company, ${ago('to')} AS ago, days.events AS events, visits, intents.events > 0 AS intent
  FROM (${companyDays(basis, { companies: of, within: WITHIN })}) AS days
  LEFT JOIN
  (
    SELECT company, day, sum(events) AS events
    FROM (${pageDays(basis, { companies: of, within: WITHIN })})
    WHERE ${ARE_INTENT_PAGES}
    GROUP BY company, day
  ) AS intents USING company, day`)

/** The first and the last page that companies read this week, and the last that shows an intent. */
const pagesSql = (basis: ReadBasis, of: CompanyCondition) =>
  byId(`
    SELECT target AS company, first_page, last_page, intent_page
    FROM
    (
      SELECT
        ${targetOf(basis)} AS target,
        argMin(page, timestamp) AS first_page,
        argMax(page, timestamp) AS last_page,
        argMaxIf(page, timestamp, is_intent) AS intent_page
      FROM
      (
        SELECT company, page, timestamp, ${ARE_INTENT_PAGES} AS is_intent
        FROM events
        WHERE tenant_id = {tenant:String} AND ${of.all('company')} AND page != ''${eventsWithin(WITHIN, basis.zone)}
      )
      GROUP BY target
    )`)

type Entry = readonly [
  company_id: string,
  week_visits: number,
  week_events: number,
  usual_visits: number,
  first_day: string,
  /** Empty: none, or not within the days that were read. */
  last_day_before: string,
  week_days: number,
]

type Sums = Readonly<Record<`${'now' | 'before'}_${'companies' | 'new' | 'visits' | 'events'}`, number>>
type Lists = Readonly<Record<'newcomers' | 'candidates' | 'returned', readonly Entry[]>>

interface CompanyDay {
  readonly company_id: string
  readonly ago: number
  readonly events: number
  readonly visits: number
  readonly intent: number
}

/** Empty: none. */
interface WeekPages {
  readonly company_id: string
  readonly first_page: string
  readonly last_page: string
  readonly intent_page: string
}

interface Rise {
  readonly entry: Entry
  readonly heat: CompanyHeat | null
  readonly heat_before: number
  readonly rise: number
}

/** The first page's facts about companies. */
export interface HomeWeek {
  /** IANA name of the zone of its days. */
  readonly zone: string
  /** First and last day of this week. */
  readonly from: string
  readonly to: string
  readonly now: WeekSums
  readonly before: WeekSums
  /** Visits of each day of the week before and this week, the oldest first. */
  readonly daily_visits: number[]
  readonly newcomers: HomeCompany[]
  readonly rising: RisingCompany[]
  readonly returned: HomeCompany[]
}

/** First and last day of the week that ends at a time. */
export function weekOf(nowMs: number, zone = UTC): { readonly from: string; readonly to: string } {
  const to = dayIn(zone, nowMs)
  return { from: addDays(to, 1 - HOME.weekDays), to }
}

/**
 * Reads this week of the companies of a tenant: today and the six days before, against the days before. Rejects as `ClickHouseCompanies`.
 */
export class ClickHouseHome {
  readonly #reader: QuestionReader
  readonly #zoneOf: ZoneOf

  /** @param zoneOf the zone of a tenant's days; default: UTC */
  constructor(reader: QuestionReader, zoneOf: ZoneOf = inUtc) {
    this.#reader = reader
    this.#zoneOf = zoneOf
  }

  /** @param filter keeps the companies of the week; default: all */
  async week(tenant: string, nowMs: number, filter?: ResolvedFilter): Promise<HomeWeek> {
    const zone = await this.#zoneOf(tenant)
    const { from, to } = weekOf(nowMs, zone)
    const before = (days: number) => addDays(to, -days)
    const dayCount = HOME.weekDays * (1 + HOME.usualWeeks)
    const basis = await readBasis(this.#reader, tenant, 'pages', zone)
    // The best fits are known after the rows of the companies.
    const hasFit = fitLinesOf(basis).length > 0
    const listed = hasFit ? HOME.fitCandidates : HOME.rows
    const chosen = filter && matchingSql(tenant, basis, filter, knownCompanies(basis), 'companies.company')
    const [sums] = await this.#reader.rows<Sums & Pick<HomeWeek, 'daily_visits'> & Lists>(
      weeksSql(basis, listed, chosen?.query),
      {
        ...chosen?.parameters,
        ...{ tenant, weeks_from: before(dayCount - 1), weeks_to: to },
        week: from,
        last_week: before(2 * HOME.weekDays - 1),
      },
    )
    const all = sums!
    const idsOf = ({ newcomers, candidates, returned }: Lists) =>
      [...newcomers, ...candidates, ...returned].map(([id]) => id)
    const askOf = <T>(ids: readonly string[], sqlOf: (of: CompanyCondition) => string, parameters: OfTenant) =>
      rowsOfCompanies<T>(this.#reader, basis, ids, sqlOf, parameters)
    const rowsAsked = askOf<StoredCompanyRow>(idsOf(all), (of) => companiesSql(basis, of, true), { tenant })
    const fits = new Map(hasFit ? (await rowsAsked).map(({ company_id, fit }) => [company_id, fit]) : [])
    const byFit = (entries: readonly Entry[]) => bestFirst(entries, ([id]) => fits.get(id) ?? '').slice(0, HOME.rows)
    const found = { ...all, newcomers: byFit(all.newcomers), returned: byFit(all.returned) }
    // Not only those that are rising: to know them first would take longer.
    const ids = idsOf(found)
    const ask = <T>(sqlOf: (of: CompanyCondition) => string, parameters: OfTenant) => askOf<T>(ids, sqlOf, parameters)
    const [rows, companyDays, weekPages] = await Promise.all([
      rowsAsked,
      ask<CompanyDay>((of) => companyDaysSql(basis, of), { tenant, from: before(HEAT_SPAN_DAYS - 1), to }),
      ask<WeekPages>((of) => pagesSql(basis, of), { tenant, from, to }),
    ])
    const pagesOf = new Map(weekPages.map((pages) => [pages.company_id, pages]))
    const daysOf = new Map<string, CompanyDay[]>(ids.map((id) => [id, []]))
    for (const day of companyDays) daysOf.get(day.company_id)?.push(day)
    const rises = risesOf(found.candidates, daysOf, heatWeightsOf(basis))
    const rising = bestFirst(rises, ({ entry: [id] }) => fits.get(id) ?? '').slice(0, HOME.rows)
    const agos = Array.from({ length: dayCount }, (_, i) => dayCount - 1 - i)
    const companyOf = ([
      id,
      week_visits,
      week_events,
      usual_visits,
      first_day,
      last_day_before,
    ]: Entry): HomeCompany[] => {
      const row = rows.find(({ company_id }) => company_id === id)
      // It was erased after the first query.
      if (row === undefined) return []
      const days = daysOf.get(id)!
      const visits = new Map(days.map((day) => [day.ago, day.visits]))
      return [
        {
          ...rowOf(row, row.stored),
          ...{ week_visits, week_events, usual_visits, first_day },
          first_page: pagesOf.get(id)?.first_page ?? '',
          last_page: pagesOf.get(id)?.last_page ?? '',
          last_day_before: last_day_before === '' ? null : last_day_before,
          daily_visits: agos.map((ago) => visits.get(ago) ?? 0),
        },
      ]
    }
    const sumsOf = (week: 'now' | 'before'): WeekSums => ({
      companies: found[`${week}_companies`],
      new_companies: found[`${week}_new`],
      visits: found[`${week}_visits`],
      events: found[`${week}_events`],
    })
    return {
      zone,
      from,
      to,
      now: sumsOf('now'),
      before: sumsOf('before'),
      daily_visits: found.daily_visits,
      newcomers: found.newcomers.flatMap(companyOf),
      rising: rising.flatMap(({ entry, heat, heat_before }) =>
        companyOf(entry).map((company) => ({
          ...company,
          ...{ heat, heat_before, week_days: entry[6] },
          intent_page: pagesOf.get(entry[0])?.intent_page ?? '',
        })),
      ),
      returned: found.returned.flatMap(companyOf),
    }
  }
}

/** Those of the candidates that are heating up, by the rise of their heat, then by that of their visits. */
function risesOf(
  candidates: readonly Entry[],
  daysOf: ReadonlyMap<string, readonly CompanyDay[]>,
  weights: HeatWeights,
): Rise[] {
  const rises = candidates.map((entry) => {
    const heatAt = (past: number) =>
      heatOfDays(
        daysOf.get(entry[0])!.map(({ ago, events, intent }) => ({ ago: ago - past, events, hasIntent: intent === 1 })),
        weights,
      )
    const [heat, heat_before] = [heatAt(0), heatAt(HOME.weekDays)?.heat ?? 0]
    return { entry, heat, heat_before, rise: (heat?.heat ?? 0) - heat_before }
  })
  const isHotter = ({ entry, rise }: Rise) => rise >= HOME.risingHeat && entry[6] >= HOME.risingDays
  const isOftener = ({ entry: [, visits, , usual] }: Rise) =>
    usual > 0 && visits >= HOME.risingVisits && visits >= HOME.risingFactor * usual
  const hotter = rises.filter(isHotter).sort((a, b) => b.rise - a.rise)
  // The candidates are in the order of the rise of their visits.
  return [...hotter, ...rises.filter((rise) => !isHotter(rise) && isOftener(rise))]
}
