import type { Address } from '../core/address.ts'
import type { Enrichment } from '../core/enrichment.ts'
import { Answers, NOTHING_KNOWN } from './answer.ts'
import { BoundedCache } from './bounded-cache.ts'
import { type Finding, isNoise, merge } from './merge.ts'
import { PROVIDER_KINDS, type Provider } from './provider.ts'

/** Called when a provider could not read a record. The answer is given without it. */
export type RecordErrorListener = (provider: Provider, error: unknown) => void

/** Rank behind which rows stand that call an AS infrastructure: whoever knows a company inside of it goes first. */
const CARRIER_RANK = PROVIDER_KINDS.indexOf('isp')

/**
 * The providers of one moment with what was found by them. A reload makes a new snapshot; lookups that are under way
 * end with the one they started with.
 */
export class Snapshot {
  /** In order of trust. */
  readonly providers: readonly Provider[]
  readonly #hasAsRows: boolean
  readonly #onRecordError: RecordErrorListener
  readonly #byAddress: BoundedCache<string, Enrichment>
  /** Answers by the numbers of the facts that they are made of. */
  readonly #byFacts: BoundedCache<string, Enrichment>
  readonly #answers: Answers

  constructor(providers: readonly Provider[], answersMax: number, onRecordError: RecordErrorListener) {
    this.providers = providers
    this.#hasAsRows = providers.some((provider) => provider.findAs !== undefined)
    this.#onRecordError = onRecordError
    this.#byAddress = new BoundedCache(answersMax)
    this.#byFacts = new BoundedCache(answersMax)
    this.#answers = new Answers(answersMax)
  }

  /** Addresses whose answer is remembered. */
  get cachedAnswers(): number {
    return this.#byAddress.size
  }

  /** The remembered answer for an address. */
  cached(address: Address): Enrichment | undefined {
    return this.#byAddress.get(address.text)
  }

  remember(address: Address, enrichment: Enrichment): void {
    this.#byAddress.set(address.text, enrichment)
  }

  /** Asks all providers. */
  resolve(address: Address): Enrichment {
    const findings = this.find(address, this.providers)
    if (findings.length === 0) return NOTHING_KNOWN
    let key = ''
    for (const { facts, scope } of findings) key += scope === 'as' ? `,A${facts.id}` : `,${facts.id}`
    const known = this.#byFacts.get(key)
    if (known !== undefined) return known
    const enrichment = this.#answers.of(merge(findings))
    this.#byFacts.set(key, enrichment)
    return enrichment
  }

  /**
   * What the given providers say, in order of trust: of the address, and by their tables of its autonomous system.
   * @param providers in order of trust
   */
  find(address: Address, providers: readonly Provider[]): Finding[] {
    const findings: Finding[] = []
    for (const provider of providers) {
      const facts = this.#ask(provider, address)
      if (facts !== undefined) findings.push({ provider, facts, scope: 'address' })
    }
    return this.#hasAsRows ? withAsRows(findings, providers) : findings
  }

  #ask(provider: Provider, address: Address) {
    try {
      return provider.find(address)
    } catch (error) {
      this.#onRecordError(provider, error)
      return undefined
    }
  }
}

/**
 * Adds what tables say of the address's AS, where they have no row for the address itself. The AS is the one that the
 * first other provider knows.
 */
function withAsRows(findings: readonly Finding[], providers: readonly Provider[]): Finding[] {
  const all = [...findings]
  for (const provider of providers) {
    if (provider.findAs === undefined || findings.some((finding) => finding.provider === provider)) continue
    const asn = findings.find(({ facts }) => facts.data.asn !== undefined)?.facts.data.asn
    const facts = typeof asn === 'number' ? provider.findAs(asn) : undefined
    if (facts !== undefined) all.push({ provider, facts, scope: 'as' })
  }
  return all.length === findings.length ? all : all.sort((a, b) => rank(a) - rank(b) || byOrder(a, b, providers))
}

function rank({ provider, facts, scope }: Finding): number {
  const own = PROVIDER_KINDS.indexOf(provider.kind)
  return scope === 'as' && isNoise(facts) ? CARRIER_RANK - 0.5 : own
}

function byOrder(a: Finding, b: Finding, providers: readonly Provider[]): number {
  return providers.indexOf(a.provider) - providers.indexOf(b.provider)
}
