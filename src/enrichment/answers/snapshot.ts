import { NOISE } from '../../../schemas/classification.ts'
import type { Lookup } from '../../lookup/lookup.ts'
import { type Address, ownText } from '../../pipeline/event/address.ts'
import type { Enrichment, EnrichmentData } from '../../pipeline/event/enrichment.ts'
import { judgedAddress } from '../addresses/judged.ts'
import { BoundedCache, charactersIn } from '../bounded-cache.ts'
import type { Facts } from '../facts.ts'
import { PROVIDER_KINDS, type Provider } from '../providers/provider.ts'
import { RDNS_PROVIDER } from '../providers/rdns/provider.ts'
import { isVote } from '../rules/classify.ts'
import { learn } from '../rules/decided.ts'
import type { Organisation } from '../rules/evidence.ts'
import { ANSWER_BYTES, Answers, bytesOfAnswer, NOTHING_KNOWN } from './answer.ts'
import { type Chosen, chosenOf, type LookupChoice } from './choice.ts'
import { type LookupContent, lookupContent, lookupOf, networksOf } from './lookup.ts'
import { decisionOf, evidenceOf, type Finder, type Finding, isNoise, type Merged, merge } from './merge.ts'

/** Called when a provider cannot read a record. The answer is made without it. */
type RecordErrorListener = (provider: Provider, error: unknown) => void

/** Sizes of a snapshot's caches, in bytes of memory. */
interface SnapshotLimits {
  /** Answers, by address. */
  readonly answersBytesMax: number
  /** Lookups with provenance, by address. */
  readonly lookupsBytesMax: number
  /** Decisions, by the records about an address. */
  readonly decisionsBytesMax: number
}

/** What the records about an address say together. All addresses with the same records share it. */
interface Decision {
  /** Where the merged facts are from, in order of trust. */
  readonly finders: readonly Finder[]
  readonly merged: Merged
  /** Made when first needed: lookups do without. */
  answer: Enrichment | undefined
  /** The last lookup. Neighbours share its network. */
  content: { readonly networks: string; readonly content: LookupContent } | undefined
}

/** Organisations of rules `is` that are remembered: as many as a tenant may have. */
const DOMAINS_MAX = 1_000

/** Rows that call a whole AS infrastructure rank right before ISP data, after all providers that know companies inside it. */
const CARRIER_RANK = PROVIDER_KINDS.indexOf('isp')

/**
 * The providers at one moment, with the caches of their results. A reload makes a new snapshot. Lookups in progress keep
 * the one that they started with.
 */
export class Snapshot {
  /** In order of trust. */
  readonly providers: readonly Provider[]
  readonly #all: Chosen
  readonly #hasAsRows: boolean
  readonly #hasOrganisations: boolean
  readonly #onRecordError: RecordErrorListener
  readonly #byAddress: BoundedCache<string | number, Enrichment>
  readonly #lookups: BoundedCache<string | number, Lookup>
  /** By the ids of the records. */
  readonly #decisions: BoundedCache<string, Decision>
  readonly #answers: Answers
  readonly #byDomain = new BoundedCache<string, { readonly data: Readonly<EnrichmentData> | undefined }>(DOMAINS_MAX)

  constructor(providers: readonly Provider[], limits: SnapshotLimits, onRecordError: RecordErrorListener) {
    this.providers = providers
    this.#all = { key: '', providers }
    this.#hasAsRows = providers.some((provider) => provider.findAs !== undefined)
    this.#hasOrganisations = providers.some((provider) => provider.findOrganisation !== undefined)
    this.#onRecordError = onRecordError
    this.#byAddress = new BoundedCache(limits.answersBytesMax, { entry: bytesOfKey, shared: bytesOfAnswer })
    this.#lookups = new BoundedCache(limits.lookupsBytesMax, { entry: bytesOfLookup })
    this.#decisions = new BoundedCache(limits.decisionsBytesMax, { entry: bytesOfDecision })
    // Addresses share answers, so there are far fewer.
    this.#answers = new Answers(limits.answersBytesMax / 4)
  }

  /** Number of addresses with a cached answer. */
  get cachedAnswers(): number {
    return this.#byAddress.size
  }

  /** The facts about an organisation, from the most trusted table that knows its domain. */
  organisationOf(domain: string): Readonly<EnrichmentData> | undefined {
    let known = this.#byDomain.get(domain)
    if (known === undefined) {
      const facts = rowOf({ name: undefined, domain }, undefined, this.providers)?.facts
      const classification = facts?.evidence.explicit
      known = { data: facts && { ...facts.data, ...(classification && { classification }) } }
      this.#byDomain.set(domain, known)
    }
    return known.data
  }

