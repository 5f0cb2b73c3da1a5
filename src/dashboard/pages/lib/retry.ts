/** After it, what failed for no fault of the reader's is asked for again. */
const RETRY_MS = 10_000
/** What fails because it takes too long costs a part of the time only. */
const PAUSE_FACTOR = 4
const PAUSE_MAX_MS = 60_000

/**
 * When to ask again for what failed; undefined: it would fail again.
 * @param status of the answer; 0: there was none
 * @param tookMs how long it took to fail
 * @param everyMs how often it is asked for anyway
 */
export function retryMs(status: number, tookMs: number, everyMs?: number): number | undefined {
  const mayPass = status === 0 || status === 429 || status >= 500
  return mayPass ? Math.max(everyMs ?? RETRY_MS, Math.min(PAUSE_MAX_MS, PAUSE_FACTOR * tookMs)) : everyMs
}
