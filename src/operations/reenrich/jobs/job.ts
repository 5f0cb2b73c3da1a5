import type {
  REENRICHMENT_STATES,
  REENRICHMENT_STEPS,
  Reenrichment,
  ReenrichmentResult,
} from '../../../../schemas/dashboard/reenrichments.ts'

/** `days` of a job that judges only hidden events. */
export const HIDDEN_ONLY = 0

/** A job in Redis. Times are milliseconds since 1970. */
export interface ReenrichJob {
  readonly jobId: string
  readonly tenantId: string
  readonly state: (typeof REENRICHMENT_STATES)[number]
  /** Added and removed rules. Only events that one of them applies to are judged again. */
  readonly rules: readonly string[]
  /** Whether events of organisations of unknown class are judged again. */
  readonly unclassified: boolean
  /** Events received in this many UTC days, today included; null: all. Hidden events are judged whenever they were received; 0: only those. */
  readonly days: number | null
  /** Rules whose hidden events are removed for good. */
  readonly deletes?: readonly string[]
  readonly requestedAtMs: number
  readonly requestedBy: string
  readonly startedAtMs?: number
  readonly endedAtMs?: number
  /** Names its copy of the changed events. Fixed when the job begins, and kept by the process that continues it. */
  readonly run?: string
  readonly step?: (typeof REENRICHMENT_STEPS)[number]
  /** Done part, 0 to 1. */
  readonly share: number
  readonly changedEvents: number
  /** Written before the first event changes, and completed at the end. */
  readonly result?: ReenrichmentResult
  readonly problem?: string
  /** How often it was tried again. */
  readonly failures: number
  readonly isCancelling?: boolean
}

/** Rules to apply to stored events. */
export type ReenrichRequest = Pick<
  ReenrichJob,
  'rules' | 'unclassified' | 'days' | 'deletes' | 'requestedBy' | 'requestedAtMs'
>

const NONE_HIDDEN = { shown_events: 0, shown_visits: 0, deleted_events: 0 } as const

/** Below this share an estimate of the remaining time is worthless. */
const GUESSED_FROM_SHARE = 0.05

/** The job for people and programs. */
export function reenrichmentOf(job: ReenrichJob, nowMs: number): Reenrichment {
  const { state, share, startedAtMs, endedAtMs, step } = job
  const isRunning = state === 'running'
  const ranMs = startedAtMs === undefined ? 0 : nowMs - startedAtMs
  const isGuessed = isRunning && share >= GUESSED_FROM_SHARE
  return {
    ...{ job_id: job.jobId, state, rules: [...job.rules], unclassified: job.unclassified, days: job.days },
    requested_at: iso(job.requestedAtMs),
    requested_by: job.requestedBy,
    started_at: startedAtMs === undefined ? null : iso(startedAtMs),
    ended_at: endedAtMs === undefined ? null : iso(endedAtMs),
    step: isRunning ? (step ?? 'settling') : null,
    share,
    seconds_left: isGuessed ? Math.max(1, Math.round(((ranMs / share) * (1 - share)) / 1_000)) : null,
    changed_events: job.changedEvents,
    is_cancelling: isRunning && job.isCancelling === true,
    // One of an earlier version lacks the last ones.
    result: isRunning || job.result === undefined ? null : { ...NONE_HIDDEN, ...job.result },
    problem: job.problem ?? null,
  }
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}
