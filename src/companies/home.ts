import type { CompanyHeat } from '../../schemas/companies.ts'
import { HOME, type HomeCompany, type RisingCompany, type WeekSums } from '../../schemas/dashboard/home.ts'
import { utcDay } from '../pipeline/event/outcomes.ts'
import type { OfTenant, QuestionReader } from '../stores/clickhouse/reader.ts'
import { inParts } from './companies.ts'
import { COMPANY, COMPANY_HASH, IN_COMPANIES, OF_SHOWN, WITH_MERGED } from './corrected.ts'
import { HEAT_DAYS, heatOfDays } from './heat.ts'
import { IS_INTENT_PAGE, MAY_BE_INTENT_PAGE, WITH_INTENT_PAGES } from './is-intent-page.ts'
import { companiesSql, OF_THESE, rowOf, type StoredCompanyRow } from './list.ts'
import { PAGE_OF_URL } from './page-of-url.ts'

const DAY_MS = 86_400_000
/** The days of a heat of today, and of one a week ago. */
const HEAT_SPAN_DAYS = HEAT_DAYS + HOME.weekDays
/** A day times this spreads over all bits, and takes less time than a hash of address and day. */
const ODD = '0x9e3779b97f4a7c15'
/** Bits of a company's number; a key adds two bits to it. */
const ID_BITS = '0x3fffffffffffffff'
const SPAN = 'bitAnd(key, 3)'
const daysAgo = (day: string) => `toUInt8(toInt32({to:Date32}) - toInt32(${day}))`
const WITHIN = 'toDate32(timestamp) >= {from:Date32} AND toDate32(timestamp) <= {to:Date32}'

/** Days of the numbers of a company. The same expressions as in the projection `account_days`. */
const DAYS = `
  SELECT
    ${COMPANY} AS company,
    toDate32(timestamp) AS day,
    count() AS day_events,
    finalizeAggregation(uniqExactState(sipHash64(ip))) AS day_visits
  FROM events
  WHERE ${OF_SHOWN} AND ${WITHIN}
  GROUP BY company, day`

/**
 * When companies were first seen, as in `companiesSql`, without texts, which take most of the time. Numbers of companies are joined faster
 * than their names.
 */
const FIRSTS = `
  SELECT company, bitAnd(sipHash64(company), ${ID_BITS}) AS id, toDate32(ifNull(first_timestamp, first_received)) AS first_day
  FROM
  (
    SELECT
      ${COMPANY} AS company,
      minOrNullIf(timestamp, timestamp <= received_at + toIntervalDay(1)) AS first_timestamp,
      min(received_at) AS first_received
    FROM events
    WHERE ${OF_SHOWN}
    GROUP BY company
  )`

/** The number of a company, and its week: 0 is this week, 1 the week before, 2 all weeks before. One key takes half the time of two. */
const keyOf = (hash: string) =>
  `bitOr(bitShiftLeft(bitAnd(${hash}, ${ID_BITS}), 2), least(intDiv(ago, ${HOME.weekDays}), 2)) AS key`

/**
 * Companies and weeks, from events: for companies with few events a day, this takes a quarter of the time of the projection, which has a set
 * of addresses for each day. A visit has a day, so the visits of weeks add up. A list takes less time than a set of few.
 */
const SPANS_OF_EVENTS = `
  SELECT
    ${keyOf('hash')},
    count() AS span_events,
    length(arrayDistinct(groupArray(visit))) AS span_visits,
    bitCount(groupBitOr(bitShiftLeft(toUInt64(1), ago))) AS span_days,
    min(ago) AS last_ago,
    max(ago) AS first_ago
  FROM
  (
    SELECT
      ${COMPANY_HASH} AS hash,
      ${daysAgo('toDate32(timestamp)')} AS ago,
      bitXor(sipHash64(ip), ago * ${ODD}) AS visit
    FROM events
    WHERE tenant_id = {tenant:String} AND company_id > '' AND ${WITHIN}
  )
  GROUP BY key`

/** The same from the projection: for companies with many events a day, this takes a third of the time. */
const SPANS_OF_DAYS = `
  SELECT
    ${keyOf('sipHash64(company)')},
    sum(day_events) AS span_events,
    sum(day_visits) AS span_visits,
    count() AS span_days,
    min(ago) AS last_ago,
    max(ago) AS first_ago
  FROM (SELECT *, ${daysAgo('day')} AS ago FROM (${DAYS}))
  GROUP BY key`

/** Events of a company a day from which on the projection is faster. */
const MANY_EVENTS_A_DAY = 4

/** Whether companies had many events a day. It only decides which query is faster. */
const HAS_MANY_EVENTS = `
  SELECT
    count() > 0 AS has_events,
    count() > ${MANY_EVENTS_A_DAY} * uniqExact(sipHash64(company_id), toDate32(timestamp)) AS has_many
  FROM events
  WHERE tenant_id = {tenant:String} AND company_id > '' AND ${WITHIN}`

