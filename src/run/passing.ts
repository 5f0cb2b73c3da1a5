/** The key of `PASSING`. A symbol is not written to the log. */
const passing = Symbol('passing')

/**
 * Marks a log line about a wait that may end by itself, for example for a store that still starts. Spread it into the
 * fields of the line. Before the process is ready, it is not counted as a problem.
 */
export const PASSING: object = { [passing]: true }

/** Whether the fields of a log line contain `PASSING`. */
export function isPassing(facts: unknown): boolean {
  return typeof facts === 'object' && facts !== null && passing in facts
}
