import type { BatchJob, BatchStatus, BatchSummary } from '../../../../../schemas/api/batch.ts'
import { nounFor } from '../../../../run/counted.ts'
import type { RedisClient } from '../../../../stores/redis/connect.ts'
import { keys, progressFields } from '../../../../stores/redis/keys.ts'
import { loadScript } from '../../../../stores/redis/scripts.ts'
import { problemOf, type Rejections, rejectedText, rejectionsOf } from './rejected-reasons.ts'

/** A job's record stays this long after its end (schemas/README.md, Batch jobs). */
export const RECORD_TTL_MS = 7 * 86_400_000
/** Why a job failed that its tenant cancelled. */
export const CANCELLED = 'cancelled'

const releaseJobScript = loadScript(import.meta.url, './releaseJob-4.lua')
const freeChunksScript = loadScript(import.meta.url, './freeChunks-2.lua')
const keepProgressScript = loadScript(import.meta.url, './keepProgress-1.lua')

/** Frees the lines of a job or an upload. @param record 'with record': it goes as well @returns how many records went */
export async function freeChunks(client: RedisClient, jobId: string, record: 'with record' | '' = ''): Promise<number> {
  const names = [keys.job(jobId), keys.chunks(jobId)]
  return Number(await freeChunksScript.run(client, names, [keys.chunk(jobId, ''), record]))
}

/** Gives up a job's place among the open ones. @param what 'no job': its upload never became one, and is listed no more */
export async function releaseJob(
  client: RedisClient,
  tenantId: string,
  jobId: string,
  what: 'a job' | 'no job',
): Promise<void> {
  const names = [keys.openJobs(), keys.openJobsOf(tenantId), keys.batchesOf(tenantId), keys.endedBatches()]
  const ttlMs = what === 'a job' ? RECORD_TTL_MS : ''
  await releaseJobScript.run(client, names, [jobId, tenantId, ttlMs, keys.batchesOf('')])
}

/**
 * Frees what an ended job, or a dead upload, holds. What was fed is remembered until it expires: a feeder that was held up
 * may still come with a chunk. May be repeated, and by several at once.
 */
export async function freeJob(
  client: RedisClient,
  partitions: number,
  job: { readonly id: string; readonly tenantId: string },
  what: 'a job' | 'no job',
): Promise<void> {
  const failed = (await client.hget(keys.job(job.id), 'status')) === 'failed'
  await freeChunks(client, job.id)
  await client.del(keys.jobErrors(job.id))
  for (let partition = 0; partition < partitions; partition++) {
    const progress = keys.jobProgress(partition, job.id)
    // What was fed of a failed job goes on, and is counted: the count is left to expire.
    if (failed) await keepProgressScript.run(client, [progress], [RECORD_TTL_MS, progressFields.stored])
    else await client.del(progress)
  }
  await releaseJob(client, job.tenantId, job.id, what)
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

/** The job as its tenant sees it. @param progress from `readProgress`, read before the record */
export function describeJob(
  jobId: string,
  record: Readonly<Record<string, string>>,
  { finished, byReason }: Pick<JobProgress, 'finished' | 'byReason'>,
): BatchJob {
  const status = record.status as BatchStatus
  const total = Number(record.received)
  const atFeed = Number(record.rejected ?? 0) + Number(record.invalid_ip ?? 0)
  const current = status === 'completed' ? total : Math.min(total, Number(record.current ?? atFeed + finished))
  const summary = record.summary === undefined ? null : (JSON.parse(record.summary) as BatchSummary)
  const rejections = rejectionsOf(record, summary, byReason.get('dead') ?? 0)
  return {
    job_id: jobId,
    status,
    progress_pct: Math.floor((current / total) * 100),
    progress_current: current,
    progress_total: total,
    progress_message: record.failure ?? messageOf(status, current, total, rejections),
    rejected: rejections.rejected,
    rejected_reasons: [...rejections.reasons],
    problem: status === 'failed' ? null : problemOf(total, rejections, Number(record.invalid_ip ?? 0)),
    result_summary: summary,
  }
}

function messageOf(status: BatchStatus, current: number, total: number, rejections: Rejections): string {
  if (status === 'failed') return 'failed'
  if (status === 'queued') return 'waiting to be processed'
  const all = total === 1 ? 'the event is finished' : `all ${total} events finished`
  const finished = status === 'completed' ? all : `${current} of ${total} ${nounFor(total, 'event')} finished`
  return [finished, rejectedText(rejections)].filter((part) => part !== '').join(', ')
}
