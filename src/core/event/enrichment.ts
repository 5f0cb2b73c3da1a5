import type { Address } from './address.ts'

/** What kind of organisation an address belongs to. */
export type Classification = 'business' | 'education' | 'government' | 'isp' | 'hosting' | 'cloud' | 'cdn' | 'reserved'

/** Infrastructure: events from these are answered `filtered` and kept out of the accounts. */
export const NOISE: ReadonlySet<Classification> = new Set(['isp', 'hosting', 'cloud', 'cdn', 'reserved'])

/** Attributes of an address in the order in which answers list them (contract section 4). */
export const ATTRIBUTES = [
  'business_name',
  'org_name',
  'hostname',
  'etld_plus_one',
  'domain',
  'industry',
  'industry_category',
  'description',
  'classification',
  'asn',
  'as_name',
  'network',
  'continent',
  'country',
  'country_code',
  'region',
  'city',
  'postal_code',
  'latitude',
  'longitude',
  'timezone',
] as const
export type Attribute = (typeof ATTRIBUTES)[number]

/** Attributes that `redact: ["geo"]` removes. */
export const LOCATION_ATTRIBUTES: readonly Attribute[] = [
  'continent',
  'country',
  'country_code',
  'region',
  'city',
  'postal_code',
  'latitude',
  'longitude',
  'timezone',
]

/** `asn`, `latitude` and `longitude` are numbers, all others are non-empty strings. Unknown ones are absent. */
export type EnrichmentData = Partial<Record<Attribute, string | number>>

/**
 * What is known of one address. Shared between all addresses with the same answer, so it is never changed.
 */
export interface Enrichment {
  readonly noise: boolean
  readonly classification: Classification | undefined
  /** 0 to 100. */
  readonly quality: number
  /** What answers and rows hold; `network` and the place within the country are given by a lookup only. */
  readonly data: Readonly<EnrichmentData>
  /** Identifies the organisation: its domain, or else a slug of its name; `''` when no organisation is known. */
  readonly companyId: string
  /** `"enrichment":{…},"quality":N`: the tail of a result of `/v1/ingest`, ready to send. */
  readonly answerJson: string
  /** The enrichment columns of a row, see `row.ts`. */
  readonly columns: string
}

/** Finds what is known of an address, in memory: it never waits and never throws. */
export interface Enricher {
  enrich(address: Address): Enrichment
}
