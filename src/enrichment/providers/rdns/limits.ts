/** Limits of reverse DNS. At a limit, an address has no host name for now. */
export interface ReverseDnsLimits {
  /** Addresses in parallel. */
  readonly concurrencyMax: number
  /** Waiting addresses. More are refused. */
  readonly queueMax: number
  /** Cached answers, including negative ones. */
  readonly answersMax: number
  /** Default deadline of a caller, milliseconds. */
  readonly deadlineMs: number
  /** Time for one address, including the wait in the queue, milliseconds. */
  readonly askMaxMs: number
  /** Time for one query before a retry, milliseconds. */
  readonly queryTimeoutMs: number
  /** Queries to one name server per question. */
  readonly queryTries: number
  /** Names of one address to confirm. */
  readonly namesMax: number
  /** Bounds for the time to live of a confirmed name, milliseconds. */
  readonly foundMinMs: number
  readonly foundMaxMs: number
  /** Time to live of a negative answer, milliseconds. */
  readonly noneMs: number
  /** Pause of an address after its name servers failed, milliseconds. */
  readonly retryMs: number
  /** Consecutive addresses without any answer before name servers count as silent. */
  readonly silentAfter: number
  /** First and longest pause of silent name servers, milliseconds. The pause doubles each time. */
  readonly pauseMinMs: number
  readonly pauseMaxMs: number
}

export const DEFAULT_REVERSE_DNS_LIMITS: ReverseDnsLimits = {
  concurrencyMax: 64,
  queueMax: 4_096,
  answersMax: 100_000,
  deadlineMs: 500,
  askMaxMs: 5_000,
  queryTimeoutMs: 1_000,
  queryTries: 2,
  namesMax: 4,
  foundMinMs: 60_000,
  foundMaxMs: 86_400_000,
  noneMs: 600_000,
  retryMs: 1_000,
  silentAfter: 5,
  pauseMinMs: 2_000,
  pauseMaxMs: 30_000,
}
