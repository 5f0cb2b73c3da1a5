import { lastDue, nextDue } from '../../exports/schedule.ts'
import type { BackupStatus } from '../status/system-status.ts'
import type { ScheduleState } from './redis/schedule-store.ts'

/** Scheduled backups: the last one, and the one that is missing. @returns null when they are off */
export function backupStatus(state: ScheduleState | undefined, nowMs: number): BackupStatus | null {
  if (state === undefined) return null
  const { place, every, at, last, error, failures, sinceMs, retryAtMs } = state
  const isMissing = lastDue(state, nowMs) > state.dueMs
  const missingMs = Math.max(sinceMs, state.dueMs === 0 ? 0 : nextDue(state, state.dueMs))
  return {
    ...{ place, every, at, failures },
    last:
      last === undefined ? null : { name: last.name, at: isoTime(last.atMs), took_ms: last.tookMs, bytes: last.bytes },
    age_ms: last === undefined ? null : Math.max(0, nowMs - last.atMs),
    missing_since: isMissing ? isoTime(missingMs) : null,
    late_ms: isMissing ? Math.max(0, nowMs - missingMs) : 0,
    next_at: isoTime(isMissing ? Math.max(nowMs, retryAtMs) : nextDue(state, nowMs)),
    error: error?.message ?? null,
  }
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}
