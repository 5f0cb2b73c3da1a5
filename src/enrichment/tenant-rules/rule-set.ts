import type { RuleKind, RuleReason, TenantRules, Unclassified } from '../../../schemas/tenant-rules.ts'
import type { Address } from '../../pipeline/event/address.ts'
import type { Enrichment } from '../../pipeline/event/enrichment.ts'
import { judgedAddress } from '../addresses/judged.ts'
import { type AddressRange, v6Number } from '../addresses/network.ts'
import { companyIdOf, nameKey } from '../rules/company-id.ts'
import { slug } from '../rules/normalise.ts'
import { type Rule, readRule } from './rule.ts'

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

/** Of rules with the same subject, the first kind wins. */
const ORDER: readonly RuleKind[] = ['own', 'never-noise', 'always-noise', 'keep']

/**
 * The rules of a tenant, indexed. The rule with the most specific network wins, then rules about the organisation, the AS
 * and the class. `ORDER` breaks ties.
 */
export class RuleSet {
  /** Per family, longest prefix first. */
  readonly #v4: PrefixTable[]
  readonly #v6: PrefixTable[]
  readonly #organisations = new Map<string, Rule>()
  readonly #systems = new Map<number, Rule>()
  readonly #classes = new Map<string, Rule>()
  readonly #unclassified: Unclassified
  /** Verdicts of rules that are not about networks. Equal enrichments are one object while they are cached. */
  readonly #known = new WeakMap<Judged, { readonly verdict: Verdict | undefined }>()

  /** Skips text that is not a rule: a later version may have written it. */
  constructor({ rules = [], unclassified = 'account' }: TenantRules) {
    this.#unclassified = unclassified
    const prefixes = { 4: new Map<number, PrefixTable>(), 6: new Map<number, PrefixTable>() }
    const read = rules.map(readRule).filter((rule) => typeof rule !== 'string')
    for (const rule of read.sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind))) {
      const { subject } = rule
      if (subject.of === 'network') addPrefix(prefixes[subject.range.version], subject.range, rule)
      else if (subject.of === 'organisation') addFirst(this.#organisations, subject.id, rule)
      else if (subject.of === 'as') addFirst(this.#systems, subject.asn, rule)
      else addFirst(this.#classes, subject.classification, rule)
    }
    const sorted = (tables: Iterable<PrefixTable>) => [...tables].sort((a, b) => b.length - a.length)
    this.#v4 = sorted(prefixes[4].values())
    this.#v6 = sorted(prefixes[6].values())
  }

  /**
   * The verdict of the rules; undefined when none matches.
   * @param address undefined when it is no longer stored; then no rule about a network matches
   */
  find(address: Address | undefined, enrichment: Judged): Verdict | undefined {
    const network = address && this.#network(address)
    if (network !== undefined) return { kind: network.kind, rule: network.text }
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

  #network(address: Address): Rule | undefined {
    const found = prefixOf(address.v6 === undefined ? this.#v4 : this.#v6, address)
    if (found !== undefined || address.v6 === undefined) return found
    const embedded = judgedAddress(address)
    return embedded === address ? undefined : prefixOf(this.#v4, embedded)
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
    if (this.#unclassified === 'account' || noise || classification !== undefined || companyId === '') return undefined
    return { kind: `unclassified-${this.#unclassified}`, rule: `unclassified ${this.#unclassified}` }
  }
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

function addPrefix(tables: Map<number, PrefixTable>, range: AddressRange, rule: Rule): void {
  const length =
    range.version === 4
      ? 32 - Math.log2(range.last - range.first + 1)
      : 129 - (range.last - range.first + 1n).toString(2).length
  let table = tables.get(length)
  if (table === undefined) {
    table = { length, rules: new Map() }
    tables.set(length, table)
  }
  addFirst(table.rules, range.first, rule)
}

function prefixOf(tables: readonly PrefixTable[], { v4, v6 }: Address): Rule | undefined {
  if (tables.length === 0) return undefined
  const whole = v6 === undefined ? 0n : v6Number(v6)
  for (const { length, rules } of tables) {
    const first =
      v6 === undefined ? v4 - (v4 % 2 ** (32 - length)) : (whole >> BigInt(128 - length)) << BigInt(128 - length)
    const rule = rules.get(first)
    if (rule !== undefined) return rule
  }
  return undefined
}

function addFirst<K>(rules: Map<K, Rule>, key: K, rule: Rule): void {
  if (!rules.has(key)) rules.set(key, rule)
}
