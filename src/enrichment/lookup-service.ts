import type { Address } from '../core/event/address.ts'
import type { Lookup, LookupOptions, LookupService } from '../lookup/lookup.ts'
import { isChosen } from './answers/choice.ts'
import { lookupOf } from './answers/lookup.ts'
import type { EnrichmentEngine } from './engine.ts'
import { RDNS } from './providers/rdns/provider.ts'
import type { ReverseDns } from './providers/rdns/reverse-dns.ts'

/** What lookups are made of. */
export interface LookupParts {
  readonly engine: EnrichmentEngine
  /** Undefined: host names come from data sets only, and `rdns` is no provider. */
  readonly reverseDns: ReverseDns | undefined
}

const CUT_OFF: readonly string[] = Object.freeze([RDNS])

/** Looks addresses up in the data sets and, unless it is denied, in reverse DNS. */
export class DataLookups implements LookupService {
  readonly #engine: EnrichmentEngine
  readonly #reverseDns: ReverseDns | undefined

  constructor({ engine, reverseDns }: LookupParts) {
    this.#engine = engine
    this.#reverseDns = reverseDns
  }

  /** In order of trust. */
  providerNames(): readonly string[] {
    const names = this.#engine.providerNames()
    return this.#reverseDns === undefined ? names : [...names, RDNS]
  }

  /** Only an address whose host name is not remembered makes a promise. */
  lookup(address: Address, options: LookupOptions): Lookup | Promise<Lookup> {
    const reverseDns = this.#reverseDns
    if (reverseDns === undefined || !isChosen(options, RDNS)) return this.#engine.lookup(address, options)
    const known = reverseDns.known(address)
    if (known !== undefined) return this.#engine.lookup(address, options, known.facts)
    return this.#ask(reverseDns, address, options)
  }

  /** No answer within the deadline: the lookup without the host name, which says so. */
  async #ask(reverseDns: ReverseDns, address: Address, options: LookupOptions): Promise<Lookup> {
    const known = await reverseDns.find(address, options.deadlineMs)
    const lookup = this.#engine.lookup(address, options, known?.facts)
    return known === undefined ? lookupOf(address, lookup, CUT_OFF) : lookup
  }
}
