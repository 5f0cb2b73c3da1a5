import type { EventDay, OutcomeCount } from '../../../schemas/dashboard/overview.ts'
import { companiesAndUnknown, isVisible } from '../../companies/corrected.ts'
import { companyDays, type ReadBasis, readBasis, WITHIN } from '../../companies/days.ts'
import { firstSeenSql } from '../../companies/list.ts'
import { utcDay } from '../../pipeline/event/outcomes.ts'
import { UTC } from '../../run/time-zone.ts'
import { givenUp } from '../../stores/clickhouse/client.ts'
import { STATEMENT_LIMITS } from '../../stores/clickhouse/read-limits.ts'
import type { QuestionReader } from '../../stores/clickhouse/reader.ts'
import { readUsage, type Usage } from '../../tenants/usage.ts'

const OUTCOMES = `
  SELECT toString(day) AS day, status, reason, classification, sum(daily_outcomes.events) AS events
  FROM daily_outcomes
  WHERE tenant_id = {tenant:String} AND daily_outcomes.day >= {from:Date32} AND daily_outcomes.day <= {to:Date32}
  GROUP BY daily_outcomes.day, status, reason, classification`

/** Limit of a page. */
const DAYS_MAX = 366

/** An aggregate for each day. */
const perDay = (aggregate: string) => `${aggregate}Resample(0, ${DAYS_MAX}, 1)`

/**
 * Companies are counted as lists show them: merged ones for their target, hidden ones not at all. Their events are kept, and count. Events
 * without a company are those of the company 0.
 */
const seenSql = (basis: ReadBasis) => `
  SELECT
    uniqExactIf(company, is_visible) AS seen,
    ${perDay('countIf')}(is_visible, day_index) AS companies_by_day,
    ${perDay('sumIf')}(days.events, company != 0, day_index) AS known_by_day,
    ${perDay('sumIf')}(days.events, company = 0, day_index) AS unknown_by_day
  FROM
  (
    SELECT company, company != 0 AND ${isVisible(basis, 'company')} AS is_visible, toInt32(day) - toInt32({from:Date32}) AS day_index, events
    FROM (${companyDays(basis, { companies: companiesAndUnknown(basis), within: WITHIN })})
  ) AS days`

const newSql = (basis: ReadBasis) => `
  SELECT toString(toDate32(first_seen)) AS day, count() AS companies
  FROM (${firstSeenSql(basis)})
  WHERE ${isVisible(basis, 'company')} AND toDate32(first_seen) >= {from:Date32} AND toDate32(first_seen) <= {to:Date32}
  GROUP BY toDate32(first_seen)`

const DAY_MS = 86_400_000

interface Seen {
  readonly seen: number
  readonly companies_by_day: readonly number[]
  readonly known_by_day: readonly number[]
  readonly unknown_by_day: readonly number[]
}

interface Counted {
  readonly day: string
  readonly companies: number
}

/** First and last UTC day, `YYYY-MM-DD`. */
export interface Days {
  readonly from: string
  readonly to: string
}

/** Stored events and their companies, by the UTC day of the event's timestamp. */
interface EventDays {
  /** Ordered by day, without empty days. */
  readonly days: readonly EventDay[]
  /** Distinct companies with an event on these days. */
  readonly companies: number
  /** Companies whose first event is on one of these days. */
  readonly newCompanies: number
}

/**
 * Reads sums of a tenant from the views and projections of `events`. Every call rejects with `UnavailableError`, or with
 * `BackpressureError` when there are too many.
 */
export class ClickHouseOverview {
  readonly #reader: QuestionReader

  constructor(reader: QuestionReader) {
    this.#reader = reader
  }

  /** By UTC day of receipt and outcome; unordered. */
  outcomes(tenantId: string, { from, to }: Days): Promise<readonly OutcomeCount[]> {
    return this.#reader.rows<OutcomeCount>(OUTCOMES, { tenant: tenantId, from, to })
  }

  /** At most 366 days. */
  async eventDays(tenantId: string, { from, to }: Days): Promise<EventDays> {
    const of = { tenant: tenantId, from, to }
    const basis = await readBasis(this.#reader, tenantId, 'days', UTC)
    const [[counted], firsts] = await Promise.all([
      this.#reader.rows<Seen>(seenSql(basis), of),
      this.#reader.rows<Counted>(newSql(basis), of),
    ])
    const newOf = new Map(firsts.map(({ day, companies }) => [day, companies]))
    const days: EventDay[] = []
    for (let day = from, i = 0; day <= to; day = utcDay(Date.parse(from) + ++i * DAY_MS)) {
      const ofDay = {
        day,
        companies: counted?.companies_by_day[i] ?? 0,
        new_companies: newOf.get(day) ?? 0,
        known: counted?.known_by_day[i] ?? 0,
        unknown: counted?.unknown_by_day[i] ?? 0,
      }
      if (ofDay.known + ofDay.unknown + ofDay.new_companies > 0) days.push(ofDay)
    }
    const newCompanies = firsts.reduce((sum, { companies }) => sum + companies, 0)
    return { days, companies: counted?.seen ?? 0, newCompanies }
  }

  /** @param month UTC, `YYYY-MM` */
  tracked(tenantId: string, month: string, limit: number): Promise<Usage> {
    const ask = () => readUsage(this.#reader.client, tenantId, month, limit, givenUp(STATEMENT_LIMITS.seconds))
    return this.#reader.ask(tenantId, JSON.stringify(['tracked', tenantId, month, limit]), ask)
  }
}
