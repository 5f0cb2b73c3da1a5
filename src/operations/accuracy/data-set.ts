import type { Lookup } from '../../lookup/lookup.ts'
import { type Address, parseAddress } from '../../pipeline/event/address.ts'
import { NO_DATA_SET } from './quality.ts'
import type { TruthGroup } from './truth.ts'

/** The data set that gave the name of a lookup, of the company or else of the AS; undefined for none. */
export function nameProviderOf({ provenance }: Pick<Lookup, 'provenance'>): string | undefined {
  const { business_name, org_name, domain, as_name } = provenance
  return (business_name ?? org_name ?? domain ?? as_name)?.provider
}

/**
 * Finds the data set that named the company of events. Rows do not hold it, so the addresses are looked up again.
 * @param lookup by today's data and the rules of the tenant
 */
export function dataSetBy(
  lookup: (address: Address) => Lookup,
): (group: Pick<TruthGroup, 'place' | 'companyId'>) => string {
  let last: { readonly place: string; readonly found: Lookup | undefined } | undefined
  return ({ place, companyId }) => {
    if (last?.place !== place) {
      const address = parseAddress(place)
      last = { place, found: address && lookup(address) }
    }
    const { found } = last
    if (found === undefined) return NO_DATA_SET.masked
    if (found.noise || found.companyId !== companyId) return NO_DATA_SET.changed
    return nameProviderOf(found) ?? NO_DATA_SET.changed
  }
}
