import { HOME, type HomeCompany, type WeekSums } from '../../schemas/dashboard/home.ts'
import { utcDay } from '../pipeline/event/outcomes.ts'
import type { Clock } from '../run/clock.ts'
import type { QuestionReader } from '../stores/clickhouse/reader.ts'
import { COMPANY, OF_SHOWN, WITH_MERGED } from './corrected.ts'
import { companiesSql, OF_THESE, rowOf, type StoredCompanyRow } from './list.ts'
import { PAGE_OF_URL } from './pages.ts'

const DAY_MS = 86_400_000
const WITHIN = 'toDate32(timestamp) >= {from:Date32} AND toDate32(timestamp) <= {to:Date32}'

/** Days of the numbers of a company. The same expressions as in the projection `account_days`. */
const days = (of = '') => `
  SELECT
    ${COMPANY} AS company,
    toDate32(timestamp) AS day,
    count() AS day_events,
    finalizeAggregation(uniqExactState(sipHash64(ip))) AS day_visits
  FROM events
  WHERE ${OF_SHOWN} AND ${WITHIN}${of}
  GROUP BY company, day`

/** When companies were first seen, as in `companiesSql`, without texts, which take most of the time. */
const FIRSTS = `
  SELECT company, toDate32(ifNull(first_timestamp, first_received)) AS first_day
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

const [WEEK, BEFORE] = ['day >= {week:Date32}', 'day < {week:Date32}']
const row = `(company, week_visits, week_events, usual_visits, toString(start), if(is_known_before, toString(last_before), ''))`
const list = (score: string, condition: string) =>
  `arrayMap(entry -> entry.2, groupArraySortedIf(${HOME.rows})((-toFloat64(${score}), ${row}), ${condition}))`

/**
 * Everything about this week in one pass. A rise is how far a week is above a usual one, in terms of the square root of a usual one: 2 visits
 * after 1 are less of a rise than 30 after 15.
 */
const WEEKS = `
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
    ${list('(week_visits - usual_visits) / sqrt(usual_visits + 1)', 'is_rising')} AS rising,
    ${list('week_visits', 'is_back')} AS returned
  FROM
  (
    SELECT
      company,
      first_day,
      week_events,
      week_visits,
      last_week_events,
      last_week_visits,
      start,
      last_before,
      last_before >= {from:Date32} AND last_before < start AS is_known_before,
      week_events > 0 AND first_day >= {week:Date32} AS is_new,
      round(past_visits / greatest(1, least(${HOME.usualWeeks}, dateDiff('day', first_day, {week:Date32}) / ${HOME.weekDays})), 1) AS usual_visits,
      week_events > 0 AND NOT is_new AND
        dateDiff('day', if(is_known_before, last_before, greatest(first_day, {from:Date32} - 1)), start) >= ${HOME.awayDays} AS is_back,
      NOT is_new AND NOT is_back AND usual_visits > 0 AND week_visits >= ${HOME.risingVisits}
        AND week_visits >= ${HOME.risingFactor} * usual_visits AS is_rising
    FROM
    (
      SELECT
        company,
        sumIf(day_events, ${WEEK}) AS week_events,
        sumIf(day_visits, ${WEEK}) AS week_visits,
        sumIf(day_events, ${BEFORE} AND day >= {last_week:Date32}) AS last_week_events,
        sumIf(day_visits, ${BEFORE} AND day >= {last_week:Date32}) AS last_week_visits,
        sumIf(day_visits, ${BEFORE}) AS past_visits,
        minIf(day, ${WEEK}) AS start,
        maxIf(day, ${BEFORE}) AS last_before
      FROM (${days()})
      GROUP BY company
    ) AS weeks
    INNER JOIN (${FIRSTS}) AS firsts USING company
  )`

const OF_LISTED = ` AND ${COMPANY} IN {companies:Array(String)}`

const DAILY = `
  ${WITH_MERGED}
  SELECT company AS company_id, groupArray((toString(day), day_visits)) AS visits_of
  FROM (${days(OF_LISTED)})
  GROUP BY company`

const PAGES = `
  ${WITH_MERGED}
  SELECT company AS company_id, argMin(page, timestamp) AS first_page, argMax(page, timestamp) AS last_page
  FROM
  (
    SELECT ${COMPANY} AS company, timestamp, ${PAGE_OF_URL} AS page
    FROM events
    WHERE ${OF_SHOWN} AND ${WITHIN}${OF_LISTED} AND url != ''
  )
  GROUP BY company`

type Entry = readonly [
  company_id: string,
  week_visits: number,
  week_events: number,
  usual_visits: number,
  first_day: string,
  /** Empty: none, or not within the days that were read. */
  last_day_before: string,
]

type Sums = Readonly<Record<`${'now' | 'before'}_${'companies' | 'new' | 'visits' | 'events'}`, number>>
type Lists = Readonly<Record<'newcomers' | 'rising' | 'returned', readonly Entry[]>>

/** What the first page says about companies. */
export interface HomeWeek {
  /** First and last UTC day of this week. */
  readonly from: string
  readonly to: string
  readonly now: WeekSums
  readonly before: WeekSums
  readonly newcomers: HomeCompany[]
  readonly rising: HomeCompany[]
  readonly returned: HomeCompany[]
}

/**
 * Reads this week of the companies of a tenant: today and the six days before, against the days before. Rejects as `ClickHouseCompanies`.
 */
export class ClickHouseHome {
  readonly #reader: QuestionReader
  readonly #clock: Clock

  constructor(reader: QuestionReader, clock: Clock) {
    this.#reader = reader
    this.#clock = clock
  }

  async week(tenant: string): Promise<HomeWeek> {
    const nowMs = this.#clock.now()
    const before = (days: number) => utcDay(nowMs - days * DAY_MS)
    const [from, to] = [before(HOME.weekDays - 1), utcDay(nowMs)]
    const dayCount = HOME.weekDays * (1 + HOME.usualWeeks)
    const span = { tenant, from: before(dayCount - 1), to }
    const [sums] = await this.#reader.rows<Sums & Lists>(WEEKS, {
      ...span,
      week: from,
      last_week: before(2 * HOME.weekDays - 1),
    })
    const found = sums!
    const ids = [...found.newcomers, ...found.rising, ...found.returned].map(([id]) => id)
    const [rows, daily, pages] =
      ids.length === 0
        ? [[], [], []]
        : await Promise.all([
            this.#reader.rows<StoredCompanyRow>(companiesSql(OF_THESE), { tenant, companies: ids }),
            this.#reader.rows<{ company_id: string; visits_of: [string, number][] }>(DAILY, {
              ...span,
              companies: ids,
            }),
            this.#reader.rows<{ company_id: string; first_page: string; last_page: string }>(PAGES, {
              ...{ tenant, from, to, companies: ids },
            }),
          ])
    const all = Array.from({ length: dayCount }, (_, i) => before(dayCount - 1 - i))
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
      const visits = new Map(daily.find(({ company_id }) => company_id === id)?.visits_of)
      const { first_page = '', last_page = '' } = pages.find(({ company_id }) => company_id === id) ?? {}
      return [
        {
          ...rowOf(row, row.stored),
          ...{ week_visits, week_events, usual_visits, first_day, first_page, last_page },
          last_day_before: last_day_before === '' ? null : last_day_before,
          daily_visits: all.map((day) => visits.get(day) ?? 0),
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
      rising: found.rising.flatMap(companyOf),
      returned: found.returned.flatMap(companyOf),
    }
  }
}
