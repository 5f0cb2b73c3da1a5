import type { EndedJobs, EndedPlace, EndedUpload } from '../../pipeline/sources/batch/redis/ended-jobs.ts'
import type { Clock } from '../../run/clock.ts'
import { jobMessage, type MessageContext, type ReportedJob } from '../messages.ts'
import type { FiringAlert } from '../redis/alert-store.ts'
import type { Occurrence, RecordResult, RedisOccurrences } from '../redis/occurrence-store.ts'

interface JobReporterOptions {
  readonly jobs: Pick<EndedJobs, 'page' | 'read'>
  readonly occurrences: Pick<RedisOccurrences, 'unreported' | 'record'>
  readonly clock: Clock
}

/** Records of what was reported are kept for 7 days: a job that ended longer ago would be reported again. */
const LOOK_BACK_MS = 6 * 86_400_000
/** The clock of Redis may go back a little after a fail-over. */
const OVERLAP_MS = 60_000

/** An alert has its turn every few seconds. One that has none was paused or removed; should it come back, it looks back again. */
const FORGET_MS = 3_600_000

interface ReportedUntil {
  /** The start of the alert. */
  readonly since: string
  readonly place: EndedPlace
  readonly atMs: number
}

/** Finds the jobs that alerts report: each once, by the same record as occurrences of companies. */
export class JobReporter {
  readonly #options: JobReporterOptions
  /** The place after the last reported job of each alert. A new process looks back again. */
  readonly #places = new Map<string, ReportedUntil>()
  #prunedMs = 0

  constructor(options: JobReporterOptions) {
    this.#options = options
  }

  /**
   * Does a bounded part of the work, so that a tenant with many uploads delays no other.
   * @returns what was recorded, see `RedisOccurrences.record`, and whether there is more to report
   */
  async report(alert: FiringAlert, context: MessageContext): Promise<{ recorded: RecordResult; isMore: boolean }> {
    const { jobs, occurrences, clock } = this.#options
    const { id, tenantId, active_since: since } = alert
    const startMs = Date.parse(since)
    const nowMs = clock.now()
    const earliestMs = Math.max(startMs, nowMs - LOOK_BACK_MS)
    this.#prune(nowMs)
    const until = this.#places.get(id)
    const place = until?.since === since ? until.place : { atMs: earliestMs, skip: 0 }
    const page = await jobs.page(tenantId, place.atMs < earliestMs ? { atMs: earliestMs, skip: 0 } : place)
    const found: Occurrence[] = []
    for (const { jobId, releasedMs } of page.jobs) {
      const job = await jobs.read(tenantId, jobId)
      if (job === undefined) continue
      // A worker of an earlier version ends a job without a time.
      const endedMs = job.ended_at === null ? releasedMs : Date.parse(job.ended_at)
      if (endedMs <= startMs) continue
      const reported = reportedJob({ ...job, ended_at: new Date(endedMs).toISOString() })
      found.push({ key: jobId, stamp: '', message: jobMessage(alert.on, reported, context, endedMs) })
    }
    const recorded = await occurrences.record(alert, await occurrences.unreported(id, found), clock.now())
    if (typeof recorded !== 'number') return { recorded, isMore: false }
    const { next, isLast } = page
    this.#places.set(id, { since, place: isLast ? { atMs: next.atMs - OVERLAP_MS, skip: 0 } : next, atMs: nowMs })
    return { recorded, isMore: !isLast }
  }

  /** Forgets alerts without a turn, at most once in that time. */
  #prune(nowMs: number): void {
    if (nowMs - this.#prunedMs < FORGET_MS) return
    this.#prunedMs = nowMs
    for (const [id, { atMs }] of this.#places) if (nowMs - atMs >= FORGET_MS) this.#places.delete(id)
  }
}

function reportedJob(job: EndedUpload): ReportedJob {
  const { job_id, cancelled, label, file_name, progress_total: received, stored, rejected, progress_message } = job
  return {
    ...{ job_id, status: job.status === 'completed' ? 'completed' : 'failed', cancelled, label, file_name },
    ...{ received, stored, rejected, invalid_ip: job.result_summary?.invalid_ip ?? 0 },
    ...{ started_at: job.started_at, ended_at: job.ended_at, progress_message },
  }
}
