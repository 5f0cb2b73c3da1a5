/** Limits of the enrichment engine. At a limit, a file is refused or a cache evicts. */
export interface EnrichmentLimits {
  /** Cached answers, by address. */
  readonly answersMax: number
  /** Cached lookups with provenance. */
  readonly lookupsMax: number
  /** Cached decoded records of each MMDB. */
  readonly recordsMax: number
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

export const DEFAULT_ENRICHMENT_LIMITS: EnrichmentLimits = {
  answersMax: 100_000,
  lookupsMax: 50_000,
  recordsMax: 100_000,
  tableRowsMax: 2_000_000,
  textBytesMax: 512 * 1024 * 1024,
  listBytesMax: 128 * 1024 * 1024,
  mmdbBytesMax: 2_147_483_647,
  registryBlocksMax: 20_000_000,
  registryOrganisationsMax: 1_000_000,
}
