import { tlsProblemOf } from './tls-problem.ts'
import { wrappedIn } from './wrapped-error.ts'

/** The message of the innermost error, for example `connect ECONNREFUSED 127.0.0.1:6379`, or why a TLS handshake failed. It names no setting, so tenants may read it. */
export function causeText(error: unknown): string {
  const tls = tlsProblemOf(error)
  if (tls !== undefined) return tls.reason
  const { message, code } = error as { readonly message: string; readonly code?: unknown }
  const inner = wrappedIn(error as object)
  if (inner instanceof Error) return causeText(inner)
  return plainWords(message) || String(code ?? 'unknown error')
}

/**
 * As `causeText`, for operators: that of a failed TLS handshake is followed by its remedy, which names settings.
 * @param setting the one with the address of the server
 */
export function causeWithRemedy(error: unknown, setting?: string): string {
  const remedy = tlsProblemOf(error, setting)?.remedy
  return remedy === undefined ? causeText(error) : `${causeText(error)}: ${remedy}`
}

/** Messages of libraries and servers, by a part of them, with the words for people. */
const WORDS: readonly (readonly [said: RegExp, plain: string])[] = [
  [/max retries per request limit/, 'the connection to Redis was lost'],
  [/Stream isn't writeable and enableOfflineQueue/, 'there is no connection to Redis'],
  [/^MISCONF .*No space left on device/, 'the disk is full: Redis refuses writes'],
]
const FULL = /\bENOSPC\b|no space left on device|only \d+ bytes are free/i

/** The message of an error in words for people. Messages that people understand stay as they are. */
export function plainWords(message: string): string {
  const known = WORDS.find(([said]) => said.test(message))
  if (known !== undefined) return known[1]
  return FULL.test(message) && !message.includes('the disk is full') ? `the disk is full: ${message}` : message
}
