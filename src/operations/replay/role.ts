import { defaultDataDirOf, fetchedDirOf } from '../../config/config.ts'
import { makeDefaults } from '../../enrichment/files/defaults/make.ts'
import { openObjectStore } from '../../pipeline/sinks/archive/destination.ts'
import type { ProcessContext } from '../../process/context.ts'
import type { Service } from '../../run/service.ts'
import { persisted } from '../../stores/redis/durability/persisted.ts'
import { rewriteLease } from '../../stores/redis/rewrite-lease.ts'
import { RedisTenantStore } from '../../tenants/redis/tenant-store.ts'
import { ClickHouseReenrichment } from '../reenrich/clickhouse.ts'
import { ReenrichJobs } from '../reenrich/jobs/job-store.ts'
import { PartReader } from './archive-reader.ts'
import { type JobData, ReenrichJobRunner } from './job-runner.ts'
import { withOwnEnrichment } from './own-enrichment.ts'
import { RedisReplayLane } from './redis/lane.ts'
import { ReplayTables } from './replay-tables.ts'

/** Smaller than those of a command: live events come first, and a job reports its progress. */
const SIZES = { sliceEvents: 500_000, portionGroups: 250 } as const
/** How long to wait for the pipeline, before the job is tried again. */
const WAIT_MS = 60_000

/** Applies rules to stored events. With the role `archive`, because filtered events return from there. */
export function reenrichmentRole(context: ProcessContext): Service[] {
  const { config, telemetry, leases, pipeline } = context
  const { clickhouseUrl: url, clickhouseCluster: cluster, clickhouseHosts: hosts, processName, retentionDays } = config
  const place = { url, cluster, hosts }
  const { log, clock } = telemetry
  const redis = context.connectLoop('reenrichments')
  const tenants = new RedisTenantStore(redis)
  const stored = new ReplayTables(place)
  const archive = openObjectStore(context.archiveLocation)
  const runner = new ReenrichJobRunner({
    lease: rewriteLease({ client: leases, processName, log }),
    jobs: new ReenrichJobs(redis),
    events: new ClickHouseReenrichment(place, SIZES),
    stored,
    archive: new PartReader(archive),
    openLane: (assertHeld) =>
      RedisReplayLane.open(redis, pipeline, { waitMs: WAIT_MS, partAgeMs: config.archivePartAgeMs, assertHeld }),
    withData: (use) => withJobData(context, use),
    getTenant: (id) => tenants.getTenant(id),
    retentionDays,
    windowMs: context.limits.dedupWindowMs,
    persisted: () => persisted(redis),
    ...{ clock, log },
  })
  const stores: Service = {
    name: 'stores of reenrichment jobs',
    start: async () => {},
    stop: async () => {
      await stored.close()
      await archive.close()
    },
  }
  return [stores, runner]
}

/** The data of this process. A process without any loads them for the job. */
async function withJobData<T>(context: ProcessContext, use: (data: JobData) => Promise<T>): Promise<T> {
  if (context.hasEnrichment) {
    const { engine, hostnames } = context.enrichment
    return await use({ frozen: engine.frozen(), enricher: engine, hostnames })
  }
  const { config } = context
  const defaultsDir = defaultDataDirOf(config)
  if (defaultsDir !== undefined) await makeDefaults(defaultsDir)
  const folders = { dir: config.enrichDir, defaultsDir, fetchedDir: fetchedDirOf(config) }
  return await withOwnEnrichment(config, folders, ({ engine, hostnames }) =>
    use({ frozen: engine.frozen(), enricher: engine, hostnames }),
  )
}
