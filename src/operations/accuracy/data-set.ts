import type { Lookup } from '../../lookup/lookup.ts'
import { type Address, parseAddress } from '../../pipeline/event/address.ts'
import { NO_DATA_SET } from './quality.ts'
import type { TruthGroup } from './truth.ts'

/**
 * Finds the data set that named the company of events. Rows do not hold it, so the addresses are looked up again.
 * @param lookup by today's data and the rules of the tenant
 */
export function dataSetBy(lookup: (address: Address) => Lookup): (group: TruthGroup) => string {
  let last: { readonly place: string; readonly found: Lookup | undefined } | undefined
  return ({ place, companyId }) => {
    if (last?.place !== place) {
      const address = parseAddress(place)
      last = { place, found: address && lookup(address) }
    }
    const { found } = last
    if (found === undefined) return NO_DATA_SET.masked
    if (found.noise || found.companyId !== companyId) return NO_DATA_SET.changed
    const { business_name, org_name, domain } = found.provenance
    return (business_name ?? org_name ?? domain)?.provider ?? NO_DATA_SET.changed
  }
}
