import type { ProcessContext } from '../process/context.ts'
import type { Service } from '../run/service.ts'
import { Membership } from '../stores/redis/membership.ts'
import { RedisTenantStore } from '../tenants/redis/tenant-store.ts'
import { zonesByTenant } from '../tenants/tenancy.ts'
import { DaysBuilder } from './builder.ts'
import { DayTables } from './day-tables.ts'
import { createDaysMetrics } from './metrics.ts'
import { RedisDaysRecords } from './redis/records.ts'

/** Builds days, in one of the processes that have it. */
export function daysRole(context: ProcessContext): Service[] {
  const { config, telemetry, leases } = context
  const { log, clock, metrics } = telemetry
  const { processName, clickhouseUrl: url, clickhouseCluster: cluster, clickhouseHosts: hosts } = config
  const redis = context.connectLoop('days')
  const records = new RedisDaysRecords(redis)
  const tenants = new RedisTenantStore(redis)
  const tables = new DayTables({ url, cluster, hosts })
  const measures = createDaysMetrics(metrics, () => records.read(), clock)
  const lease = new Membership({ client: leases, name: 'days', processName, log }).share(0)
  const builder = new DaysBuilder({
    lease,
    tables,
    records,
    zones: async () => zonesByTenant(await tenants.listTenants()),
    clock,
    log,
    onBuilt: (count) => measures.built(count),
  })
  const connections: Service = { name: 'connections of days', start: async () => {}, stop: () => tables.close() }
  return [connections, builder]
}
