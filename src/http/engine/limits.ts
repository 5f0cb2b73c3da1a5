/** A header section larger than this is answered 431. */
export const HEAD_MAX_BYTES = 16_384

/** Limits of concurrent work and of waiting. */
export interface HttpLimits {
  /** Requests in progress; more are answered 429. */
  readonly inFlightMax: number
  /** Bytes of all bodies in memory together; more are answered 429. */
  readonly bodiesMaxBytes: number
  /** A body that sends less than `bodyStallBytes` in this time is answered 408, milliseconds. */
  readonly bodyStallMs: number
  readonly bodyStallBytes: number
  /** A request without an answer this long after its body arrived is answered 500, milliseconds. */
  readonly workMs: number
  /** A client that reads none of its response in this time is cut off, milliseconds. */
  readonly writeStallMs: number
  /** At most this many bytes of an unwanted body are read, so that the client sees the response. */
  readonly discardMaxBytes: number
  /** How long an unwanted body of unknown length is read, milliseconds. */
  readonly discardMs: number
  /** How long `stop` waits for requests in flight, milliseconds. */
  readonly stopMs: number
}

/**
 * uWebSockets.js closes a connection that sends less than 160 KiB in about 10 s, without a response. A stall must be
 * noticed earlier.
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
