import type { Attribute } from '../../schemas/attributes.ts'
import type { Classification } from '../../schemas/classification.ts'
import type { Address } from '../pipeline/event/address.ts'
import type { EnrichmentData } from '../pipeline/event/enrichment.ts'

/** Which providers a lookup may ask, by name, whether it is worth a slow one, and how long it may take. */
export interface LookupOptions {
  /** Only these. Default: all. */
  readonly allow?: readonly string[]
  /** Not these, even when they are allowed. */
  readonly deny?: readonly string[]
  /** The host name is wanted, so reverse DNS is asked when it may be. Default: as `RDNS` says. */
  readonly hostname?: boolean
  /** Time for slow providers, milliseconds; what is known by then is the answer. */
  readonly deadlineMs?: number
}

/** Where a value comes from. */
export interface Provenance {
  /** A provider's name; `rules` for what the classifier decided, `iana` for reserved addresses. */
  readonly provider: string
  /** The network that the provider knows the value of; undefined for rows about an AS and for rules. */
  readonly network: string | undefined
}

/** All that is known of an address. Shared between equal lookups, so it is never changed. */
export interface Lookup {
  /** Canonical text. */
  readonly address: string
  /** In the order of `ATTRIBUTES`. */
  readonly data: Readonly<EnrichmentData>
  /** For each attribute in `data`. */
  readonly provenance: Readonly<Partial<Record<Attribute, Provenance>>>
  readonly classification: Classification | undefined
  readonly noise: boolean
  /** Names what decided on the classification. */
  readonly rule: string
  /** 0 to 100. */
  readonly quality: number
  readonly companyId: string
  /** Providers that know anything of the address, in order of trust. */
  readonly answered: readonly string[]
  /** Providers that were cut off by the deadline. */
  readonly partial: readonly string[]
}

/** Looks addresses up in all providers, slow ones too. */
export interface LookupService {
  /** Names that `allow` and `deny` may hold: the loaded data sets, and `rdns`. */
  providerNames(): readonly string[]
  /** Answers without a promise when no slow provider has to be waited for. Never throws or rejects. */
  lookup(address: Address, options: LookupOptions): Lookup | Promise<Lookup>
}
