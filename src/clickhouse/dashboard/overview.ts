import type { ClickHouseClient } from '@clickhouse/client'
import type { CompaniesOfDay, OutcomeCount } from '../../../schemas/dashboard/overview.ts'
import type { CompaniesSeen, Days, OverviewStore, TrackedAccounts } from '../../dashboard/server/overview-store.ts'
import { readUsage } from '../usage.ts'
import { COMPANIES } from './company-list.ts'
import { answered, DashboardReader } from './reader.ts'

const OUTCOMES = `
  SELECT toString(day) AS day, status, reason, classification, sum(daily_outcomes.events) AS events
  FROM daily_outcomes
  WHERE tenant_id = {tenant:String} AND daily_outcomes.day >= {from:Date32} AND daily_outcomes.day <= {to:Date32}
  GROUP BY daily_outcomes.day, status, reason, classification`

const SEEN = `
  SELECT toString(seen_on) AS day, count() AS companies
  FROM
  (
    SELECT company_id, toDate32(timestamp) AS seen_on
    FROM events
    WHERE tenant_id = {tenant:String} AND company_id > '' AND toDate32(timestamp) >= {from:Date32} AND toDate32(timestamp) <= {to:Date32}
    GROUP BY company_id, seen_on
  )
  GROUP BY seen_on`

const SEEN_AT_ALL = `
  SELECT '' AS day, count() AS companies
  FROM
  (
    SELECT company_id
    FROM events
    WHERE tenant_id = {tenant:String} AND company_id > '' AND toDate32(timestamp) >= {from:Date32} AND toDate32(timestamp) <= {to:Date32}
    GROUP BY company_id
  )`

const NEW = `
  SELECT toString(toDate32(first_seen)) AS day, count() AS companies
  FROM (${COMPANIES})
  WHERE toDate32(first_seen) >= {from:Date32} AND toDate32(first_seen) <= {to:Date32}
  GROUP BY toDate32(first_seen)`

interface Counted {
  readonly day: string
  readonly companies: number
}

/** Sums of tenants, out of the views and the projections of `events`. */
export class ClickHouseOverview implements OverviewStore {
  readonly #reader: DashboardReader

  /** @param client as `DashboardReader` */
  constructor(client: ClickHouseClient | undefined) {
    this.#reader = new DashboardReader(client)
  }

  outcomes(tenantId: string, { from, to }: Days): Promise<readonly OutcomeCount[]> {
    return this.#reader.rows<OutcomeCount>(OUTCOMES, { tenant: tenantId, from, to })
  }

  async companies(tenantId: string, { from, to }: Days): Promise<CompaniesSeen> {
    const of = { tenant: tenantId, from, to }
    const [perDay, firsts, distinct] = await Promise.all([
      this.#reader.rows<Counted>(SEEN, of),
      this.#reader.rows<Counted>(NEW, of),
      this.#reader.rows<Counted>(SEEN_AT_ALL, of),
    ])
    const days = new Map<string, CompaniesOfDay>()
    for (const { day, companies } of perDay) days.set(day, { day, seen: companies, new: 0 })
    for (const { day, companies } of firsts) days.set(day, { day, seen: days.get(day)?.seen ?? 0, new: companies })
    return {
      days: [...days.values()].sort((a, b) => (a.day < b.day ? -1 : 1)),
      seen: distinct[0]?.companies ?? 0,
      new: firsts.reduce((sum, { companies }) => sum + companies, 0),
    }
  }

  async tracked(tenantId: string, month: string, limit: number): Promise<TrackedAccounts> {
    return await answered(readUsage(this.#reader.client, tenantId, month, limit), {
      tracked_accounts: 0,
      passed_at: null,
    })
  }
}
