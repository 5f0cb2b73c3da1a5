import type { Address } from '../../../core/event/address.ts'
import { formatRange } from '../../addresses/network.ts'
import { RangeMap } from '../../addresses/range-map.ts'
import { type Facts, makeFacts } from '../../facts.ts'
import type { Provider } from '../provider.ts'
import type { ListEntry, NoiseList } from './entry.ts'

/** A list of noise as a provider: it knows the classification of its networks, and for some their place. */
export async function noiseListProvider(name: string, list: NoiseList): Promise<Provider> {
  const factsOf = sharedFacts()
  // Of two entries for one network the later counts: CDN networks are listed again inside of cloud lists.
  const ordered = [...list.entries].sort((a, b) => Number(a.noiseClass === 'cdn') - Number(b.noiseClass === 'cdn'))
  const entries = ordered.map((entry) => ({ range: entry.range, value: factsOf(entry) }))
  return new NoiseListProvider(name, list, await RangeMap.build(entries))
}

class NoiseListProvider implements Provider {
  readonly name: string
  readonly kind = 'noise'
  readonly recognisedAs: string
  readonly builtAt: Date | undefined
  readonly records: number
  readonly warnings: readonly string[] = []
  readonly #networks: RangeMap<Facts>

  constructor(name: string, list: NoiseList, networks: RangeMap<Facts>) {
    this.name = name
    this.recognisedAs = list.recognisedAs
    this.builtAt = list.builtAt
    this.records = list.entries.length
    this.#networks = networks
  }

  find(address: Address): Facts | undefined {
    return this.#networks.find(address)?.value
  }

  networkOf(address: Address): string | undefined {
    const entry = this.#networks.find(address)
    return entry === undefined ? undefined : formatRange(entry.range)
  }
}

/** Entries that say the same share one `Facts`. */
function sharedFacts(): (entry: ListEntry) => Facts {
  const known = new Map<string, Facts>()
  return ({ noiseClass, place = {} }) => {
    const content = JSON.stringify([noiseClass, place])
    let facts = known.get(content)
    if (facts === undefined) {
      facts = makeFacts(place, { explicit: noiseClass })
      known.set(content, facts)
    }
    return facts
  }
}
