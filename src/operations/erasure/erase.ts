import { randomUUID } from 'node:crypto'
import type { ErasureReceipt } from '../../../schemas/erasure.ts'
import type { Clock } from '../../run/clock.ts'
import type { ErasableArchive, ErasableRecords, ErasableTables, ErasureScope } from './ports.ts'
import type { Selector } from './selector.ts'

export interface ErasureOptions {
  readonly tables: ErasableTables
  readonly records: ErasableRecords
  readonly archive: ErasableArchive
  readonly clock: Clock
  /** Told what goes on. */
  readonly onStep: (what: string) => void
  /** How long each wait may take: for the pipeline, for merges, for Redis' files; milliseconds. */
  readonly waitMs: number
}

/**
 * Removes events of a tenant from all stores while everything runs: those that were answered before the call. Killed at any
 * moment, it is called again and ends the same; its receipt then counts what the last call removed.
 *
 * The order is what makes that so. Rows go last: they tell which ids dedup is to forget, and which lines of the archive
 * belong to an account. Redis' files are written anew behind everything that changes Redis.
 */
export async function eraseEvents(
  tenantId: string,
  selector: Selector,
  options: ErasureOptions,
): Promise<ErasureReceipt> {
  const { tables, records, archive, clock, onStep, waitMs } = options
  const deadline = () => performance.now() + waitMs
  const scope: ErasureScope = { tenantId, selector, beforeMs: clock.now() }
  await records.begin(deadline())
  try {
    onStep('waiting until all that was received is stored')
    await records.untilSettled(tenantId, deadline())
    await tables.begin(scope)
    onStep('dead letters and jobs')
    const deadLetters = await records.removeLetters(scope, deadline())
    const batchJobs = await records.removeQuotes(tenantId)
    const bulkJobs = await records.removeBulkJobs(scope)
    onStep('archive')
    const lines = await archive.remove(scope, (...ids) => tables.idsAmong(...ids))
    onStep('dedup window')
    const forgotten = await forget(scope, options)
    onStep('rows')
    const { rows, detachedParts } = await tables.remove(deadline())
    onStep("Redis' files")
    const files = await records.rewriteFiles(deadline())
    return {
      receipt: randomUUID(),
      tenant_id: tenantId,
      selector: selector.kind,
      received_before: new Date(scope.beforeMs).toISOString(),
      finished_at: new Date(clock.now()).toISOString(),
      clickhouse: { rows, detached_parts: detachedParts },
      archive: { place: archive.place, lines: lines.lines, rewritten: lines.rewritten, deleted: lines.deleted },
      redis: { dead_letters: deadLetters, dedup: forgotten, batch_jobs: batchJobs, bulk_jobs: bulkJobs, files },
    }
  } finally {
    await tables.end()
    await records.end()
  }
}

/** An event that was erased and is sent again is a new one. */
export async function forget(
  { tenantId, beforeMs }: ErasureScope,
  { tables, records }: Pick<ErasureOptions, 'tables' | 'records'>,
): Promise<number> {
  let forgotten = 0
  for await (const ids of tables.eventIds(beforeMs - records.windowMs)) {
    forgotten += await records.forget(tenantId, ids, beforeMs)
  }
  return forgotten
}
