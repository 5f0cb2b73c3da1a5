import type { CompaniesOfDay, OutcomeCount } from '../../../schemas/dashboard/overview.ts'
import { utcDay } from '../../core/event/outcomes.ts'
import type { CompaniesSeen, Days, OverviewStore, TrackedAccounts } from '../../dashboard/server/overview-store.ts'
import { STATEMENT_LIMITS } from '../../dashboard/server/read-limits.ts'
import { givenUp } from '../client.ts'
import { readUsage } from '../usage.ts'
import { COMPANIES } from './company-list.ts'
import type { DashboardReader } from './reader.ts'

const OUTCOMES = `
  SELECT toString(day) AS day, status, reason, classification, sum(daily_outcomes.events) AS events
  FROM daily_outcomes
  WHERE tenant_id = {tenant:String} AND daily_outcomes.day >= {from:Date32} AND daily_outcomes.day <= {to:Date32}
  GROUP BY daily_outcomes.day, status, reason, classification`

/** As many as a page may ask for. */
const DAYS_MAX = 366

/**
 * In one pass: different companies, and how many there are of each day from the first on. Pairs of company and day may be many, so
 * they are 12 bytes each, and what is counted behind them grows with the companies only.
 */
const SEEN = `
  SELECT uniqExact(company) AS seen, countResample(0, ${DAYS_MAX}, 1)(toInt32(seen_on) - toInt32({from:Date32})) AS by_day
  FROM
  (
    SELECT sipHash64(company_id) AS company, toDate32(timestamp) AS seen_on
    FROM events
    WHERE tenant_id = {tenant:String} AND company_id > '' AND toDate32(timestamp) >= {from:Date32} AND toDate32(timestamp) <= {to:Date32}
    GROUP BY company, seen_on
  )`

const NEW = `
  SELECT toString(toDate32(first_seen)) AS day, count() AS companies
  FROM (${COMPANIES})
  WHERE toDate32(first_seen) >= {from:Date32} AND toDate32(first_seen) <= {to:Date32}
  GROUP BY toDate32(first_seen)`

const DAY_MS = 86_400_000

interface Seen {
  readonly seen: number
  readonly by_day: readonly number[]
}

interface Counted {
  readonly day: string
  readonly companies: number
}

/** Sums of tenants, out of the views and the projections of `events`. */
export class ClickHouseOverview implements OverviewStore {
  readonly #reader: DashboardReader

  constructor(reader: DashboardReader) {
    this.#reader = reader
  }

  outcomes(tenantId: string, { from, to }: Days): Promise<readonly OutcomeCount[]> {
    return this.#reader.rows<OutcomeCount>(OUTCOMES, { tenant: tenantId, from, to })
  }

  async companies(tenantId: string, { from, to }: Days): Promise<CompaniesSeen> {
    const of = { tenant: tenantId, from, to }
    const [[counted], firsts] = await Promise.all([
      this.#reader.rows<Seen>(SEEN, of),
      this.#reader.rows<Counted>(NEW, of),
    ])
    const { seen, by_day } = counted ?? { seen: 0, by_day: [] }
    const newOf = new Map(firsts.map(({ day, companies }) => [day, companies]))
    const days: CompaniesOfDay[] = []
    for (let day = from, i = 0; day <= to; day = utcDay(Date.parse(from) + ++i * DAY_MS)) {
      const ofDay = { day, seen: by_day[i] ?? 0, new: newOf.get(day) ?? 0 }
      if (ofDay.seen > 0 || ofDay.new > 0) days.push(ofDay)
    }
    return { days, seen, new: firsts.reduce((sum, { companies }) => sum + companies, 0) }
  }

  tracked(tenantId: string, month: string, limit: number): Promise<TrackedAccounts> {
    const nothing = { tracked_accounts: 0, passed_at: null }
    const ask = () => readUsage(this.#reader.client, tenantId, month, limit, givenUp(STATEMENT_LIMITS.seconds))
    return this.#reader.ask(tenantId, JSON.stringify(['tracked', tenantId, month, limit]), nothing, ask)
  }
}
