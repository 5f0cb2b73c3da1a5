import { randomUUID } from 'node:crypto'
import type { DeletionReceipt } from '../../../schemas/erasure.ts'
import { type ErasureOptions, forget } from './erase.ts'
import type { ErasureScope, TenantRemoval } from './ports.ts'

interface DeletionOptions extends ErasureOptions {
  readonly tenants: TenantRemoval
}

/**
 * Removes a tenant and all its data, while everything runs. The first step revokes its keys; its name stays taken until the
 * last step. After a crash, call it again to complete it.
 * @throws InputError when the tenant does not exist
 */
export async function deleteTenant(tenantId: string, options: DeletionOptions): Promise<DeletionReceipt> {
  const { tenants, tables, records, archive, clock, onStep, waitMs } = options
  const deadline = () => performance.now() + waitMs
  await records.begin(deadline())
  try {
    await tenants.mark(tenantId)
    const scope: ErasureScope = { tenantId, selector: undefined, beforeMs: clock.now() }
    onStep('keys are revoked; waiting until all received events are stored')
    await records.untilCancelled(tenantId, deadline())
    await tables.begin(scope)
    const removed = await removeStored(scope, options)
    // A request in progress at the first step may have been stored after the wait.
    onStep('checking for late events')
    await records.untilCancelled(tenantId, deadline())
    const late = await removeStored(scope, options)
    onStep("keys, and Redis' files")
    const keys = await tenants.removeKeys(tenantId)
    const files = await records.rewriteFiles(deadline())
    await tenants.removeRecord(tenantId)
    return {
      receipt: randomUUID(),
      tenant_id: tenantId,
      begun_at: new Date(scope.beforeMs).toISOString(),
      finished_at: new Date(clock.now()).toISOString(),
      clickhouse: {
        rows: removed.rows + late.rows,
        outcomes: removed.outcomes + late.outcomes,
        corrections: removed.corrections + late.corrections,
        detached_parts: late.detachedParts,
      },
      archive: { place: archive.location, objects: removed.objects + late.objects },
      redis: {
        keys,
        dead_letters: removed.deadLetters + late.deadLetters,
        dedup: removed.forgotten + late.forgotten,
        batch_jobs: removed.batchJobs + late.batchJobs,
        bulk_jobs: removed.bulkJobs + late.bulkJobs,
        files,
      },
    }
  } finally {
    await tables.end()
    await records.end()
  }
}

/** Removes the data stored for the tenant so far. */
async function removeStored(scope: ErasureScope, options: DeletionOptions) {
  const { tables, records, archive, clock, onStep, waitMs } = options
  const deadline = () => performance.now() + waitMs
  onStep('dead letters and jobs')
  const deadLetters = await records.removeLetters(scope, deadline())
  const batchJobs = await records.removeBatchJobs(scope.tenantId)
  const bulkJobs = await records.removeBulkJobs(scope)
  onStep('archive')
  const objects = await archive.removeTenant(scope)
  onStep('dedup window')
  const forgotten = await forget({ ...scope, beforeMs: clock.now() }, options)
  onStep('rows')
  return { deadLetters, batchJobs, bulkJobs, objects, forgotten, ...(await tables.remove(deadline())) }
}
