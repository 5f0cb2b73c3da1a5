import type { GroupWaiting, JobsStatus, OldestWork } from './system-status.ts'

/** From when on work that waits counts as stalled. */
export interface StallLimits {
  /** Age of an unfinished event, milliseconds. */
  readonly stallMs: number
  /** What events may wait longer than that, by consumer group: a part of the archive is gathered for a while. */
  readonly slackMs: Readonly<Record<string, number>>
}

/** What waits longest. A job that waits for its turn counts from its receipt. */
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

/**
 * The event in the streams that waits too long, if any. Lines of a job that waits for others are in no stream: a long queue
 * is no stall.
 */
export function stalledAt(waiting: readonly GroupWaiting[], { stallMs, slackMs }: StallLimits): OldestWork | undefined {
  const [worst] = waiting
    .map((group) => ({ group, overMs: group.oldest_ms - stallMs - (slackMs[group.group] ?? 0) }))
    .filter(({ overMs }) => overMs > 0)
    .sort((a, b) => b.overMs - a.overMs)
  return worst && { age_ms: worst.group.oldest_ms, where: groupAndLane(worst.group) }
}

function groupAndLane({ group, lane }: Pick<GroupWaiting, 'group' | 'lane'>): string {
  return `${group}, ${lane} lane`
}
