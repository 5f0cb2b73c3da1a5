import { setMaxListeners } from 'node:events'

/**
 * A signal that aborts with another one, or after a time with a TimeoutError.
 *
 * Not `AbortSignal.any`: Node.js 20 frees the signal of the time as garbage, and the time never ends. A listener keeps it.
 * @param ms milliseconds
 */
export function timeLimit(ms: number, other?: AbortSignal): AbortSignal {
  const limit = new AbortController()
  const late = AbortSignal.timeout(ms)
  for (const signal of other === undefined ? [late] : [late, other]) {
    if (signal.aborted) limit.abort(signal.reason)
    // A long-lived signal may have as many listeners as works at once. Each is removed when its limit has ended.
    setMaxListeners(0, signal)
    signal.addEventListener('abort', () => limit.abort(signal.reason), { once: true, signal: limit.signal })
  }
  return limit.signal
}
