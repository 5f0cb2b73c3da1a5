import type { ProcessContext } from '../../process/context.ts'
import { ClickHouseCompanies } from '../queries/companies.ts'
import { ClickHouseOverview } from '../queries/overview.ts'
import { connectReading, DashboardReader } from '../queries/reader.ts'
import { ClickHouseRuleTrials } from '../queries/rule-trials.ts'
import { ClickHouseSources } from '../queries/sources.ts'

/** Reads ClickHouse with one client. */
export interface DashboardTables {
  readonly companies: ClickHouseCompanies
  readonly overview: ClickHouseOverview
  readonly trials: ClickHouseRuleTrials
  readonly sources: ClickHouseSources
  close(): Promise<void>
}

export function dashboardTables({ config: { clickhouseUrl }, telemetry: { clock } }: ProcessContext): DashboardTables {
  const client = clickhouseUrl === '' ? undefined : connectReading(clickhouseUrl)
  const reader = new DashboardReader(client)
  return {
    companies: new ClickHouseCompanies(reader, clock),
    overview: new ClickHouseOverview(reader),
    trials: new ClickHouseRuleTrials(() => reader.client, clock),
    sources: new ClickHouseSources(reader, clock),
    close: async () => await client?.close(),
  }
}
