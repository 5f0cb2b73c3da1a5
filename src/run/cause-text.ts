import { plainWords } from './plain-words.ts'

/**
 * The ways in which libraries wrap an error: `cause` of fetch, `errors` of an attempt at several addresses, `lastNodeError`
 * of a Redis Cluster.
 */
interface Wrapping {
  readonly message: string
  readonly code?: unknown
  readonly cause?: unknown
  readonly errors?: unknown
  readonly lastNodeError?: unknown
}

/** The message of the innermost error, for example `connect ECONNREFUSED 127.0.0.1:6379`. */
export function causeText(error: unknown): string {
  const { message, code, cause, errors, lastNodeError } = error as Wrapping
  const inner = lastNodeError ?? cause ?? (Array.isArray(errors) ? errors[0] : undefined)
  if (inner instanceof Error) return causeText(inner)
  return plainWords(message) || String(code ?? 'unknown error')
}
