import { setImmediate } from 'node:timers/promises'
import { type Address, parseAddress } from '../../pipeline/event/address.ts'
import type { Enrichment } from '../../pipeline/event/enrichment.ts'
import type { Random } from '../../run/random.ts'

/** A visitor of the demo: an organisation, or a noise network, and some of its addresses. */
export interface DemoOrganisation {
  /** Undefined: a noise network. */
  readonly companyId: string | undefined
  readonly domain: string | undefined
  /** ISO 3166-1 alpha-2; undefined when unknown. */
  readonly country: string | undefined
  /** At least one, IPv4. */
  readonly addresses: readonly string[]
}

export interface DemoVisitors {
  readonly organisations: readonly DemoOrganisation[]
  readonly noise: readonly DemoOrganisation[]
}

/** Addresses that are tried at most; a try costs some microseconds. */
const TRIES_MAX = 400_000
const TRIES_AT_ONCE = 1_000
const ADDRESSES_MAX = 5
/** First bytes of addresses that are used in public. */
const [FIRST_BYTE, END_BYTE] = [1, 224]

/**
 * Draws addresses at random until enough organisations and noise networks are among them. After the last
 * try it returns those that it has found, which with less data are fewer. It yields to other work of the process.
 * @param enrich as the service would
 */
export async function findVisitors(
  random: Random,
  enrich: (address: Address) => Enrichment,
  wanted: { readonly organisations: number; readonly noise: number },
): Promise<DemoVisitors> {
  const organisations = new Map<string, DemoOrganisation>()
  const noise = new Map<string, DemoOrganisation>()
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    if (organisations.size >= wanted.organisations && noise.size >= wanted.noise) break
    if (tries % TRIES_AT_ONCE === 0) await setImmediate()
    const bytes = [random.between(FIRST_BYTE, END_BYTE), random.between(0, 256), random.between(0, 256)].map(Math.floor)
    const enrichment = enrich(parseAddress(`${bytes.join('.')}.${Math.floor(random.between(1, 255))}`)!)
    const { companyId } = enrichment
    if (companyId === '' || enrichment.classification === undefined) continue
    const [among, most] = enrichment.noise ? [noise, wanted.noise] : [organisations, wanted.organisations]
    if (among.size >= most || among.has(companyId)) continue
    const addresses = addressesOf(random, bytes, companyId, enrich)
    if (addresses.length === 0) continue
    const { domain, country_code } = enrichment.data
    among.set(companyId, {
      companyId: enrichment.noise ? undefined : companyId,
      domain: domain as string | undefined,
      country: country_code as string | undefined,
      addresses,
    })
  }
  return { organisations: [...organisations.values()], noise: [...noise.values()] }
}

/** Some addresses of a network of 256 that all belong to the organisation. */
function addressesOf(
  random: Random,
  network: readonly number[],
  companyId: string,
  enrich: (address: Address) => Enrichment,
): string[] {
  const count = 1 + Math.floor(random.next() ** 2 * ADDRESSES_MAX)
  const addresses = new Set<string>()
  for (let i = 0; i < count; i++) addresses.add(`${network.join('.')}.${Math.floor(random.between(1, 255))}`)
  return [...addresses].filter((address) => enrich(parseAddress(address)!).companyId === companyId)
}
