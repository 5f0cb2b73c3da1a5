import { ClickHouseVisits as AlertVisits } from '../../alerts/evaluation/visits.ts'
import { ClickHouseActivity } from '../../companies/activity.ts'
import { ClickHouseCompanies, namedSources } from '../../companies/companies.ts'
import { CompanyCorrections, type CorrectionsLock } from '../../companies/corrections/corrections.ts'
import { ClickHouseHome } from '../../companies/home.ts'
import { CompanyImports } from '../../companies/imports/imports.ts'
import { ClickHouseIntentPages } from '../../companies/intent-pages.ts'
import { ClickHousePages } from '../../companies/pages.ts'
import { ClickHouseChannels } from '../../companies/touches.ts'
import type { ProcessContext } from '../../process/context.ts'
import { connectReading, QuestionReader, writerOf } from '../../stores/clickhouse/reader.ts'
import type { TenantStore } from '../../tenants/stores.ts'
import { zonesOf } from '../../tenants/tenancy.ts'
import { ClickHouseAccuracy } from '../queries/accuracy.ts'
import { ClickHouseOverview } from '../queries/overview.ts'
import { ClickHouseRuleTrials } from '../queries/rule-trials.ts'
import { ClickHouseSources } from '../queries/sources.ts'

/** Reads ClickHouse with one client. */
export interface DashboardTables {
  readonly accuracy: ClickHouseAccuracy
  /** The evaluation's reader, for dry runs of alerts. */
  readonly alertVisits: AlertVisits
  readonly companies: ClickHouseCompanies
  readonly corrections: CompanyCorrections
  readonly home: ClickHouseHome
  readonly imports: CompanyImports
  readonly intentPages: ClickHouseIntentPages
  readonly overview: ClickHouseOverview
  readonly pages: ClickHousePages
  readonly channels: ClickHouseChannels
  readonly activity: ClickHouseActivity
  readonly trials: ClickHouseRuleTrials
  readonly sources: ClickHouseSources
  close(): Promise<void>
}

export function dashboardTables(
  { config: { clickhouseUrl }, telemetry, enrichment }: ProcessContext,
  tenants: Pick<TenantStore, 'listSources' | 'getTenant'>,
  lock: CorrectionsLock,
): DashboardTables {
  const { clock } = telemetry
  const client = clickhouseUrl === '' ? undefined : connectReading(clickhouseUrl, 'dashboard')
  const writer = writerOf(clickhouseUrl, 'corrections')
  const reader = new QuestionReader(client)
  const zoneOf = zonesOf(tenants)
  const corrections = new CompanyCorrections(writer.client, clock, lock)
  return {
    accuracy: new ClickHouseAccuracy(reader, clock, enrichment.engine, tenants),
    alertVisits: new AlertVisits(reader, namedSources(tenants), clock, zoneOf),
    companies: new ClickHouseCompanies(reader, clock, namedSources(tenants), zoneOf),
    corrections,
    home: new ClickHouseHome(reader, zoneOf),
    imports: new CompanyImports(writer.client, corrections),
    intentPages: new ClickHouseIntentPages(reader, clock, zoneOf),
    overview: new ClickHouseOverview(reader),
    pages: new ClickHousePages(reader, zoneOf),
    channels: new ClickHouseChannels(reader, zoneOf),
    activity: new ClickHouseActivity(reader, clock, zoneOf),
    trials: new ClickHouseRuleTrials(() => reader.client, clock),
    sources: new ClickHouseSources(reader, clock),
    close: async () => {
      await Promise.all([client?.close(), writer.close()])
    },
  }
}
