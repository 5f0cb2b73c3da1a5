import { Sample } from '../../operations/demo/sample.ts'
import { SampleRemoval } from '../../operations/demo/sample-removal.ts'
import { StoreErasableArchive } from '../../operations/erasure/erasable-archive.ts'
import { ClickHouseErasableEvents } from '../../operations/erasure/erasable-events.ts'
import { RedisErasableRecords } from '../../operations/erasure/redis/erasable-records.ts'
import { RedisTenantRemoval } from '../../operations/erasure/redis/tenant-removal.ts'
import { endReenrichment } from '../../operations/reenrich/end.ts'
import { rewriteHold } from '../../operations/reenrich/rewrite-hold.ts'
import type { BatchJobs } from '../../pipeline/declaration/batch-jobs.ts'
import { openObjectStore } from '../../pipeline/sinks/archive/destination.ts'
import { receiveUpload } from '../../pipeline/sources/batch/receive-upload.ts'
import type { ProcessContext } from '../../process/context.ts'
import type { Service } from '../../run/service.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { rewriteLease } from '../../stores/redis/rewrite-lease.ts'
import { TenantAdmin } from '../../tenants/admin.ts'
import { RedisTenantStore } from '../../tenants/redis/tenant-store.ts'
import type { SampleVisits } from '../server/routes/first-steps.ts'

/** Made-up visits, and the services that remove them. A process without tables only shows them. */
export function sampleOf(
  context: ProcessContext,
  redis: RedisClient,
  jobs: BatchJobs,
): { readonly sample: SampleVisits; readonly removal: readonly Service[] } {
  const { config, telemetry, enrichment, pipeline, archiveLocation } = context
  const { clickhouseUrl: url, clickhouseCluster: cluster, clickhouseHosts: hosts, partitions, processName } = config
  const { clock, log } = telemetry
  const client = context.connectLoop('sample')
  const admin = new TenantAdmin({ store: new RedisTenantStore(redis), plans: config.plans, clock })
  const archive = openObjectStore(archiveLocation)
  const place = { url, cluster, hosts }
  const lease = rewriteLease({ client: context.leases, processName, log })
  const removal =
    url === ''
      ? undefined
      : new SampleRemoval({
          admin,
          lease,
          endCopies: () => endReenrichment(place, rewriteHold(client, lease), (line) => log.info(line)),
          open: () => ({
            tables: new ClickHouseErasableEvents(place),
            records: new RedisErasableRecords({ client, pipeline, partitions, folder: undefined, log }),
            archive: new StoreErasableArchive(archive),
            tenants: new RedisTenantRemoval(client),
          }),
          clock,
          log,
        })
  const sample = new Sample({
    admin,
    upload: async (tenant, pieces) => void (await receiveUpload(jobs, tenant, pieces, { commit: () => {} })),
    enrich: (address) => enrichment.engine.enrich(address),
    clock,
    onUnused: () => removal?.wake(),
  })
  const store: Service = { name: 'archive of sample data', start: async () => {}, stop: () => archive.close() }
  return { sample, removal: removal === undefined ? [store] : [store, removal] }
}
