import type { Attribute } from '../../../schemas/attributes.ts'
import type { Classification } from '../../../schemas/classification.ts'
import type { FilterReason } from '../../../schemas/tenant-rules.ts'
import type { Address } from './address.ts'

/** `asn`, `latitude` and `longitude` are numbers, all others are non-empty strings. Unknown ones are absent. */
export type EnrichmentData = Partial<Record<Attribute, string | number>>

/**
 * What is known of one address. Shared between all addresses with the same answer, so it is never changed.
 */
export interface Enrichment {
  readonly noise: boolean
  /** Undefined where nothing speaks for a class: with a `companyId` it is an account all the same, and no noise. */
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
  /** Behind the account that events have which bring none. */
  readonly accountColumns: string
  /** The rule of a tenant that decided; undefined: none did. */
  readonly rule?: string
  /** Why a tenant's rule makes noise of it; undefined: the class does, if it is noise. */
  readonly filteredAs?: FilterReason
}

/** Finds what is known of an address, in memory: it never waits and never throws. */
export interface Enricher {
  enrich(address: Address): Enrichment
}
