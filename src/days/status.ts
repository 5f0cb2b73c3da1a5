import type { DaysStatus } from '../operations/status/system-status.ts'
import type { DaysNote } from './ports.ts'

/** @returns null when no builder has looked yet */
export function daysStatus(note: DaysNote | undefined, nowMs: number): DaysStatus | null {
  if (note === undefined) return null
  const { stale = null, oldestSinceMs, blockedBy } = note
  return {
    stale,
    oldest_since: oldestSinceMs === undefined ? null : new Date(oldestSinceMs).toISOString(),
    oldest_ms: oldestSinceMs === undefined ? 0 : Math.max(0, nowMs - oldestSinceMs),
    waits: blockedBy !== undefined,
    failure: blockedBy || null,
  }
}
