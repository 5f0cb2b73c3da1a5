/** Limits of fetching a data file. Reaching one leaves what is there as it is. */
export interface UpdateLimits {
  /** Size of what is fetched, and of what is unpacked from it, bytes. */
  readonly bytesMax: number
  /** Time for one file, milliseconds. */
  readonly timeoutMs: number
  readonly redirectsMax: number
}

export const DEFAULT_UPDATE_LIMITS: UpdateLimits = {
  bytesMax: 2_147_483_647,
  timeoutMs: 600_000,
  redirectsMax: 5,
}
