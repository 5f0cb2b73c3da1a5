import { randomUUID } from 'node:crypto'
import type { BatchJob, BatchStatus, BatchSummary } from '../../../schemas/api/batch.ts'
import type { BatchJobs, Upload } from '../../batch/jobs.ts'
import type { Clock } from '../../core/run/clock.ts'
import { BackpressureError, UnavailableError } from '../../core/run/errors.ts'
import type { RedisClient } from '../connect.ts'
import { keys, progressFields } from '../keys.ts'
import { loadScript } from '../scripts.ts'
import { UPLOAD_TTL_MS, UploadSpool } from './upload-spool.ts'

export interface RedisBatchJobsOptions {
  /** A connection of kind `request`, apart from that of live events: uploads are long. */
  readonly client: RedisClient
  readonly partitions: number
  /** Jobs that a tenant may have queued or running. */
  readonly openMax: number
  readonly deadlineMs: number
  readonly clock: Clock
  /** Why intake is closed for a tenant, with an archive or without one; undefined while it is open. */
  readonly closedBecause: (archived: boolean) => string | undefined
}

const RETRY_AFTER_SECONDS = 10
const reserveJobScript = loadScript('reserveJob-2')

/** Batch jobs in Redis: room for them, their uploads, and what their tenants may see of them. */
export class RedisBatchJobs implements BatchJobs {
  readonly #options: RedisBatchJobsOptions

  constructor(options: RedisBatchJobsOptions) {
    this.#options = options
  }

  async begin(tenantId: string, archived = false): Promise<Upload> {
    const { client, openMax, deadlineMs, clock, closedBecause } = this.#options
    const reason = closedBecause(archived)
    if (reason !== undefined) throw new BackpressureError(reason)
    const jobId = randomUUID()
    try {
      // The key goes first: a feeder takes a place without an upload for that of a dead one.
      await client.set(keys.upload(jobId), 0, 'PX', UPLOAD_TTL_MS)
      const reserved = await reserveJobScript.run(
        client,
        [keys.openJobs(), keys.openJobsOf(tenantId)],
        [jobId, tenantId, openMax],
      )
      if (reserved === 0) await client.del(keys.upload(jobId))
      if (reserved === 0) {
        throw new BackpressureError(`${openMax} batch jobs are queued or running already`, RETRY_AFTER_SECONDS)
      }
    } catch (error) {
      if (error instanceof BackpressureError) throw error
      throw new UnavailableError('the event store did not answer', { cause: error })
    }
    const release = () => releaseJob(client, tenantId, jobId)
    const receipt = { tenantId, archived, receivedAtMs: clock.now() }
    return new UploadSpool({ client, jobId, receipt, deadlineMs, release, closedBecause })
  }

  async find(tenantId: string, jobId: string): Promise<BatchJob | undefined> {
    const { client, partitions } = this.#options
    try {
      // Progress first: it is deleted only after the record says `completed`, so what is shown never goes back.
      const { finished } = await readProgress(client, partitions, jobId)
      const record = await client.hgetall(keys.job(jobId))
      if (record.tenant_id !== tenantId) return undefined
      return describeJob(jobId, record, finished)
    } catch (error) {
      throw new UnavailableError('the event store did not answer', { cause: error })
    }
  }
}

/** Gives up a job's place among the open ones. */
export async function releaseJob(client: RedisClient, tenantId: string, jobId: string): Promise<void> {
  await client.multi().hdel(keys.openJobs(), jobId).srem(keys.openJobsOf(tenantId), jobId).exec()
}

/** What the pipeline has done for a job, summed over the partitions. */
export interface JobProgress {
  /** Events that are finished. */
  readonly finished: number
  /** Those by reason: `stored`, `dead`, and the reasons of drops. */
  readonly byReason: ReadonlyMap<string, number>
  /** What stages counted, by name. */
  readonly counts: ReadonlyMap<string, number>
}

export async function readProgress(client: RedisClient, partitions: number, jobId: string): Promise<JobProgress> {
  const hashes = await Promise.all(
    Array.from({ length: partitions }, (_, partition) => client.hgetall(keys.jobProgress(partition, jobId))),
  )
  const byReason = new Map<string, number>()
  const counts = new Map<string, number>()
  const countPrefix = progressFields.count('')
  let finished = 0
  for (const [field, value] of hashes.flatMap((hash) => Object.entries(hash))) {
    const isCount = field.startsWith(countPrefix)
    const [sums, name] = isCount ? [counts, field.slice(countPrefix.length)] : [byReason, field]
    sums.set(name, (sums.get(name) ?? 0) + Number(value))
    if (!isCount) finished += Number(value)
  }
  return { finished, byReason, counts }
}

function describeJob(jobId: string, record: Readonly<Record<string, string>>, finished: number): BatchJob {
  const status = record.status as BatchStatus
  const total = Number(record.received)
  const atFeed = Number(record.rejected ?? 0) + Number(record.invalid_ip ?? 0)
  const current = status === 'completed' ? total : Math.min(total, Number(record.current ?? atFeed + finished))
  return {
    job_id: jobId,
    status,
    progress_pct: Math.floor((current / total) * 100),
    progress_current: current,
    progress_total: total,
    progress_message: messageOf(status, current, total, record.failure),
    result_summary: record.summary === undefined ? null : (JSON.parse(record.summary) as BatchSummary),
  }
}

function messageOf(status: BatchStatus, current: number, total: number, failure: string | undefined): string {
  switch (status) {
    case 'queued':
      return 'waiting to be processed'
    case 'running':
      return `${current} of ${total} events finished`
    case 'completed':
      return `all ${total} events finished`
    case 'failed':
      return failure ?? 'failed'
  }
}
