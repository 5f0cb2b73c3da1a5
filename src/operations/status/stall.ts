import { numbered } from '../../run/counted.ts'
import type { GroupWaiting, JobsStatus, LastMinute, OldestWork } from './system-status.ts'
import { ageText } from './words.ts'

/** Ages from which waiting work counts as stalled. */
export interface StallLimits {
  /** Age of an unfinished event, milliseconds. */
  readonly stallMs: number
  /** Additional time by consumer group: the archive gathers events for a while. */
  readonly slackMs: Readonly<Record<string, number>>
}

/** The oldest waiting work. A queued job counts from its receipt. */
export function oldestWork(
  waiting: readonly GroupWaiting[],
  batchJobs: JobsStatus,
  bulkJobs: JobsStatus,
): OldestWork | null {
  const found: OldestWork[] = waiting.map((group) => ({ age_ms: group.oldest_ms, where: groupAndLane(group) }))
  found.push({ age_ms: batchJobs.oldest_ms, where: 'batch job' }, { age_ms: bulkJobs.oldest_ms, where: 'bulk job' })
  const [oldest] = found.filter(({ age_ms: ageMs }) => ageMs > 0).sort((a, b) => b.age_ms - a.age_ms)
  return oldest ?? null
}

/** The stalled work, one line each: an event in the streams, and lines of batch jobs. Empty: nothing is stalled. */
export interface Stall {
  readonly events: string | undefined
  readonly lines: string | undefined
}

/** The inputs of the judgement. */
export interface Progress {
  readonly waiting: readonly GroupWaiting[]
  readonly batch_jobs: JobsStatus
  readonly last_minute: Pick<LastMinute, 'batch_lines'>
}

/** A long queue alone is no stall: of a batch job, only that no line has been fed for a minute. */
export function stallOf({ waiting, batch_jobs: jobs, last_minute: minute }: Progress, limits: StallLimits): Stall {
  const event = stalledAt(waiting, limits)
  const areLinesStalled = jobs.lines_waiting > 0 && minute.batch_lines === 0 && jobs.oldest_ms > limits.stallMs
  return {
    events: event && `the oldest unfinished event has waited for ${event.where} for ${ageText(event.age_ms)}`,
    lines: areLinesStalled
      ? `${numbered(jobs.lines_waiting, 'line')} of batch jobs wait, and none was fed in the last minute`
      : undefined,
  }
}

/** The event in the streams that is most beyond the limit, if any. */
function stalledAt(waiting: readonly GroupWaiting[], { stallMs, slackMs }: StallLimits): OldestWork | undefined {
  const [worst] = waiting
    .map((group) => ({ group, overMs: group.oldest_ms - stallMs - (slackMs[group.group] ?? 0) }))
    .filter(({ overMs }) => overMs > 0)
    .sort((a, b) => b.overMs - a.overMs)
  return worst && { age_ms: worst.group.oldest_ms, where: groupAndLane(worst.group) }
}

function groupAndLane({ group, lane }: Pick<GroupWaiting, 'group' | 'lane'>): string {
  return `${group}, ${lane} lane`
}
