/**
 * The ways in which libraries wrap an error: `cause` of fetch, `errors` of an attempt at several addresses, `lastNodeError`
 * of a Redis Cluster.
 */
interface Wrapping {
  readonly cause?: unknown
  readonly errors?: unknown
  readonly lastNodeError?: unknown
}

/** The error inside another one; undefined: it wraps none. */
export function wrappedIn(error: object): unknown {
  const { cause, errors, lastNodeError } = error as Wrapping
  return lastNodeError ?? cause ?? (Array.isArray(errors) ? errors[0] : undefined)
}
