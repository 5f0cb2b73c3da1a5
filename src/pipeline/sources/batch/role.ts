import { EventEnvelope } from '../../../../schemas/api/event.ts'
import { tenantEnricher } from '../../../enrichment/tenant-rules/judge.ts'
import { RedisBulkQueue } from '../../../lookup/bulk/queue.ts'
import { BulkWorker } from '../../../lookup/bulk-worker.ts'
import type { Parts } from '../../../process/context.ts'
import type { Service } from '../../../run/service.ts'
import { Announcements } from '../../../stores/redis/announcements.ts'
import { keys } from '../../../stores/redis/keys.ts'
import { readerOfJobs } from '../../declaration/pipeline.ts'
import { compileValidator } from '../../event/validator.ts'
import { Feeder } from './feeder.ts'
import { RedisFeederStore } from './redis/feeder-store.ts'

/** Feeds batch jobs into their lane, and does bulk lookup jobs. */
export function batchRole(parts: Parts): Service[] {
  return [feeder(parts), bulkWorker(parts)]
}

function feeder(parts: Parts): Feeder {
  const { config, telemetry, pipeline, limits, shared, enrichment, origins, recent, workMetrics } = parts
  const { partitions } = config
  const read = workMetrics.stage('ingest', 'read')
  return new Feeder({
    store: new RedisFeederStore({
      client: shared,
      leases: parts.leases,
      pipeline,
      partitions,
      shares: config.feederShares,
      place: config.place,
      log: telemetry.log,
    }),
    opened: new Announcements(parts.connect({ name: 'jobs', kind: 'loop' }), keys.jobsOpened()),
    readerOf: (source) => readerOfJobs(pipeline, source),
    check: compileValidator(EventEnvelope),
    enricher: enrichment.engine,
    tenantEnricher,
    onOrigins: (tenantId, counts) => origins.add(tenantId, counts),
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

function bulkWorker(parts: Parts): BulkWorker {
  const { claimIdleMs } = parts.config
  const { deliveriesMax } = parts.limits
  const blocking = parts.connectBlocking('bulk')
  return new BulkWorker({
    queue: new RedisBulkQueue({ blocking, client: parts.shared, claimIdleMs }),
    lookups: parts.enrichment.lookups,
    aliveEveryMs: claimIdleMs / 5,
    deliveriesMax,
    log: parts.telemetry.log,
  })
}
