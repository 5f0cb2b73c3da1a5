/**
 * Limits of the enrichment engine. At a limit, a file is refused or a cache evicts. Caches are bounded in bytes of memory, because
 * every process has them, and a record may have long texts.
 */
export interface EnrichmentLimits {
  /** Cached answers, by address. */
  readonly answersBytesMax: number
  /** Cached lookups with provenance, by address. */
  readonly lookupsBytesMax: number
  /** Cached decisions, by the records about an address. */
  readonly decisionsBytesMax: number
  /** Cached decoded records of each data set. A record that is decoded again has a new id, so its decisions are made again too. */
  readonly recordsBytesMax: number
  /** Rows of one table or list. */
  readonly tableRowsMax: number
  /** Size of one table or list after decompression. */
  readonly textBytesMax: number
  /** Size of a list of networks. The limit is lower because a serving process parses lists. */
  readonly listBytesMax: number
  /** Size of one MMDB. `readFile` takes no more. */
  readonly mmdbBytesMax: number
  /** Blocks of one registry file. The largest registry has 5 million. */
  readonly registryBlocksMax: number
  /** Organisations of one registry file. The largest registry has a quarter of a million. */
  readonly registryOrganisationsMax: number
}

const MEBIBYTE = 1_048_576

export const DEFAULT_ENRICHMENT_LIMITS: EnrichmentLimits = {
  answersBytesMax: 24 * MEBIBYTE,
  lookupsBytesMax: 48 * MEBIBYTE,
  decisionsBytesMax: 40 * MEBIBYTE,
  recordsBytesMax: 16 * MEBIBYTE,
  tableRowsMax: 2_000_000,
  textBytesMax: 512 * 1024 * 1024,
  listBytesMax: 128 * 1024 * 1024,
  mmdbBytesMax: 2_147_483_647,
  registryBlocksMax: 20_000_000,
  registryOrganisationsMax: 1_000_000,
}
