import type { Lookup, LookupOptions, LookupService } from '../lookup/lookup.ts'
import type { Address } from '../pipeline/event/address.ts'
import type { EnrichmentData } from '../pipeline/event/enrichment.ts'
import { isChosen } from './answers/choice.ts'
import { lookupOf } from './answers/lookup.ts'
import type { EnrichmentEngine } from './engine.ts'
import { RDNS } from './providers/rdns/provider.ts'
import type { ReverseDns } from './providers/rdns/reverse-dns.ts'

interface DataLookupsOptions {
  readonly engine: EnrichmentEngine
  /** Undefined: host names come from data sets only, and there is no provider `rdns`. */
  readonly reverseDns: ReverseDns | undefined
  /** Query reverse DNS also for lookups that request neither it nor a host name. */
  readonly asksAlways: boolean
}

const CUT_OFF: readonly string[] = Object.freeze([RDNS])

/** Looks addresses up in the data sets and, on request, in reverse DNS. */
export class DataLookups implements LookupService {
  readonly #engine: EnrichmentEngine
  readonly #reverseDns: ReverseDns | undefined
  readonly #asksAlways: boolean

  constructor({ engine, reverseDns, asksAlways }: DataLookupsOptions) {
    this.#engine = engine
    this.#reverseDns = reverseDns
    this.#asksAlways = asksAlways
  }

  /** In order of trust. */
  providerNames(): readonly string[] {
    const names = this.#engine.providerNames()
    return this.#reverseDns === undefined ? names : [...names, RDNS]
  }

  /** Returns a promise only when it must query reverse DNS. */
  lookup(address: Address, options: LookupOptions): Lookup | Promise<Lookup> {
    const reverseDns = this.#reverseDns
    if (reverseDns === undefined || !this.#isWanted(options)) return this.#engine.lookup(address, options)
    const known = reverseDns.known(address)
    if (known !== undefined) return this.#engine.lookup(address, options, known.facts)
    return this.#ask(reverseDns, address, options)
  }

  organisationOf(domain: string): Readonly<EnrichmentData> | undefined {
    return this.#engine.organisationOf(domain)
  }

  #isWanted(options: LookupOptions): boolean {
    const { allow, hostname = false } = options
    return (this.#asksAlways || hostname || allow?.includes(RDNS) === true) && isChosen(options, RDNS)
  }

  /** Without an answer by the deadline, the lookup has no host name and lists `rdns` in `partial`. */
  async #ask(reverseDns: ReverseDns, address: Address, options: LookupOptions): Promise<Lookup> {
    const known = await reverseDns.find(address, options.deadlineMs)
    const lookup = this.#engine.lookup(address, options, known?.facts)
    return known === undefined ? lookupOf(address, lookup, CUT_OFF) : lookup
  }
}
