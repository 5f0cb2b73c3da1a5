/** `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` */
const WITH_ZONE = /^[A-Z][a-z]{2,8}, \d\d[ -][A-Z][a-z]{2}[ -]\d{2,4} \d\d:\d\d:\d\d GMT$/
/** `Sun Nov  6 08:49:37 1994` */
const WITHOUT_ZONE = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/

/**
 * Reads a header `Retry-After` (RFC 9110): seconds, or one of the three forms of an HTTP date.
 * @returns milliseconds from `nowMs`, 0 for a date in the past, at most `maxMs`; undefined without the header, or for another text
 */
export function retryAfterMs(header: string | null | undefined, nowMs: number, maxMs: number): number | undefined {
  const text = header?.trim() ?? ''
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1_000, maxMs)
  const atMs = WITH_ZONE.test(text)
    ? Date.parse(text)
    : WITHOUT_ZONE.test(text)
      ? Date.parse(`${text} GMT`)
      : Number.NaN
  return Number.isNaN(atMs) ? undefined : Math.min(Math.max(atMs - nowMs, 0), maxMs)
}
