/** The key of `PASSING`. Being a symbol, it is not part of the written line. */
const passing = Symbol('passing')

/**
 * Facts of a log line that complains of a wait, such as for a store that still starts. To be spread into them. Before the
 * process is ready such a wait is no problem.
 */
export const PASSING: object = { [passing]: true }

/** Whether the facts of a log line have `PASSING` among them. */
export function isPassing(facts: unknown): boolean {
  return typeof facts === 'object' && facts !== null && passing in facts
}
