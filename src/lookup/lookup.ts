import type { Attribute } from '../../schemas/attributes.ts'
import type { Classification } from '../../schemas/classification.ts'
import type { Address } from '../pipeline/event/address.ts'
import type { EnrichmentData } from '../pipeline/event/enrichment.ts'

/** The providers that a lookup may use, and its deadline. */
export interface LookupOptions {
  /** Only these. Default: all. */
  readonly allow?: readonly string[]
  /** Not these, even when `allow` names them. */
  readonly deny?: readonly string[]
  /** Whether to query reverse DNS for the host name. Default: the setting `RDNS`. */
  readonly hostname?: boolean
  /** Time for slow providers, milliseconds. The answer omits values that arrive later. */
  readonly deadlineMs?: number
}

/** The source of a value. */
export interface Provenance {
  /** A provider's name; `rules` for a decision of the rules, `rule` for a tenant's rule `is`, `iana` for
   * reserved addresses. */
  readonly provider: string
  /** The network whose value the provider knows; undefined for rows about an AS and for rules. */
  readonly network: string | undefined
  /** The word of the organisation's name that states the value; undefined when a provider states it. */
  readonly word?: string
  /** With a word: the measured share of organisations with it for which the value is right, 0 to 1. */
  readonly precision?: number
}

/** Everything known about an address. Equal lookups share it, so never change it. */
export interface Lookup {
  /** Canonical text. */
  readonly address: string
  /** In the order of `ATTRIBUTES`. */
  readonly data: Readonly<EnrichmentData>
  /** For each attribute in `data`. */
  readonly provenance: Readonly<Partial<Record<Attribute, Provenance>>>
  readonly classification: Classification | undefined
  readonly noise: boolean
  /** The rule that decided the classification. */
  readonly rule: string
  /** 0 to 100. */
  readonly quality: number
  readonly companyId: string
  /** Providers that know the address, in order of trust. */
  readonly answered: readonly string[]
  /** Providers that the deadline cut off. */
  readonly partial: readonly string[]
}

/** Looks up addresses in all providers, including slow ones. */
export interface LookupService {
  /** Names that `allow` and `deny` may hold: the loaded data sets, and `rdns`. */
  providerNames(): readonly string[]
  /** Returns no promise when no slow provider has to be awaited. Never throws or rejects. */
  lookup(address: Address, options: LookupOptions): Lookup | Promise<Lookup>
  /** As `Enricher.organisationOf`. */
  organisationOf?(domain: string): Readonly<EnrichmentData> | undefined
}
