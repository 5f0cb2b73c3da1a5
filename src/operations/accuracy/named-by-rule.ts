import { judgedAddress } from '../../enrichment/addresses/judged.ts'
import { type AddressRange, prefixRange } from '../../enrichment/addresses/network.ts'
import type { RuleSet } from '../../enrichment/tenant-rules/rule-set.ts'
import { parseAddress } from '../../pipeline/event/address.ts'
import type { TruthGroup } from './truth.ts'

/**
 * Tells whether a rule `is` may have named the company of events: then they say nothing about the data. `ipid learn` makes these rules
 * of known domains, so their events would always be right.
 * @param rules of the tenant; undefined for none
 */
export function namedByRule(rules: RuleSet | undefined): (group: Pick<TruthGroup, 'place' | 'companyId'>) => boolean {
  return ({ place, companyId }) => {
    const networks = rules?.networksOf(companyId) ?? []
    if (networks.length === 0) return false
    // The tenant stores no addresses.
    if (place.startsWith('#')) return true
    const ranges = rangesOf(place)
    // The AS of these events is not known here.
    return networks.some((network) => typeof network === 'number' || ranges.some((range) => overlap(network, range)))
  }
}

/** A truncated IPv6 address keeps only the /24 of its IPv4 address. */
const EMBEDDED_BITS_KEPT = 24

/** An IPv6 address that contains an IPv4 address has the rules of both. */
function rangesOf(place: string): AddressRange[] {
  const [text = '', length] = place.split('/')
  const address = parseAddress(text)
  if (address === undefined) return []
  const own = prefixRange(address, Number(length ?? (address.v6 === undefined ? 32 : 128)))
  const embedded = judgedAddress(address)
  return embedded === address ? [own] : [own, prefixRange(embedded, length === undefined ? 32 : EMBEDDED_BITS_KEPT)]
}

function overlap(a: AddressRange, b: AddressRange): boolean {
  return a.version === b.version && a.first <= b.last && b.first <= a.last
}
