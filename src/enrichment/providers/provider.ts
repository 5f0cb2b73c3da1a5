import type { Address } from '../../pipeline/event/address.ts'
import { formatRange } from '../addresses/network.ts'
import type { RangeMap } from '../addresses/range-map.ts'
import type { Facts } from '../facts.ts'
import type { Organisation } from '../rules/evidence.ts'

/**
 * Kinds of providers in order of trust (schemas/README.md, Order of trust). Noise lists come right after the tables,
 * because both describe the addresses themselves. Providers of one kind are ordered by name.
 */
export const PROVIDER_KINDS = [
  'table',
  'noise',
  'company',
  'registry',
  'isp',
  'asn',
  'domain',
  'location',
  'connection',
  'anonymity',
  'rdns',
] as const
export type ProviderKind = (typeof PROVIDER_KINDS)[number]

/** One loaded data set. It never changes; a changed file becomes a new provider. */
export interface Provider {
  /** The file's name in lower case without its extension. */
  readonly name: string
  readonly kind: ProviderKind
  /** A default data set. It ranks after all others of its kind. */
  readonly isDefault?: boolean
  /** Name of the recognised format. */
  readonly recognisedAs: string
  /** The build date that the file states, if any. */
  readonly builtAt: Date | undefined
  /** Number of networks with a record. */
  readonly records: number
  /** Messages about skipped parts of the file. */
  readonly warnings: readonly string[]
  /** No record has a known value, as far as was looked. */
  readonly isBlank?: boolean
  /** The record of the most specific network around the address. Throws when the record is damaged. */
  find(address: Address): Facts | undefined
  /** That network, as CIDR or `a-b`. */
  networkOf(address: Address): string | undefined
  /** The record for every address of an autonomous system. */
  findAs?(asn: number): Facts | undefined
  /**
   * The facts about an organisation that another provider names, without those about a network.
   * @param country code of the address's country, upper case; undefined when unknown
   */
  findOrganisation?(organisation: Organisation, country: string | undefined): Facts | undefined
}

/** Compares by trust, for `sort`. */
export function byTrust(a: Provider, b: Provider): number {
  const kinds = PROVIDER_KINDS.indexOf(a.kind) - PROVIDER_KINDS.indexOf(b.kind)
  if (kinds !== 0) return kinds
  if ((a.isDefault === true) !== (b.isDefault === true)) return a.isDefault === true ? 1 : -1
  return a.name < b.name ? -1 : 1
}

/** The lookup methods of a provider whose networks are in memory. */
export function rangeLookup(networks: RangeMap<Facts>): Pick<Provider, 'find' | 'networkOf'> {
  return {
    find: (address) => networks.find(address)?.value,
    networkOf: (address) => rangeOf(networks, address),
  }
}

/** The most specific range around an address, as CIDR or `a-b`. */
export function rangeOf(networks: RangeMap<unknown>, address: Address): string | undefined {
  const entry = networks.find(address)
  return entry === undefined ? undefined : formatRange(entry.range)
}
