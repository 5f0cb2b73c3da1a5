import { join } from 'node:path'
import { ClickHouseCompanies, namedSources } from '../companies/companies.ts'
import { Segments } from '../companies/segments/segments.ts'
import { openObjectStore } from '../pipeline/sinks/archive/destination.ts'
import type { ProcessContext } from '../process/context.ts'
import type { Service } from '../run/service.ts'
import { connectReading, QuestionReader } from '../stores/clickhouse/reader.ts'
import { Membership } from '../stores/redis/membership.ts'
import { RedisTenantStore } from '../tenants/redis/tenant-store.ts'
import { zonesOf } from '../tenants/tenancy.ts'
import { Exporter } from './exporter.ts'
import { createExportMetrics } from './metrics.ts'
import { RedisExports } from './redis/export-store.ts'
import { readExports } from './status.ts'

/** Writes exports, in one of the processes that have it. */
export function exportRole(context: ProcessContext): Service[] {
  const { config, telemetry, leases, archiveLocation } = context
  const { log, clock, metrics } = telemetry
  const { processName, clickhouseUrl, dataDir } = config
  const redis = context.connectLoop('exports')
  const tenants = new RedisTenantStore(redis)
  const reading = connectReading(clickhouseUrl, 'exports')
  const companies = new ClickHouseCompanies(new QuestionReader(reading), clock, namedSources(tenants), zonesOf(tenants))
  const store = openObjectStore(archiveLocation)
  const measures = createExportMetrics(metrics, () => readExports(redis, clock.now()))
  const exporter = new Exporter({
    lease: new Membership({ client: leases, name: 'exports', processName, log }).share(0),
    exports: new RedisExports(redis),
    segments: new Segments(redis, clock),
    rows: (tenantId, filter, left) => companies.rows(tenantId, filter, left),
    ownColumns: (tenantId) => companies.ownColumns(tenantId),
    store,
    spoolDir: join(dataDir, 'export-spool'),
    getTenant: (id) => tenants.getTenant(id),
    ...{ clock, log },
    onAttempt: (result) => measures.attempted(result),
  })
  const connections: Service = {
    name: 'connections of exports',
    start: async () => {},
    stop: async () => {
      await Promise.all([reading.close(), store.close()])
    },
  }
  return [connections, exporter]
}
