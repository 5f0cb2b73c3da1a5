import type { Attribute } from '../../../schemas/attributes.ts'
import type { Bot } from '../../../schemas/bots.ts'
import type { Classification } from '../../../schemas/classification.ts'
import type { FilterReason } from '../../../schemas/tenant-rules.ts'
import type { Address } from './address.ts'

/** `asn`, `latitude` and `longitude` are numbers, all others non-empty strings. Unknown attributes are absent. */
export type EnrichmentData = Partial<Record<Attribute, string | number>>

/** The facts about an address. Immutable: addresses with the same answer share one object. */
export interface Enrichment {
  readonly noise: boolean
  /** Undefined: unknown. With a `companyId` the address still belongs to an account, and is not noise. */
  readonly classification: Classification | undefined
  /** 0 to 100. */
  readonly quality: number
  /** The attributes of answers and rows. Only lookups fill `network` and the place within the country. */
  readonly data: Readonly<EnrichmentData>
  /** Identifies the organisation: its domain, or a slug of its name; `''` when unknown. */
  readonly companyId: string
  /** `"enrichment":{…},"quality":N`: the end of a result of `/v1/ingest`, ready to send. */
  readonly answerJson: string
  /** The enrichment columns of a row, see `row.ts`. */
  readonly columns: string
  /** The same, preceded by the account column for events without an account. */
  readonly accountColumns: string
  /** The tenant's rule that decided, if any. */
  readonly rule?: string
  /** Why a tenant's rule makes it noise, or which bot it is. Undefined: its class decides. */
  readonly filteredAs?: FilterReason
  /** The bot that the address is published for. */
  readonly bot?: Bot | undefined
}

/** Finds the facts about an address in memory. Never waits and never throws. */
export interface Enricher {
  /** @param claimed the bot that the visitor's user agent names; undefined: none */
  enrich(address: Address, claimed?: Bot): Enrichment
  /** The facts about an organisation that data sets have; undefined when none knows its registrable domain. */
  organisationOf?(domain: string): Readonly<EnrichmentData> | undefined
}

/** Fills the cache of host names for `Enricher.enrich`. */
export interface Hostnames {
  /**
   * Looks up the host names of all addresses concurrently. Resolves when all are known or the time limit is over; later answers
   * still enter the cache. Never rejects.
   */
  prefetch(addresses: readonly Address[]): Promise<void>
}
