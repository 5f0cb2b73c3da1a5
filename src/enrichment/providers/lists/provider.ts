import type { Address } from '../../../pipeline/event/address.ts'
import { formatRange } from '../../addresses/network.ts'
import { type RangeEntry, RangeMap } from '../../addresses/range-map.ts'
import { type Facts, makeFacts } from '../../facts.ts'
import { TimeSlice } from '../../time-slice.ts'
import type { Provider } from '../provider.ts'
import type { ListEntry, NoiseList } from './entry.ts'

const ENTRIES_AT_A_TIME = 500

/** A list of noise as a provider: it knows the classification of its networks, and for some their place. */
export async function noiseListProvider(name: string, list: NoiseList): Promise<Provider> {
  const factsOf = sharedFacts()
  // Of two entries for one network the later counts: CDN networks are listed again inside of cloud lists.
  const slice = new TimeSlice()
  const [entries, ofCdns]: RangeEntry<Facts>[][] = [[], []]
  for (const [i, entry] of list.entries.entries()) {
    if (i % ENTRIES_AT_A_TIME === 0 && slice.isOver) await slice.next()
    const to = entry.noiseClass === 'cdn' ? ofCdns! : entries!
    to.push({ range: entry.range, value: factsOf(entry) })
  }
  for (const entry of ofCdns!) entries!.push(entry)
  return new NoiseListProvider(name, list, await RangeMap.build(entries!))
}

class NoiseListProvider implements Provider {
  readonly name: string
  readonly kind = 'noise'
  readonly recognisedAs: string
  readonly builtAt: Date | undefined
  readonly records: number
  readonly warnings: readonly string[]
  readonly #networks: RangeMap<Facts>

  constructor(name: string, list: NoiseList, networks: RangeMap<Facts>) {
    this.name = name
    this.recognisedAs = list.recognisedAs
    this.builtAt = list.builtAt
    this.records = list.entries.length
    this.warnings = list.warnings ?? []
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
  return ({ noiseClass, location = {} }) => {
    const content = JSON.stringify([noiseClass, location])
    let facts = known.get(content)
    if (facts === undefined) {
      facts = makeFacts(location, { explicit: noiseClass })
      known.set(content, facts)
    }
    return facts
  }
}
