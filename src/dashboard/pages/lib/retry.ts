/** Delay before a failed request is repeated. */
const RETRY_MS = 10_000
/** After a slow failure, wait in proportion, so that retries cost only a part of the time. */
const PAUSE_FACTOR = 4
const PAUSE_MAX_MS = 60_000

/**
 * Delay before a failed request is repeated, milliseconds; undefined: it would fail again.
 * @param status of the response; 0: none
 * @param tookMs how long it took to fail
 * @param everyMs regular interval of the request
 */
export function retryMs(status: number, tookMs: number, everyMs?: number): number | undefined {
  const mayPass = status === 0 || status === 429 || status >= 500
  return mayPass ? Math.max(everyMs ?? RETRY_MS, Math.min(PAUSE_MAX_MS, PAUSE_FACTOR * tookMs)) : everyMs
}