const row = `(company, week_visits, week_events, usual_visits, toString(start), if(is_known_before, toString(last_before), ''), week_days)`
const list = (score: string, condition: string, rows: number = HOME.rows) =>
  `arrayMap(entry -> entry.2, groupArraySortedIf(${rows})((-toFloat64(${score}), ${row}), ${condition}))`

/**
 * Everything about this week in one pass. A rise of visits is how far a week is above a usual one, in terms of the square root of a usual
 * one: 2 visits after 1 are less of a rise than 30 after 15. Heat needs the pages of events, so only the companies with the strongest rises
 * are compared by it.
 */
const weeksSql = (spans: string) => `
  ${WITH_MERGED}
  SELECT
    countIf(week_events > 0) AS now_companies,
    countIf(last_week_events > 0) AS before_companies,
    countIf(is_new) AS now_new,
    countIf(first_day >= {last_week:Date32} AND first_day < {week:Date32}) AS before_new,
    sum(week_visits) AS now_visits,
    sum(last_week_visits) AS before_visits,
    sum(week_events) AS now_events,
    sum(last_week_events) AS before_events,
    ${list('week_visits', 'is_new')} AS newcomers,
    ${list('(week_visits - usual_visits) / sqrt(usual_visits + 1)', 'is_known', HOME.risingCandidates)} AS candidates,
    ${list('week_visits', 'is_back')} AS returned
  FROM
  (
    SELECT
      company,
      first_day,
      week_events,
      week_visits,
      week_days,
      last_week_events,
      last_week_visits,
      {to:Date32} - start_ago AS start,
      {to:Date32} - before_ago AS last_before,
      is_known_before,
      week_events > 0 AND first_day >= {week:Date32} AS is_new,
      round(past_visits / greatest(1, least(${HOME.usualWeeks}, dateDiff('day', first_day, {week:Date32}) / ${HOME.weekDays})), 1) AS usual_visits,
      week_events > 0 AND NOT is_new AND
        dateDiff('day', if(is_known_before, last_before, greatest(first_day, {from:Date32} - 1)), start) >= ${HOME.awayDays} AS is_back,
      week_events > 0 AND NOT is_new AND NOT is_back AS is_known
    FROM
    (
      SELECT
        bitShiftRight(key, 2) AS id,
        sumIf(span_events, ${SPAN} = 0) AS week_events,
        sumIf(span_visits, ${SPAN} = 0) AS week_visits,
        sumIf(span_days, ${SPAN} = 0) AS week_days,
        sumIf(span_events, ${SPAN} = 1) AS last_week_events,
        sumIf(span_visits, ${SPAN} = 1) AS last_week_visits,
        sumIf(span_visits, ${SPAN} > 0) AS past_visits,
        countIf(${SPAN} > 0) > 0 AS is_known_before,
        maxIf(first_ago, ${SPAN} = 0) AS start_ago,
        minIf(last_ago, ${SPAN} > 0) AS before_ago
      FROM (${spans})
      GROUP BY id
    ) AS weeks
    INNER JOIN (${FIRSTS}) AS firsts USING id
  )`

/** What companies did on each day, for their heat today and a week ago too. Pages are those of this week. */
const COMPANY_DAYS = `
  ${WITH_MERGED}, ${WITH_INTENT_PAGES}
  SELECT
    company AS company_id,
    ago,
    count() AS events,
    uniqExact(ip) AS visits,
    max(is_intent) AS intent,
    argMinIf(page, timestamp, page != '') AS first_page,
    argMaxIf(page, timestamp, page != '') AS last_page,
    argMaxIf(page, timestamp, page != '' AND is_intent) AS intent_page
  FROM
  (
    SELECT
      ${COMPANY} AS company,
      ${daysAgo('toDate32(timestamp)')} AS ago,
      ip,
      timestamp,
      if(${MAY_BE_INTENT_PAGE}, ${IS_INTENT_PAGE}, 0) AS is_intent,
      if(ago < ${HOME.weekDays}, ${PAGE_OF_URL}, '') AS page
    FROM events
    WHERE tenant_id = {tenant:String} AND ${IN_COMPANIES} AND ${WITHIN}
  )
  GROUP BY company, ago
  ORDER BY company, ago`

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
  /** Empty: none. */
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

/** What the first page says about companies. */
export interface HomeWeek {
  /** First and last UTC day of this week. */
  readonly from: string
  readonly to: string
  readonly now: WeekSums
  readonly before: WeekSums
  readonly newcomers: HomeCompany[]
  readonly rising: RisingCompany[]
  readonly returned: HomeCompany[]
}

/** First and last UTC day of the week that ends at a time. */
export function weekOf(nowMs: number): { readonly from: string; readonly to: string } {
  return { from: utcDay(nowMs - (HOME.weekDays - 1) * DAY_MS), to: utcDay(nowMs) }
}

