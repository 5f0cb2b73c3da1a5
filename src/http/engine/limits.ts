/** What the ingress takes at once, and for how long it waits. */
export interface HttpLimits {
  /** Requests that are being received or worked on; more are answered 429. */
  readonly inFlightMax: number
  /** Bodies in memory, bytes, of all requests together; more are answered 429. */
  readonly bodiesMaxBytes: number
  /** A body of which `bodyStallBytes` do not arrive in this time is answered 408, milliseconds. */
  readonly bodyStallMs: number
  readonly bodyStallBytes: number
  /** A request that is not answered this long after its body arrived is answered 500, milliseconds. */
  readonly workMs: number
  /** A reader of a response that makes no room for more of it in this time is cut off, milliseconds. */
  readonly writeStallMs: number
  /** Of a body that nobody wants, at most this much is read, bytes, so that the client sees the response. */
  readonly discardMaxBytes: number
  /** How long an unwanted body of unknown length is read, milliseconds. */
  readonly discardMs: number
  /** How long `stop` waits for requests in flight, milliseconds. */
  readonly stopMs: number
}

/**
 * uWebSockets.js itself closes a connection that sends less than 160 KiB in about 10 s, without a response: a stall must
 * be noticed before.
 */
export const DEFAULT_HTTP_LIMITS: HttpLimits = {
  inFlightMax: 10_000,
  bodiesMaxBytes: 256 * 2 ** 20,
  bodyStallMs: 7_000,
  bodyStallBytes: 160 * 1_024,
  workMs: 30_000,
  writeStallMs: 120_000,
  discardMaxBytes: 256 * 2 ** 20,
  discardMs: 5_000,
  stopMs: 7_000,
}
