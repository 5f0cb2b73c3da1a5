import { EventEnvelope } from '../../../../schemas/api/event.ts'
import { tenantEnricher, tenantLookups } from '../../../enrichment/judge.ts'
import { RedisBulkQueue } from '../../../lookup/bulk/queue.ts'
import { BulkWorker } from '../../../lookup/bulk-worker.ts'
import type { ProcessContext } from '../../../process/context.ts'
import type { Service } from '../../../run/service.ts'
import { Announcements } from '../../../stores/redis/announcements.ts'
import { keys } from '../../../stores/redis/keys.ts'
import { RedisTenantStore } from '../../../tenants/redis/tenant-store.ts'
import { readerOfJobs } from '../../declaration/pipeline.ts'
import { compileValidator } from '../../event/validator.ts'
import { Feeder } from './feeder.ts'
import { RedisFeederStore } from './redis/feeder-store.ts'
import { strayProgress } from './redis/stray-progress.ts'

/** Feeds batch jobs, and works on bulk lookup jobs. */
export function batchRole(context: ProcessContext): Service[] {
  return [feeder(context), strayProgress(context.shared, context.telemetry.log), bulkWorker(context)]
}

function feeder(context: ProcessContext): Feeder {
  const { config, telemetry, pipeline, limits, shared, enrichment, recent, workMetrics } = context
  const { partitions } = config
  const read = workMetrics.stage('ingest', 'read')
  return new Feeder({
    store: new RedisFeederStore({
      client: shared,
      leases: context.leases,
      pipeline,
      partitions,
      shares: config.feederShares,
      processName: config.processName,
      log: telemetry.log,
    }),
    opened: new Announcements(context.connect({ name: 'jobs', kind: 'loop' }), keys.jobsOpened()),
    readerOf: (source) => readerOfJobs(pipeline, source),
    check: compileValidator(EventEnvelope),
    enricher: enrichment.engine,
    tenantEnricher,
    hostnames: enrichment.hostnames,
    partitions,
    waitingEventsMax: limits.batchWaitingEventsMax,
    waitingPayloadsMax: limits.batchWaitingPayloadsMax,
    clock: telemetry.clock,
    onFed: ({ fed, rejected, invalidIp }) => {
      const lines = fed + rejected + invalidIp
      const dropped = new Map(Object.entries({ rejected, invalid_ip: invalidIp }).filter(([, count]) => count > 0))
      recent.did('batch_lines', lines)
      read({ in: lines, out: fed, dropped })
    },
    log: telemetry.log,
  })
}

function bulkWorker(context: ProcessContext): BulkWorker {
  const { claimIdleMs } = context.config
  const { deliveriesMax } = context.limits
  const blocking = context.connectBlocking('bulk')
  const tenants = new RedisTenantStore(context.shared)
  const { lookups } = context.enrichment
  return new BulkWorker({
    queue: new RedisBulkQueue({ blocking, client: context.shared, claimIdleMs }),
    async lookupsOf(tenantId) {
      const tenant = await tenants.getTenant(tenantId)
      return tenant === undefined ? lookups : tenantLookups(lookups, tenant)
    },
    aliveEveryMs: claimIdleMs / 5,
    deliveriesMax,
    log: context.telemetry.log,
  })
}