/**
 * Reads this week of the companies of a tenant: today and the six days before, against the days before. Rejects as `ClickHouseCompanies`.
 */
export class ClickHouseHome {
  readonly #reader: QuestionReader

  constructor(reader: QuestionReader) {
    this.#reader = reader
  }

  async week(tenant: string, nowMs: number): Promise<HomeWeek> {
    const before = (days: number) => utcDay(nowMs - days * DAY_MS)
    const { from, to } = weekOf(nowMs)
    const dayCount = HOME.weekDays * (1 + HOME.usualWeeks)
    const span = { tenant, from: before(dayCount - 1), to }
    // After a day without events, one of the weeks before may have had very many.
    const hasMany = (await this.#hasMany(tenant, before(1), before(1))) ?? (await this.#hasMany(tenant, span.from, to))
    const spans = hasMany === true ? SPANS_OF_DAYS : SPANS_OF_EVENTS
    const [sums] = await this.#reader.rows<Sums & Lists>(weeksSql(spans), {
      ...span,
      week: from,
      last_week: before(2 * HOME.weekDays - 1),
    })
    const found = sums!
    // Not only those that are rising: to know them first would take longer.
    const ids = [...found.newcomers, ...found.candidates, ...found.returned].map(([id]) => id)
    const [rows, companyDays] = await Promise.all([
      this.#ofCompanies<StoredCompanyRow>(companiesSql(OF_THESE), { tenant }, ids),
      this.#ofCompanies<CompanyDay>(COMPANY_DAYS, { tenant, from: before(HEAT_SPAN_DAYS - 1), to }, ids),
    ])
    const daysOf = new Map<string, CompanyDay[]>(ids.map((id) => [id, []]))
    for (const day of companyDays) daysOf.get(day.company_id)?.push(day)
    const rising = risesOf(found.candidates, daysOf)
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
      // Erased since the first query.
      if (row === undefined) return []
      const days = daysOf.get(id)!
      const visits = new Map(days.map((day) => [day.ago, day.visits]))
      return [
        {
          ...rowOf(row, row.stored),
          ...{ week_visits, week_events, usual_visits, first_day },
          first_page: days.findLast((day) => day.first_page !== '')?.first_page ?? '',
          last_page: days.find((day) => day.last_page !== '')?.last_page ?? '',
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
      from,
      to,
      now: sumsOf('now'),
      before: sumsOf('before'),
      newcomers: found.newcomers.flatMap(companyOf),
      rising: rising.flatMap(({ entry, heat, heat_before }) =>
        companyOf(entry).map((company) => ({
          ...company,
          ...{ heat, heat_before, week_days: entry[6] },
          intent_page: daysOf.get(entry[0])!.find(({ intent_page }) => intent_page !== '')?.intent_page ?? '',
        })),
      ),
      returned: found.returned.flatMap(companyOf),
    }
  }

  /** Undefined: there are no events on these days. */
  async #hasMany(tenant: string, from: string, to: string): Promise<boolean | undefined> {
    type Row = { has_events: number; has_many: number }
    const [found] = await this.#reader.rows<Row>(HAS_MANY_EVENTS, { tenant, from, to })
    return found!.has_events === 1 ? found!.has_many === 1 : undefined
  }

  /** Asks a query for each part of the companies that a URL takes. */
  async #ofCompanies<T>(query: string, parameters: OfTenant, ids: readonly string[]): Promise<readonly T[]> {
    const parts = inParts(ids).map((companies) => this.#reader.rows<T>(query, { ...parameters, companies }))
    return (await Promise.all(parts)).flat()
  }
}

/** Those of the candidates that are heating up, by the rise of their heat, then by that of their visits. */
function risesOf(candidates: readonly Entry[], daysOf: ReadonlyMap<string, readonly CompanyDay[]>): Rise[] {
  const rises = candidates.map((entry) => {
    const heatAt = (past: number) =>
      heatOfDays(
        daysOf.get(entry[0])!.map(({ ago, events, intent }) => ({ ago: ago - past, events, hasIntent: intent === 1 })),
      )
    const [heat, heat_before] = [heatAt(0), heatAt(HOME.weekDays)?.heat ?? 0]
    return { entry, heat, heat_before, rise: (heat?.heat ?? 0) - heat_before }
  })
  const isHotter = ({ entry, rise }: Rise) => rise >= HOME.risingHeat && entry[6] >= HOME.risingDays
  const isOftener = ({ entry: [, visits, , usual] }: Rise) =>
    usual > 0 && visits >= HOME.risingVisits && visits >= HOME.risingFactor * usual
  const hotter = rises.filter(isHotter).sort((a, b) => b.rise - a.rise)
  // The candidates are in the order of the rise of their visits.
  return [...hotter, ...rises.filter((rise) => !isHotter(rise) && isOftener(rise))].slice(0, HOME.rows)
}
