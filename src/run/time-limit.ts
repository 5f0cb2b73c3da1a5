import { setMaxListeners } from 'node:events'

/**
 * A signal that aborts with another one, or after a time with a TimeoutError.
 *
 * Not `AbortSignal.any` with `AbortSignal.timeout`: Node.js 20 frees the inner signal as garbage, and the time never ends.
 * @param ms milliseconds
 */
export function timeLimit(ms: number, other?: AbortSignal): AbortSignal {
  const limit = new AbortController()
  const timer = setTimeout(() => end(new DOMException('The operation was aborted due to timeout', 'TimeoutError')), ms)
  timer.unref()
  const end = (reason: unknown) => {
    clearTimeout(timer)
    limit.abort(reason)
  }
  if (other?.aborted) end(other.reason)
  else if (other !== undefined) {
    // A long-lived signal may have as many as there are works at once. Each goes at the end of its time.
    setMaxListeners(0, other)
    other.addEventListener('abort', () => end(other.reason), { once: true, signal: limit.signal })
  }
  return limit.signal
}
