import { COMPANY_LIMITS } from '../../../schemas/companies.ts'
import type { CompanyAnswer, CompanyReason, CompanySource } from '../../../schemas/dashboard/company.ts'
import type { StoredCompany } from '../../companies/company.ts'
import { explain } from '../../lookup/explain.ts'
import type { Lookup, LookupService } from '../../lookup/lookup.ts'
import { parseAddress } from '../../pipeline/event/address.ts'

/** Skips reverse DNS, because a page must not wait for name servers. */
const FROM_DATA = { deny: ['rdns'] } as const

interface Looked {
  readonly events: number
  readonly lookup: Lookup
}

/** Combines the stored company with lookups of its addresses in today's data. */
export async function companyAnswer(stored: StoredCompany, lookups: LookupService): Promise<CompanyAnswer> {
  const { addresses, ...rest } = stored
  const looked: Looked[] = []
  for (const { ip, events } of addresses) {
    const address = parseAddress(ip)
    if (address !== undefined) looked.push({ events, lookup: await lookups.lookup(address, FROM_DATA) })
  }
  const networks = new Map<string, number>()
  const cities = new Map<string, number>()
  for (const { events, lookup } of looked) {
    const { network, city, country_code } = lookup.data
    add(networks, String(network ?? ''), events)
    add(cities, [city, country_code].filter((part) => part !== undefined).join(', '), events)
  }
  return {
    ...rest,
    networks: most(networks),
    cities: most(cities),
    located_events: looked.reduce((sum, { events }) => sum + events, 0),
    reason: looked[0] === undefined ? null : reasonOf(looked[0], rest.company.company_id, lookups.providerNames()),
    addresses: looked.length > 0 ? 'full' : addresses.some(({ ip }) => ip.includes('#')) ? 'masked' : 'none',
  }
}

function reasonOf({ lookup, events }: Looked, companyId: string, providers: readonly string[]): CompanyReason {
  const { attributes, rule, asked, answered } = explain(lookup, providers)
  return {
    ip: lookup.address,
    events,
    is_same: lookup.companyId === companyId,
    values: Object.entries(lookup.data).map(([attribute, value]) => {
      const source = attributes[attribute as keyof typeof attributes]
      const { provider = '', network = null, word = null, precision = null } = source ?? {}
      return { attribute, value: String(value), provider, network, word, precision }
    }),
    rule,
    asked: asked.filter((name) => name !== FROM_DATA.deny[0]),
    answered: [...answered],
  }
}

function add(sums: Map<string, number>, value: string, events: number): void {
  sums.set(value, (sums.get(value) ?? 0) + events)
}

function most(sums: ReadonlyMap<string, number>): CompanySource[] {
  return [...sums]
    .map(([value, events]) => ({ value, events }))
    .sort((a, b) => b.events - a.events)
    .slice(0, COMPANY_LIMITS.sources)
}
