import type { RedisClient } from '../../../stores/redis/connect.ts'
import { reenrichmentOf } from '../../reenrich/jobs/job.ts'
import { ReenrichJobs } from '../../reenrich/jobs/job-store.ts'
import type { ReenrichmentsStatus } from '../system-status.ts'

const SHOWN_MAX = 20

/** Open jobs that apply rules to stored events, of all tenants. */
export async function readReenrichments(client: RedisClient, nowMs = Date.now()): Promise<ReenrichmentsStatus> {
  const { jobs, total } = await new ReenrichJobs(client).open(SHOWN_MAX)
  const shown = jobs.slice(0, SHOWN_MAX).map((job) => {
    const { job_id, state, share, changed_events, seconds_left, problem } = reenrichmentOf(job, nowMs)
    const status = state === 'running' ? ('running' as const) : ('waiting' as const)
    const facts = { job_id, tenant_id: job.tenantId, status, share, changed_events, seconds_left, problem }
    return { ...facts, age_ms: Math.max(0, nowMs - job.requestedAtMs) }
  })
  return { open: total, jobs: shown }
}
