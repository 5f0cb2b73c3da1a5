import { ATTRIBUTES, type Attribute } from '../../../schemas/attributes.ts'
import type { Lookup, Provenance } from '../../lookup/lookup.ts'
import type { Address } from '../../pipeline/event/address.ts'
import type { EnrichmentData } from '../../pipeline/event/enrichment.ts'
import { RESERVED } from './answer.ts'
import { type Finder, type Merged, merge, RULES } from './merge.ts'

/** A lookup without its address. All addresses in the same networks with the same records share it. */
export type LookupContent = Omit<Lookup, 'address'>

/** The network of each finding; undefined if the finding is about the AS. */
type Networks = readonly (string | undefined)[]

export function networksOf(finders: readonly Finder[], address: Address): Networks {
  return finders.map(({ provider, scope }) => (scope === 'address' ? provider.networkOf(address) : undefined))
}

export function lookupContent(finders: readonly Finder[], networks: Networks, merged: Merged): LookupContent {
  const first = networks.findIndex((network) => network !== undefined)
  return {
    data: first < 0 ? merged.data : withNetwork(merged.data, networks[first]!),
    provenance: provenanceOf(finders, networks, merged, finders[first]?.provider.name),
    classification: merged.decision.classification,
    noise: merged.noise,
    rule: finders.length === 0 ? 'none' : merged.decision.rule,
    quality: merged.quality,
    companyId: merged.companyId,
    answered: finders.map(({ provider }) => provider.name),
    partial: NONE,
  }
}

/** The lookup of a reserved address, without any provider. */
export function lookupReserved(address: Address, block: { readonly network: string; readonly name: string }): Lookup {
  const source: Provenance = { provider: 'iana', network: block.network }
  return lookupOf(address, {
    data: { ...RESERVED.data, network: block.network },
    provenance: { classification: source, network: source },
    classification: RESERVED.classification,
    noise: RESERVED.noise,
    rule: `reserved:${block.name}`,
    quality: RESERVED.quality,
    companyId: RESERVED.companyId,
    answered: NONE,
    partial: NONE,
  })
}

/** The lookup of an address that no provider knows. */
export function lookupUnknown(address: Address): Lookup {
  return lookupOf(address, lookupContent([], [], merge([])))
}

/** @param partial providers that did not answer in time */
export function lookupOf(address: Address, content: LookupContent, partial = content.partial): Lookup {
  return {
    address: address.text,
    data: content.data,
    provenance: content.provenance,
    classification: content.classification,
    noise: content.noise,
    rule: content.rule,
    quality: content.quality,
    companyId: content.companyId,
    answered: content.answered,
    partial,
  }
}

const NONE: readonly string[] = Object.freeze([])

function withNetwork(data: EnrichmentData, network: string): EnrichmentData {
  const ordered: EnrichmentData = {}
  for (const attribute of ATTRIBUTES) {
    const value = attribute === 'network' ? network : data[attribute]
    if (value !== undefined) ordered[attribute] = value
  }
  return ordered
}

/** @param first the provider of the attribute `network` */
function provenanceOf(
  finders: readonly Finder[],
  networks: Networks,
  merged: Merged,
  first: string | undefined,
): Partial<Record<Attribute, Provenance>> {
  const sources = new Map<string, Provenance>()
  const provenance: Partial<Record<Attribute, Provenance>> = {}
  for (const attribute of ATTRIBUTES) {
    const provider = attribute === 'network' ? first : merged.sources[attribute]
    if (provider === undefined) continue
    const derived = merged.derived[attribute]
    if (derived !== undefined) {
      provenance[attribute] = { provider, network: undefined, ...derived }
      continue
    }
    let source = sources.get(provider)
    if (source === undefined) {
      source = { provider, network: provider === RULES ? undefined : networkOf(provider, finders, networks) }
      sources.set(provider, source)
    }
    provenance[attribute] = source
  }
  return provenance
}

function networkOf(provider: string, finders: readonly Finder[], networks: Networks): string | undefined {
  return networks[finders.findIndex((finder) => finder.provider.name === provider)]
}
