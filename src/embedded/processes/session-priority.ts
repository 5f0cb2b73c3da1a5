import { writeFileSync } from 'node:fs'

/**
 * Lowers what a process that leads a session gets of the processor where Linux weighs whole sessions against each other
 * (sched_autogroup): there its own priority counts only among those of its session.
 * @param nice as of `nice`: 1 to 19
 */
export function lowerSession(pid: number | 'self', nice: number): void {
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(nice))
  } catch {
    // There is no such thing here.
  }
}
