import type { RuleKind, RuleReason, TenantRules, Unclassified } from '../../../schemas/tenant-rules.ts'
import type { Address } from '../../pipeline/event/address.ts'
import type { Enrichment } from '../../pipeline/event/enrichment.ts'
import { judgedAddress } from '../addresses/judged.ts'
import { type AddressRange, v6Number } from '../addresses/network.ts'
import { companyIdOf, nameKey } from '../rules/company-id.ts'
import { slug } from '../rules/normalise.ts'
import { type NetworkHolder, type Rule, readRule } from './rule.ts'

/** The input of a rule. */
export type Judged = Pick<Enrichment, 'noise' | 'classification' | 'companyId' | 'data'>

/** The decision, and the text of the rule. */
export interface Verdict {
  readonly kind: RuleKind | `unclassified-${Unclassified}`
  readonly rule: string
}

/** The reason under which a verdict filters events; undefined when it keeps them. */
export const FILTERS: Readonly<Partial<Record<Verdict['kind'], RuleReason>>> = {
  own: 'own',
  'always-noise': 'always_noise',
  'unclassified-filtered': 'unclassified',
}

/** Kinds in order of precedence, for rules with the same subject. */
const ORDER: readonly RuleKind[] = ['own', 'is', 'never-noise', 'always-noise', 'keep']

/** A rule `is`: the organisation of an address. */
export type HolderRule = Rule & { readonly subject: NetworkHolder }

/**
 * The rules of a tenant, indexed. A rule `is` names the organisation, and the others decide about it. Of these, the rule with the most
 * specific network wins, then rules about the organisation, the AS and the class. `ORDER` breaks ties. A network's rule decides
 * nothing inside of a smaller network that has a rule `is`.
 */
export class RuleSet {
  /** Per family, longest prefix first. */
  readonly #networks: NetworkRules
  readonly #holders: NetworkRules
  /** Rules `is`, by AS number. */
  readonly #systemHolders = new Map<number, HolderRule>()
  /** Networks and AS numbers of rules `is`, by company id. */
  readonly #held = new Map<string, NetworkHolder['network'][]>()
  readonly #organisations = new Map<string, Rule>()
  readonly #systems = new Map<number, Rule>()
  readonly #classes = new Map<string, Rule>()
  readonly #unclassified: Unclassified
  /** Verdicts of rules that are not about networks. Equal enrichments are one object while they are cached. */
  readonly #known = new WeakMap<Judged, { readonly verdict: Verdict | undefined }>()

