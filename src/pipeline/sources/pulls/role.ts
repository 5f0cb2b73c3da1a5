import { join } from 'node:path'
import { trustedProxies } from '../../../http/engine/trusted-proxies.ts'
import { batchJobs, intakeGate, uploadConnection } from '../../../process/batch-jobs.ts'
import type { ProcessContext } from '../../../process/context.ts'
import type { Service } from '../../../run/service.ts'
import { SecretBox } from '../../../secrets/secret-box.ts'
import { Membership } from '../../../stores/redis/membership.ts'
import { RedisTenantStore } from '../../../tenants/redis/tenant-store.ts'
import { Puller } from './puller.ts'
import { RedisPullStore } from './redis/pull-store.ts'

/** Pulls sources, in one of the processes that have it. */
export function pullRole(context: ProcessContext): Service[] {
  const { config, pipeline, telemetry, shared, leases } = context
  const kinds = new Map(pipeline.sources.flatMap(({ from }) => (from.pull ? [[from.name, from.pull] as const] : [])))
  if (kinds.size === 0) return []
  const gate = intakeGate(context)
  const { processName } = config
  const lease = new Membership({ client: leases, name: 'pulls', processName, log: telemetry.log }).share(0)
  const puller = new Puller({
    lease,
    store: new RedisPullStore(shared, lease),
    tenants: new RedisTenantStore(shared),
    jobs: batchJobs(context, uploadConnection(context), gate),
    pullOf: (kind) => kinds.get(kind),
    secrets: new SecretBox(config),
    tempDir: join(config.dataDir, 'pulls'),
    clock: telemetry.clock,
    log: telemetry.log,
    trusted: trustedProxies((config.own.TRUSTED_PROXIES as readonly string[] | undefined) ?? []),
  })
  return [gate, puller]
}
