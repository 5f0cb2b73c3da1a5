import { writeFileSync } from 'node:fs'

/**
 * Lowers the CPU priority of the session of a session leader. With sched_autogroup, Linux schedules whole sessions, and the
 * priority of a process counts only within its session.
 * @param nice 1 to 19, as for `nice`
 */
export function lowerSession(pid: number | 'self', nice: number): void {
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(nice))
  } catch {
    // This system has no autogroups.
  }
}
