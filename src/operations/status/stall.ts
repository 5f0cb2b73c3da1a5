import type { GroupWaiting, JobsStatus, OldestWork } from './system-status.ts'
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

/**
 * The event in the streams that is most beyond the limit, if any. Lines of a queued job are in no stream, so a long queue is
 * not a stall.
 */
export function stalledAt(waiting: readonly GroupWaiting[], { stallMs, slackMs }: StallLimits): OldestWork | undefined {
  const [worst] = waiting
    .map((group) => ({ group, overMs: group.oldest_ms - stallMs - (slackMs[group.group] ?? 0) }))
    .filter(({ overMs }) => overMs > 0)
    .sort((a, b) => b.overMs - a.overMs)
  return worst && { age_ms: worst.group.oldest_ms, where: groupAndLane(worst.group) }
}

/** Explains a stall in one line. */
export function stallText({ where, age_ms: ageMs }: OldestWork): string {
  return `the oldest unfinished event has waited for ${where} for ${ageText(ageMs)}`
}

function groupAndLane({ group, lane }: Pick<GroupWaiting, 'group' | 'lane'>): string {
  return `${group}, ${lane} lane`
}
