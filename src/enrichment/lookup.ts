import type { Address } from '../core/address.ts'
import { ATTRIBUTES, type Attribute, type Classification, type EnrichmentData } from '../core/enrichment.ts'
import { RESERVED } from './answer.ts'
import { type Finding, type Merged, merge, RULES } from './merge.ts'
import type { Provider } from './provider.ts'
import type { Snapshot } from './snapshot.ts'

/** Which providers a lookup may ask, by name. Names that no provider has are without effect. */
export interface LookupChoice {
  /** Only these. Default: all. */
  readonly allow?: readonly string[]
  /** Not these, even when they are allowed. */
  readonly deny?: readonly string[]
}

/** Where a value comes from. */
export interface Provenance {
  /** A provider's name; `rules` for what the classifier decided, `iana` for reserved addresses. */
  readonly provider: string
  /** The network that the provider knows the value of; undefined for rows about an AS and for rules. */
  readonly network: string | undefined
}

/** All that is known of an address. */
export interface Lookup {
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
}

/** Asks the chosen providers. */
export function lookupIn(snapshot: Snapshot, address: Address, choice: LookupChoice): Lookup {
  const findings = snapshot.find(address, snapshot.providers.filter(chosenBy(choice)))
  const merged = merge(findings)
  const networks = networksOf(findings, address)
  const first = findings.find((finding) => networks.has(finding.provider.name))?.provider.name
  const data = first === undefined ? merged.data : withNetwork(merged.data, networks.get(first)!)
  return {
    address: address.text,
    data,
    provenance: provenanceOf(merged, networks, first),
    classification: merged.decision.classification,
    noise: merged.noise,
    rule: findings.length === 0 ? 'none' : merged.decision.rule,
    quality: merged.quality,
    companyId: merged.companyId,
    answered: findings.map(({ provider }) => provider.name),
  }
}

/** The lookup of a reserved address, which no provider is asked about. */
export function lookupReserved(address: Address, block: { readonly network: string; readonly name: string }): Lookup {
  const source: Provenance = { provider: 'iana', network: block.network }
  return {
    address: address.text,
    data: { ...RESERVED.data, network: block.network },
    provenance: { classification: source, network: source },
    classification: RESERVED.classification,
    noise: RESERVED.noise,
    rule: `reserved:${block.name}`,
    quality: RESERVED.quality,
    companyId: RESERVED.companyId,
    answered: [],
  }
}

function chosenBy({ allow, deny }: LookupChoice): (provider: Provider) => boolean {
  const allowed = allow === undefined ? undefined : new Set(allow)
  const denied = new Set(deny)
  return ({ name }) => (allowed === undefined || allowed.has(name)) && !denied.has(name)
}

/** The networks that providers know the address by. */
function networksOf(findings: readonly Finding[], address: Address): Map<string, string> {
  const networks = new Map<string, string>()
  for (const { provider, scope } of findings) {
    const network = scope === 'address' ? provider.networkOf(address) : undefined
    if (network !== undefined) networks.set(provider.name, network)
  }
  return networks
}

function withNetwork(data: EnrichmentData, network: string): EnrichmentData {
  const ordered: EnrichmentData = {}
  for (const attribute of ATTRIBUTES) {
    const value = attribute === 'network' ? network : data[attribute]
    if (value !== undefined) ordered[attribute] = value
  }
  return ordered
}

function provenanceOf(
  merged: Merged,
  networks: ReadonlyMap<string, string>,
  first: string | undefined,
): Partial<Record<Attribute, Provenance>> {
  const sources: Partial<Record<Attribute, string>> = { ...merged.sources }
  if (first !== undefined) sources.network = first
  const provenance: Partial<Record<Attribute, Provenance>> = {}
  for (const attribute of ATTRIBUTES) {
    const provider = sources[attribute]
    if (provider === undefined) continue
    provenance[attribute] = { provider, network: provider === RULES ? undefined : networks.get(provider) }
  }
  return provenance
}
