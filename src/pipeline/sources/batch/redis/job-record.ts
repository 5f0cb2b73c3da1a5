import { BATCH_LIMITS, type BatchJob, type BatchStatus, type BatchSummary } from '../../../../../schemas/api/batch.ts'
import { nounFor } from '../../../../run/counted.ts'
import type { RedisClient } from '../../../../stores/redis/connect.ts'
import { assertSameConnection, lossesOf } from '../../../../stores/redis/connection-losses.ts'
import { keys, progressFields } from '../../../../stores/redis/keys.ts'
import { loadScript } from '../../../../stores/redis/scripts.ts'
import { problemOf, type Rejections, rejectedText, rejectionsOf } from './rejected-reasons.ts'

/** A job's record is kept this long after its end (schemas/README.md, Batch jobs). */
export const RECORD_TTL_MS = 7 * 86_400_000
/** Rejected lines are kept this long after the end of their job. */
export const REJECTED_TTL_MS = BATCH_LIMITS.rejectedHours * 3_600_000
/** Failure text of a job that its tenant cancelled. */
export const CANCELLED = 'cancelled'

const releaseJobScript = loadScript(import.meta.url, './releaseJob-7.lua')
const freeChunksScript = loadScript(import.meta.url, './freeChunks-2.lua')
const keepProgressScript = loadScript(import.meta.url, './keepProgress-1.lua')

/** Deletes the lines of a job or an upload, and on request its record. @returns the number of deleted records */
export async function freeChunks(client: RedisClient, jobId: string, record: 'with record' | '' = ''): Promise<number> {
  const names = [keys.job(jobId), keys.chunks(jobId)]
  return Number(await freeChunksScript.run(client, names, [keys.chunk(jobId, ''), record]))
}

/** Removes a job from the open jobs. @param what 'no job': the upload never became a job, so it also leaves the job list */
export async function releaseJob(
  client: RedisClient,
  tenantId: string,
  jobId: string,
  what: 'a job' | 'no job',
): Promise<void> {
  const open = [keys.openJobs(), keys.openJobsOf(tenantId)]
  const names = [
    ...[...open, keys.batchesOf(tenantId), keys.endedBatches(), keys.spooledBytesOf(tenantId)],
    ...[keys.rejectedBytesOf(tenantId), keys.rejectedUntil(tenantId)],
  ]
  const ttlMs = what === 'a job' ? RECORD_TTL_MS : ''
  await releaseJobScript.run(client, names, [jobId, tenantId, ttlMs, keys.batchesOf(''), REJECTED_TTL_MS])
}

/**
 * Frees the keys of an ended job or a dead upload. The producers' sequence numbers stay until they expire, because a delayed
 * feeder may still send a chunk. Safe to repeat and to run concurrently.
 */
export async function freeJob(
  client: RedisClient,
  partitions: number,
  job: { readonly id: string; readonly tenantId: string },
  what: 'a job' | 'no job',
): Promise<void> {
  const losses = lossesOf(client)
  const failed = (await client.hget(keys.job(job.id), 'status')) === 'failed'
  await freeChunks(client, job.id)
  await client.del(keys.jobErrors(job.id))
  // LT: a repeat does not keep them longer.
  await client.pexpire(keys.jobRejected(job.id), REJECTED_TTL_MS, 'LT')
  for (let partition = 0; partition < partitions; partition++) {
    const progress = keys.jobProgress(partition, job.id)
    // Events of a failed job stay in the pipeline and still count here, so its progress expires later.
    if (failed) await keepProgressScript.run(client, [progress], [RECORD_TTL_MS, progressFields.stored])
    else await client.del(progress)
  }
  // On the next master the job may still run, and only feeders of open jobs end it.
  assertSameConnection(client, losses)
  await releaseJob(client, job.tenantId, job.id, what)
}

/** Progress of a job, summed over the partitions. */
interface JobProgress {
  readonly finished: number
  /** Finished events by reason: `stored`, `dead`, and the reasons of drops. */
  readonly byReason: ReadonlyMap<string, number>
  /** Counts of the stages, by name. */
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

/** Lines that the feeder counted, and that make no events. */
export function countedAtFeed(record: Readonly<Record<string, string>>): number {
  return Number(record.rejected ?? 0) + Number(record.invalid_ip ?? 0) + Number(record.no_page ?? 0)
}

/** The job as its tenant sees it. The progress must be read before the record. */
export function describeJob(
  jobId: string,
  record: Readonly<Record<string, string>>,
  { finished, byReason }: Pick<JobProgress, 'finished' | 'byReason'>,
  nowMs: number,
): BatchJob {
  const status = record.status as BatchStatus
  const total = Number(record.received)
  const atFeed = countedAtFeed(record)
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
    rejected_lines: rejectedLinesOf(record, nowMs),
    cancelled: record.failure === CANCELLED,
    label: record.label ?? null,
    stored: summary === null ? (byReason.get(progressFields.stored) ?? 0) : storedIn(summary),
    started_at: timeOf(record.started_at),
    ended_at: timeOf(record.ended_at),
    problem: status === 'failed' ? null : problemOf(total, rejections, Number(record.invalid_ip ?? 0)),
    result_summary: summary,
  }
}

function timeOf(ms: string | undefined): string | null {
  return ms === undefined ? null : new Date(Number(ms)).toISOString()
}

/** Each line of a completed job is stored, or counted under exactly one name. */
function storedIn({ processed, valid_ips: _, identified_ips: __, ...others }: BatchSummary): number {
  const counts = Object.values(others).filter((value): value is number => typeof value === 'number')
  return counts.reduce((rest, count) => rest - count, processed)
}

/** The kept lines of a job; null when they have expired, or were never kept: an earlier version ended it. */
export function rejectedLinesOf(
  record: Readonly<Record<string, string>>,
  nowMs: number,
): { readonly kept: number; readonly complete: boolean; readonly expires_at: string | null } | null {
  const hasEnded = record.status === 'completed' || record.status === 'failed'
  const expiresMs = Number(record.ended_at ?? 0) + REJECTED_TTL_MS
  if (hasEnded && expiresMs <= nowMs) return null
  const kept = Number(record.kept_lines ?? 0)
  const all = Number(record.rejected ?? 0) + Number(record.invalid_ip ?? 0)
  return { kept, complete: hasEnded && kept === all, expires_at: hasEnded ? timeOf(String(expiresMs)) : null }
}

function messageOf(status: BatchStatus, current: number, total: number, rejections: Rejections): string {
  if (status === 'failed') return 'failed'
  if (status === 'queued') return 'waiting to be processed'
  const all = total === 1 ? 'the event is finished' : `all ${total} events finished`
  const finished = status === 'completed' ? all : `${current} of ${total} ${nounFor(total, 'event')} finished`
  return [finished, rejectedText(rejections)].filter((part) => part !== '').join(', ')
}
