import { ClickHouseCompanies, namedSources } from '../../companies/companies.ts'
import { judgedLookup, ruleSetOf } from '../../enrichment/tenant-rules/judge.ts'
import type { ProcessContext } from '../../process/context.ts'
import { connectReading, QuestionReader } from '../../stores/clickhouse/reader.ts'
import type { TenantStore } from '../../tenants/stores.ts'
import { ClickHouseAccuracy } from '../queries/accuracy.ts'
import { ClickHouseOverview } from '../queries/overview.ts'
import { ClickHouseRuleTrials } from '../queries/rule-trials.ts'
import { ClickHouseSources } from '../queries/sources.ts'

/** Reads ClickHouse with one client. */
export interface DashboardTables {
  readonly accuracy: ClickHouseAccuracy
  readonly companies: ClickHouseCompanies
  readonly overview: ClickHouseOverview
  readonly trials: ClickHouseRuleTrials
  readonly sources: ClickHouseSources
  close(): Promise<void>
}

export function dashboardTables(
  { config: { clickhouseUrl }, telemetry, enrichment }: ProcessContext,
  tenants: Pick<TenantStore, 'listSources'>,
): DashboardTables {
  const { clock } = telemetry
  const { engine } = enrichment
  const client = clickhouseUrl === '' ? undefined : connectReading(clickhouseUrl, 'dashboard')
  const reader = new QuestionReader(client)
  const organisationOf = (domain: string) => engine.organisationOf(domain)
  return {
    accuracy: new ClickHouseAccuracy(
      reader,
      clock,
      (address, tenant) => judgedLookup(engine.lookup(address), address, ruleSetOf(tenant), organisationOf).lookup,
    ),
    companies: new ClickHouseCompanies(reader, clock, namedSources(tenants)),
    overview: new ClickHouseOverview(reader),
    trials: new ClickHouseRuleTrials(() => reader.client, clock),
    sources: new ClickHouseSources(reader, clock),
    close: async () => await client?.close(),
  }
}