  /** The cached answer for an address. */
  cached(address: Address, hostname?: Facts): Enrichment | undefined {
    return this.#byAddress.get(answerKey(address, hostname))
  }

  remember(address: Address, enrichment: Enrichment, hostname?: Facts): void {
    this.#byAddress.set(answerKey({ ...address, text: ownText(address) }, hostname), enrichment)
  }

  /** Queries all providers. @param hostname the answer of reverse DNS */
  resolve(address: Address, hostname?: Facts): Enrichment {
    const decision = this.#decide(judgedAddress(address), this.#all, hostname)
    if (decision.finders.length === 0) return NOTHING_KNOWN
    decision.answer ??= this.#answers.of(decision.merged)
    return decision.answer
  }

  /** The cached lookup of an address. */
  cachedLookup(address: Address, choice: LookupChoice, hostname?: Facts): Lookup | undefined {
    return this.#lookups.get(lookupKey(chosenOf(choice, this.#all), address, hostname))
  }

  /** Queries the chosen providers. Call it only after a cache miss. @param hostname the answer of reverse DNS */
  lookup(address: Address, choice: LookupChoice, hostname?: Facts): Lookup {
    const chosen = chosenOf(choice, this.#all)
    const judged = judgedAddress(address)
    const lookup = lookupOf(address, contentOf(this.#decide(judged, chosen, hostname), judged))
    this.#lookups.set(lookupKey(chosen, address, hostname), lookup)
    return lookup
  }

  /** Merges the records about an address, once for all addresses with the same records. */
  #decide(address: Address, chosen: Chosen, hostname: Facts | undefined): Decision {
    const found: Finding[] = []
    let key = chosen.key
    for (const provider of chosen.providers) {
      const facts = this.#ask(provider, address)
      if (facts === undefined) continue
      key += `,${facts.id}`
      found.push({ provider, facts, scope: facts.scope })
    }
    // The text and not the id, which is new in each replay.
    if (hostname !== undefined) key += `,${hostname.data.hostname}`
    let decision = this.#decisions.get(key)
    if (decision === undefined) {
      for (const { facts } of found) if (facts.decided !== undefined) learn(facts.decided)
      const findings = withHostname(this.#complete(found, chosen.providers), hostname)
      const finders = findings.map(({ provider, scope }) => ({ provider, scope }))
      decision = { finders, merged: merge(findings), answer: undefined, content: undefined }
      this.#decisions.set(key, decision)
    }
    return decision
  }

  /**
   * The findings about an address and its autonomous system.
   * @param found the records about the address, in order of trust
   * @param providers those that were asked, in order of trust
   */
  #complete(found: Finding[], providers: readonly Provider[]): Finding[] {
    const ofAs = this.#hasAsRows || found.some(({ scope }) => scope === 'as')
    const current = withoutOtherCarriers(found)
    return this.#withOrganisation(ofAs ? withAsRows(current, providers) : current, providers)
  }

  /** Adds the facts that a table has about an organisation which another provider names. */
  #withOrganisation(findings: Finding[], providers: readonly Provider[]): Finding[] {
    if (!this.#hasOrganisations || findings.length === 0 || findings.some(isTableRow)) return findings
    const row = organisationRow(findings, providers)
    return row === undefined ? findings : [row, ...findings]
  }

  #ask(provider: Provider, address: Address): Facts | undefined {
    try {
      return provider.find(address)
    } catch (error) {
      this.#onRecordError(provider, error)
      return undefined
    }
  }
}

function isTableRow({ provider, facts }: Finding): boolean {
  return provider.kind === 'table' && facts.organisation !== undefined
}

/**
 * The row of the organisation that another provider names. A noise network keeps its class, because `Amazon.com` runs a cloud
 * too, unless only the model calls it noise: a row outranks a vote.
 */
function organisationRow(findings: readonly Finding[], providers: readonly Provider[]): Finding | undefined {
  const organisation = namedOrganisation(findings)
  if (organisation === undefined) return undefined
  const country = findings.find(({ facts, scope }) => scope === 'address' && facts.data.country_code !== undefined)
  const countryCode = country?.facts.data.country_code as string | undefined
  const row = rowOf(organisation, countryCode, providers)
  if (row === undefined) return undefined
  // Classified last: it takes longer than the search, which seldom finds a row.
  const decision = decisionOf(findings, evidenceOf(findings))
  const { classification } = decision
  return classification !== undefined && NOISE.has(classification) && !isVote(decision) ? undefined : row
}

/** @param providers in order of trust */
function rowOf(
  organisation: Organisation,
  countryCode: string | undefined,
  providers: readonly Provider[],
): Finding | undefined {
  for (const provider of providers) {
    const facts = provider.findOrganisation?.(organisation, countryCode)
    if (facts !== undefined) return { provider, facts, scope: 'as' }
  }
  return undefined
}

/** The organisation that uses the address, or else the holder of its network. */
function namedOrganisation(findings: readonly Finding[]): Organisation | undefined {
  const named = findings.find(({ facts }) => facts.organisation !== undefined)
  if (named !== undefined) return named.facts.organisation
  const name = findings.find(({ facts }) => facts.data.org_name !== undefined)?.facts.data.org_name
  return name === undefined ? undefined : { name: String(name), domain: undefined }
}

/** A number if possible: a `Map` finds it in half the time. */
function answerKey(address: Address, hostname: Facts | undefined): string | number {
  // Signed: V8 keeps larger numbers as objects.
  return hostname === undefined && address.v4 >= 0 ? address.v4 | 0 : keyOf(address, hostname)
}

function lookupKey({ key }: Chosen, address: Address, hostname: Facts | undefined): string | number {
  return key === '' ? answerKey(address, hostname) : key + keyOf(address, hostname)
}

function keyOf({ text }: Pick<Address, 'text'>, hostname: Facts | undefined): string {
  return hostname === undefined ? text : `${text} ${hostname.id}`
}

function contentOf(decision: Decision, address: Address): LookupContent {
  const networks = networksOf(decision.finders, address)
  const key = networks.join()
  if (decision.content?.networks !== key) {
    decision.content = { networks: key, content: lookupContent(decision.finders, networks, decision.merged) }
  }
  return decision.content.content
}

function withHostname(findings: Finding[], hostname: Facts | undefined): Finding[] {
  if (hostname !== undefined) findings.push({ provider: RDNS_PROVIDER, facts: hostname, scope: 'address' })
  return findings
}

/**
 * Drops rows about a provider's network where another AS announces the address: `59.0.0.0/11` is Korea Telecom's, and banks
 * with an AS of their own announce parts of it.
 */
function withoutOtherCarriers(findings: Finding[]): Finding[] {
  const announcing = findings.find(({ provider }) => provider.kind === 'asn')?.facts.data.asn
  if (announcing === undefined) return findings
  const isOther = ({ provider, facts, scope }: Finding) =>
    provider.kind === 'table' && scope === 'address' && isNoise(facts) && (facts.data.asn ?? announcing) !== announcing
  return findings.some(isOther) ? findings.filter((finding) => !isOther(finding)) : findings
}

/**
 * Adds rows about the AS from tables without a row for the address. The AS number comes from the most trusted finding that
 * has one.
 */
function withAsRows(findings: readonly Finding[], providers: readonly Provider[]): Finding[] {
  const all = [...findings]
  for (const provider of providers) {
    if (provider.findAs === undefined || findings.some((finding) => finding.provider === provider)) continue
    const asn = findings.find(({ facts }) => facts.data.asn !== undefined)?.facts.data.asn
    const facts = typeof asn === 'number' ? provider.findAs(asn) : undefined
    if (facts !== undefined) all.push({ provider, facts, scope: 'as' })
  }
  return all.sort((a, b) => rank(a) - rank(b) || byOrder(a, b, providers))
}

function rank({ provider, facts, scope }: Finding): number {
  const own = PROVIDER_KINDS.indexOf(provider.kind)
  return scope === 'as' && isNoise(facts) ? CARRIER_RANK - 0.5 : own
}

function byOrder(a: Finding, b: Finding, providers: readonly Provider[]): number {
  return providers.indexOf(a.provider) - providers.indexOf(b.provider)
}

/** Bytes of V8's heap, measured with the default data: of an entry in a `Map`, and of values without their long texts. */
const ENTRY_BYTES = 60
const TEXT_BYTES = 24
const LOOKUP_BYTES = 1_000
const DECISION_BYTES = 600

function bytesOfKey(key: string | number): number {
  return typeof key === 'number' ? ENTRY_BYTES : bytesOfText(key)
}

function bytesOfText(key: string): number {
  return ENTRY_BYTES + TEXT_BYTES + key.length
}

/** A decision and the answer that it will hold, which has the texts too. */
function bytesOfDecision(key: string, { merged: { data } }: Decision): number {
  return bytesOfText(key) + DECISION_BYTES + ANSWER_BYTES + 4 * charactersIn(data)
}

function bytesOfLookup(key: string | number, { data }: Lookup): number {
  return bytesOfKey(key) + LOOKUP_BYTES + charactersIn(data)
}
