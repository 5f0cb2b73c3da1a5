import type { Address } from '../../pipeline/event/address.ts'
import type { Facts } from '../facts.ts'

/**
 * Kinds of providers in their order of trust (schemas/README.md, Order of trust). Lists of noise come right behind the
 * tables: like them they speak of the addresses themselves. Within a kind, the order is that of their names.
 */
export const PROVIDER_KINDS = [
  'table',
  'noise',
  'company',
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
  /** The file's name in lower case without its ending. */
  readonly name: string
  readonly kind: ProviderKind
  /** One of the sets that come by themselves: behind all others of its kind. */
  readonly isDefault?: boolean
  /** In words, what the file was recognised as. */
  readonly recognisedAs: string
  /** The build date that the file states; undefined when it states none. */
  readonly builtAt: Date | undefined
  /** Networks with a record. */
  readonly records: number
  /** Things in the file that were passed over, in words. */
  readonly warnings: readonly string[]
  /** What the most specific network around the address says. Throws when the file is damaged there. */
  find(address: Address): Facts | undefined
  /** That network, as CIDR or `a-b`; undefined when there is none. */
  networkOf(address: Address): string | undefined
  /** What the provider says of every address of an autonomous system. */
  findAs?(asn: number): Facts | undefined
}

/** In order of trust. */
export function byTrust(a: Provider, b: Provider): number {
  const kinds = PROVIDER_KINDS.indexOf(a.kind) - PROVIDER_KINDS.indexOf(b.kind)
  if (kinds !== 0) return kinds
  if ((a.isDefault === true) !== (b.isDefault === true)) return a.isDefault === true ? 1 : -1
  return a.name < b.name ? -1 : 1
}
