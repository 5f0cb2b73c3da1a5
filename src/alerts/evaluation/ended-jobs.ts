import type { EndedJobs, EndedUpload } from '../../pipeline/sources/batch/redis/ended-jobs.ts'
import type { Clock } from '../../run/clock.ts'
import { jobMessage, type MessageContext, type ReportedJob } from '../messages.ts'
import type { FiringAlert } from '../redis/alert-store.ts'
import type { Occurrence, RecordResult, RedisOccurrences } from '../redis/occurrence-store.ts'

interface JobReporterOptions {
  readonly jobs: Pick<EndedJobs, 'since' | 'read'>
  readonly occurrences: Pick<RedisOccurrences, 'unreported' | 'record'>
  readonly clock: Clock
}

/** Records of what was reported are kept for 7 days: a job that ended longer ago would be reported again. */
const LOOK_BACK_MS = 6 * 86_400_000
/** The clock of Redis may go back a little after a fail-over. */
const OVERLAP_MS = 60_000

/** Finds the jobs that alerts report: each once, by the same record as occurrences of companies. */
export class JobReporter {
  readonly #options: JobReporterOptions
  /** By alert and its start: up to when its jobs are reported, milliseconds. Forgotten with the process, which looks back then. */
  readonly #doneMs = new Map<string, number>()

  constructor(options: JobReporterOptions) {
    this.#options = options
  }

  /** @returns what was recorded, see `RedisOccurrences.record` */
  async report(alert: FiringAlert, context: MessageContext): Promise<RecordResult> {
    const { jobs, occurrences, clock } = this.#options
    const { id, tenantId, active_since: since } = alert
    const name = `${id} ${since}`
    const doneMs = this.#doneMs.get(name)
    const startMs = Date.parse(since)
    const fromMs = Math.max(startMs, clock.now() - LOOK_BACK_MS, (doneMs ?? 0) - OVERLAP_MS)
    const { byTenant, untilMs } = await jobs.since(fromMs)
    const found: Occurrence[] = []
    for (const jobId of byTenant.get(tenantId) ?? []) {
      const job = await jobs.read(tenantId, jobId)
      const endedMs = Date.parse(job?.ended_at ?? '')
      if (job === undefined || !(endedMs > startMs)) continue
      found.push({ key: jobId, stamp: '', message: jobMessage(alert.on, reportedJob(job), context, endedMs) })
    }
    const recorded = await occurrences.record(alert, await occurrences.unreported(id, found), clock.now())
    if (typeof recorded === 'number') this.#doneMs.set(name, untilMs)
    return recorded
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
