/** Limits of reverse DNS. Reaching one leaves an address without a host name for now, and says so. */
export interface ReverseDnsLimits {
  /** Addresses that are asked for at the same time. */
  readonly concurrencyMax: number
  /** Addresses that wait to be asked for; more are not taken. */
  readonly queueMax: number
  /** Answers that are remembered, negative ones included. */
  readonly answersMax: number
  /** How long a caller without a deadline of its own waits, milliseconds. */
  readonly deadlineMs: number
  /** How long one address may take from the moment it is taken, the wait included, milliseconds. */
  readonly askMaxMs: number
  /** Time that a name server has to answer one query before it is repeated, milliseconds. */
  readonly queryTimeoutMs: number
  /** Queries to one name server before it counts as silent. */
  readonly queryTries: number
  /** Names of one address that are confirmed. */
  readonly namesMax: number
  /** A confirmed name is kept as long as its address record says, within these bounds, milliseconds. */
  readonly foundMinMs: number
  readonly foundMaxMs: number
  /** How long it is remembered that there is no confirmed name, milliseconds. */
  readonly noneMs: number
  /** How long an address is left alone after its name servers failed, milliseconds. */
  readonly retryMs: number
  /** Addresses in a row without an answer of any kind after which name servers count as silent and are left alone. */
  readonly silentAfter: number
  /** How long they are left alone, milliseconds: the first time, and at most, since it doubles. */
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
