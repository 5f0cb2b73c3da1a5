/** Limits of the enrichment engine. Reaching one refuses a file, or forgets what can be found again. */
export interface EnrichmentLimits {
  /** Addresses whose answer is remembered. */
  readonly answersMax: number
  /** Whole lookups that are remembered, with where each value comes from. */
  readonly lookupsMax: number
  /** Decoded records that each MMDB keeps. */
  readonly recordsMax: number
  /** Rows of one table or list. */
  readonly tableRowsMax: number
  /** Size of one table or list after decompression. */
  readonly textBytesMax: number
  /** Of a list of networks, which is read where requests are answered. */
  readonly listBytesMax: number
  /** Size of one MMDB; Node reads no larger file at once. */
  readonly mmdbBytesMax: number
}

export const DEFAULT_ENRICHMENT_LIMITS: EnrichmentLimits = {
  answersMax: 100_000,
  lookupsMax: 50_000,
  recordsMax: 100_000,
  tableRowsMax: 2_000_000,
  textBytesMax: 512 * 1024 * 1024,
  listBytesMax: 128 * 1024 * 1024,
  mmdbBytesMax: 2_147_483_647,
}
