import { setting } from '../../config/setting.ts'
import type { Address } from '../../pipeline/event/address.ts'
import type { Proxies, ProxyHop } from '../../pipeline/event/client-address.ts'
import { NetworkSet } from '../../pipeline/event/network-set.ts'
import { InputError } from '../../run/errors.ts'
import { CLIENT_HEADERS, type ClientHeader } from './head.ts'
import { PUBLISHED_PROXIES, UNPUBLISHED_PROXIES } from './published-proxies.ts'

/** A proxy that is trusted to name the client of a request. */
export interface TrustedProxy extends ProxyHop {
  /** The only header that counts from this proxy; undefined: see `clientAddress`. */
  readonly header?: ClientHeader | undefined
}

/** Proxies that are trusted to name a client's address. */
export interface TrustedProxies extends Proxies {
  find(address: Address): TrustedProxy | undefined
}

/**
 * @param entries addresses, networks as `10.0.0.0/8`, and names of `PUBLISHED_PROXIES`; each perhaps with the header that the proxy sets:
 * `10.0.0.0/8=x-real-ip`. An entry with a header or a name goes before one without.
 * @throws RangeError that names the wrong entry, and says what to write in its place
 */
export function trustedProxies(entries: readonly string[]): TrustedProxies {
  const groups: { readonly proxy: TrustedProxy; readonly list: NetworkSet }[] = []
  const plain = new NetworkSet()
  for (const entry of entries) {
    const [place = '', header] = entry.split(/=(.*)/)
    const published = PUBLISHED_PROXIES[place.toLowerCase()]
    const list = published === undefined && header === undefined ? plain : new NetworkSet()
    for (const network of published?.networks ?? [place]) {
      if (!list.add(network)) throw new RangeError(whyNot(network))
    }
    if (list === plain) continue
    const { ownEntries = 0, hasClients = false } = published ?? {}
    groups.push({ proxy: { ownEntries, hasClients, header: headerOf(header) ?? published?.header }, list })
  }
  groups.push({ proxy: {}, list: plain })
  return { find: (address) => groups.find(({ list }) => list.has(address))?.proxy }
}

function whyNot(network: string): string {
  const reason = UNPUBLISHED_PROXIES[network.toLowerCase()]
  return reason ?? `${JSON.stringify(network)} is no network, and none of ${Object.keys(PUBLISHED_PROXIES).join(', ')}`
}

function headerOf(text: string | undefined): ClientHeader | undefined {
  if (text === undefined) return undefined
  const header = CLIENT_HEADERS.find((name) => name === text.toLowerCase())
  if (header !== undefined) return header
  throw new RangeError(`${JSON.stringify(text)} is no header with a client: write one of ${CLIENT_HEADERS.join(', ')}`)
}

/** The setting `TRUSTED_PROXIES`. Its value is text, because settings go to other processes. */
export const trustedProxiesSetting = setting(
  'TRUSTED_PROXIES',
  'networks',
  '127.0.0.0/8,::1/128',
  `proxies that are trusted to name the client of a request, separated by commas: networks, and ${Object.keys(PUBLISHED_PROXIES).join(', ')}; each perhaps with the header that it sets, as in 10.0.0.0/8=x-real-ip`,
  (value): readonly string[] => {
    const entries = value.split(',').map((entry) => entry.trim())
    try {
      trustedProxies(entries)
      return entries
    } catch (error) {
      throw new InputError(`must be networks such as 10.0.0.0/8, separated by commas: ${(error as Error).message}`)
    }
  },
)
