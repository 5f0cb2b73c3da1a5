import { type RangeEntry, RangeMap } from '../../addresses/range-map.ts'
import { type Facts, makeFacts } from '../../facts.ts'
import { TimeSlice } from '../../time-slice.ts'
import { type Provider, rangeLookup } from '../provider.ts'
import type { ListEntry, NoiseList } from './entry.ts'

const ENTRIES_AT_A_TIME = 500

/** Makes a provider of a noise list: it knows the classification of its networks, and the location of some. */
export async function noiseListProvider(name: string, list: NoiseList): Promise<Provider> {
  const factsOf = sharedFacts()
  // For one network the later entry wins, so CDNs go last: cloud lists contain their networks as well.
  const slice = new TimeSlice()
  const [entries, ofCdns]: RangeEntry<Facts>[][] = [[], []]
  for (const [i, entry] of list.entries.entries()) {
    if (i % ENTRIES_AT_A_TIME === 0 && slice.isOver) await slice.next()
    const to = entry.noiseClass === 'cdn' ? ofCdns! : entries!
    to.push({ range: entry.range, value: factsOf(entry) })
  }
  for (const entry of ofCdns!) entries!.push(entry)
  const networks = await RangeMap.build(entries!)
  const { recognisedAs, builtAt, warnings = [] } = list
  return { name, kind: 'noise', recognisedAs, builtAt, records: networks.size, warnings, ...rangeLookup(networks) }
}

/** Entries with the same content share one `Facts`. */
function sharedFacts(): (entry: ListEntry) => Facts {
  const known = new Map<string, Facts>()
  return ({ noiseClass, bot, location = {} }) => {
    const content = JSON.stringify([noiseClass, location, bot])
    let facts = known.get(content)
    if (facts === undefined) {
      facts = makeFacts(location, { explicit: noiseClass, ...(bot !== undefined && { bot }) })
      known.set(content, facts)
    }
    return facts
  }
}
