import { randomUUID } from 'node:crypto'
import type { AddressErasureReceipt, ErasureReceipt } from '../../../schemas/erasure.ts'
import type { Clock } from '../../run/clock.ts'
import type { ErasableArchive, ErasableMails, ErasableRecords, ErasableTables, ErasureScope } from './ports.ts'
import type { Selector } from './selector.ts'

export interface ErasureOptions {
  readonly tables: ErasableTables
  readonly records: ErasableRecords
  readonly archive: ErasableArchive
  readonly clock: Clock
  /** Called at each step. */
  readonly onStep: (what: string) => void
  /** Time limit of each wait: for the pipeline, for merges, for Redis' files; milliseconds. */
  readonly waitMs: number
}

/**
 * Removes events of a tenant that were answered before the call from all stores, while everything runs. After a crash, call
 * it again to complete it; the receipt then counts the removals of the last call.
 *
 * The order makes this safe. Rows go last, because they tell which ids dedup must forget, and which archive lines belong to
 * an account. Redis' files are rewritten after all changes to Redis.
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
    onStep('waiting until all received events are stored')
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
      archive: { place: archive.location, lines: lines.lines, rewritten: lines.rewritten, deleted: lines.deleted },
      redis: { dead_letters: deadLetters, dedup: forgotten, batch_jobs: batchJobs, bulk_jobs: bulkJobs, files },
    }
  } finally {
    await tables.end().finally(() => records.end())
  }
}

/** Removes an e-mail address that mails went to. After a crash, call it again to complete it. @param address see `normalAddress` */
export async function eraseMailAddress(
  tenantId: string,
  address: string,
  {
    records,
    mails,
    clock,
    waitMs,
  }: Pick<ErasureOptions, 'records' | 'clock' | 'waitMs'> & { readonly mails: ErasableMails },
): Promise<AddressErasureReceipt> {
  const deadline = () => performance.now() + waitMs
  await records.begin(deadline())
  try {
    const removed = await mails.remove(tenantId, address, clock.now())
    const files = await records.rewriteFiles(deadline())
    return {
      ...{ receipt: randomUUID(), tenant_id: tenantId, selector: 'email' },
      finished_at: new Date(clock.now()).toISOString(),
      redis: { ...removed, files },
    }
  } finally {
    await records.end()
  }
}

/** An erased event is new when it is sent again. */
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
