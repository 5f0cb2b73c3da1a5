import { ClickHouseCompanies } from '../../clickhouse/dashboard/companies.ts'
import { ClickHouseOverview } from '../../clickhouse/dashboard/overview.ts'
import { connectReading, DashboardReader } from '../../clickhouse/dashboard/reader.ts'
import type { CompanyStore } from '../../dashboard/server/company-store.ts'
import type { OverviewStore } from '../../dashboard/server/overview-store.ts'
import type { RuleTrials } from '../../dashboard/server/routes/rules.ts'
import type { Parts } from '../parts.ts'
import { ClickHouseRuleTrials } from './rule-trials.ts'

/** All that the dashboard reads from ClickHouse, with one client. */
export interface DashboardTables {
  readonly companies: CompanyStore
  readonly overview: OverviewStore
  readonly trials: RuleTrials
  close(): Promise<void>
}

export function dashboardTables({ config: { clickhouseUrl }, telemetry: { clock } }: Parts): DashboardTables {
  const client = clickhouseUrl === '' ? undefined : connectReading(clickhouseUrl)
  const reader = new DashboardReader(client)
  return {
    companies: new ClickHouseCompanies(reader, clock),
    overview: new ClickHouseOverview(reader),
    trials: new ClickHouseRuleTrials(() => reader.client, clock),
    close: async () => await client?.close(),
  }
}