  /** Skips text that is not a rule: a later version may have written it. */
  constructor({ rules = [], unclassified = 'account' }: TenantRules) {
    this.#unclassified = unclassified
    const networks = new NetworkRules()
    const holders = new NetworkRules()
    const held: HolderRule[] = []
    const read = rules.map(readRule).filter((rule) => typeof rule !== 'string')
    for (const rule of read.sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind))) {
      const { subject } = rule
      if (subject.of === 'network') networks.add(subject.range, rule)
      else if (subject.of === 'holder') held.unshift(rule as HolderRule)
      else if (subject.of === 'organisation') addFirst(this.#organisations, subject.id, rule)
      else if (subject.of === 'as') addFirst(this.#systems, subject.asn, rule)
      else addFirst(this.#classes, subject.classification, rule)
    }
    // The newest rule `is` of a network wins: another company has moved in.
    for (const rule of held) {
      const { network, domain, name } = rule.subject
      if (typeof network === 'number') addFirst(this.#systemHolders, network, rule)
      else holders.add(network, rule)
      const id = companyIdOf({ name, domain })
      const networks = this.#held.get(id)
      if (networks === undefined) this.#held.set(id, [network])
      else networks.push(network)
    }
    this.#networks = networks
    this.#holders = holders
  }

  /** Whether a rule `is` may match. */
  get hasHolders(): boolean {
    return !this.#holders.isEmpty || this.#systemHolders.size > 0
  }

  /**
   * The rule `is` with the most specific network around an address, or else that of its AS.
   * @param address undefined when it is no longer stored
   * @param asn 0 or NaN: unknown
   */
  holderOf(address: Address | undefined, asn: number): HolderRule | undefined {
    const found = address && (this.#holders.find(address)?.rule as HolderRule | undefined)
    return found ?? this.#systemHolders.get(asn)
  }

  /** The networks and AS numbers that rules `is` give to a company. */
  networksOf(companyId: string): readonly NetworkHolder['network'][] {
    return this.#held.get(companyId) ?? []
  }

  /**
   * The verdict of the rules; undefined when none matches.
   * @param address undefined when it is no longer stored; then no rule about a network matches
   * @param enrichment after the rule `is` of the address
   */
  find(address: Address | undefined, enrichment: Judged): Verdict | undefined {
    const network = address && this.#networks.find(address)
    if (network !== undefined && !isWithin(this.#holders.find(address!), network)) {
      return { kind: network.rule.kind, rule: network.rule.text }
    }
    let known = this.#known.get(enrichment)
    if (known === undefined) {
      known = { verdict: this.#byEnrichment(enrichment) }
      this.#known.set(enrichment, known)
    }
    return known.verdict
  }

  /** Text of the rule that keeps a class. */
  ofClass(classification: string): string | undefined {
    return this.#classes.get(classification)?.text
  }

  #byEnrichment(enrichment: Judged): Verdict | undefined {
    const { noise, classification, companyId, data } = enrichment
    const named = organisationIds(enrichment)
      .map((id) => this.#organisations.get(id))
      .filter((rule) => rule !== undefined)
    const rule =
      named.sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind))[0] ??
      this.#systems.get(Number(data.asn)) ??
      (noise ? this.#classes.get(classification ?? '') : undefined)
    if (rule !== undefined) return { kind: rule.kind, rule: rule.text }
    if (this.#unclassified === 'account' || noise || classification !== undefined) return undefined
    // A doubtful name has no company id. A private person has neither.
    if (companyId === '' && data.business_name === undefined) return undefined
    return { kind: `unclassified-${this.#unclassified}`, rule: unclassifiedRule(this.#unclassified) }
  }
}

/** The text for a tenant's choice about organisations of unknown class, used like the text of a rule. */
export function unclassifiedRule(choice: Unclassified): string {
  return `unclassified ${choice}`
}

/** Ids by which rules may name the organisation: of its account, its domain, or any of its names. */
function organisationIds({ companyId, data }: Judged): string[] {
  const names = [data.business_name, data.org_name, data.as_name].flatMap((name) => {
    const text = String(name ?? '')
    return [nameKey(text), slug(text)]
  })
  const domain = data.domain === undefined ? '' : companyIdOf({ name: undefined, domain: String(data.domain) })
  return [companyId, domain, ...names].filter((id) => id !== '')
}

/** Rules of networks with one prefix length, by first address. */
interface PrefixTable {
  readonly length: number
  readonly rules: Map<number | bigint, Rule>
}

interface NetworkRule {
  readonly rule: Rule
  readonly version: 4 | 6
  /** Length of the prefix. */
  readonly length: number
}

/** Rules about networks. */
class NetworkRules {
  /** Per family, longest prefix first. */
  readonly #tables: { readonly 4: PrefixTable[]; readonly 6: PrefixTable[] } = { 4: [], 6: [] }

  get isEmpty(): boolean {
    return this.#tables[4].length + this.#tables[6].length === 0
  }

  /** Keeps the first of several rules with the same network. */
  add(range: AddressRange, rule: Rule): void {
    const tables = this.#tables[range.version]
    const length = prefixLength(range)
    let table = tables.find((each) => each.length === length)
    if (table === undefined) {
      table = { length, rules: new Map() }
      tables.push(table)
      tables.sort((a, b) => b.length - a.length)
    }
    addFirst(table.rules, range.first, rule)
  }

  /** The rule with the most specific network. IPv6 that contains IPv4 also has the rules of that. */
  find(address: Address): NetworkRule | undefined {
    const { 4: v4, 6: v6 } = this.#tables
    const found = address.v6 === undefined ? prefixOf(v4, address, 4) : prefixOf(v6, address, 6)
    if (found !== undefined || address.v6 === undefined || v4.length === 0) return found
    const embedded = judgedAddress(address)
    return embedded === address ? undefined : prefixOf(v4, embedded, 4)
  }
}

function prefixLength(range: AddressRange): number {
  return range.version === 4
    ? 32 - Math.log2(range.last - range.first + 1)
    : 129 - (range.last - range.first + 1n).toString(2).length
}

/** Whether a network is smaller than another one around the same address. */
function isWithin(inner: NetworkRule | undefined, outer: NetworkRule): boolean {
  return inner !== undefined && inner.version === outer.version && inner.length > outer.length
}

function prefixOf(tables: readonly PrefixTable[], { v4, v6 }: Address, version: 4 | 6): NetworkRule | undefined {
  if (tables.length === 0) return undefined
  const whole = v6 === undefined ? 0n : v6Number(v6)
  for (const { length, rules } of tables) {
    const first =
      v6 === undefined ? v4 - (v4 % 2 ** (32 - length)) : (whole >> BigInt(128 - length)) << BigInt(128 - length)
    const rule = rules.get(first)
    if (rule !== undefined) return { rule, version, length }
  }
  return undefined
}

function addFirst<K, R>(rules: Map<K, R>, key: K, rule: R): void {
  if (!rules.has(key)) rules.set(key, rule)
}
