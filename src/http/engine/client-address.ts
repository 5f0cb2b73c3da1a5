import { BlockList } from 'node:net'
import { parseAddress } from '../../pipeline/event/address.ts'
import type { RequestHead } from './head.ts'

/** Proxies that are trusted to name a client's address. */
export interface TrustedProxies {
  includes(address: string): boolean
}

/**
 * @param networks addresses, and networks as `10.0.0.0/8`
 * @throws RangeError that names the invalid network
 */
export function trustedProxies(networks: readonly string[]): TrustedProxies {
  const list = new BlockList()
  for (const network of networks) {
    const [text = '', bits] = network.split('/')
    const address = parseAddress(text)
    const family = address?.v6 === undefined ? 'ipv4' : 'ipv6'
    const bitsMax = family === 'ipv4' ? 32 : 128
    const length = bits === undefined ? bitsMax : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN
    if (address === undefined || !(length <= bitsMax)) throw new RangeError(`${JSON.stringify(network)} is no network`)
    list.addSubnet(address.text, length, family)
  }
  return {
    includes(text) {
      const address = parseAddress(text)
      return address !== undefined && list.check(address.text, address.v6 === undefined ? 'ipv4' : 'ipv6')
    },
  }
}

/**
 * The address of the client that sent a request. A trusted proxy names the client: `X-Forwarded-For`, `Forwarded` (RFC
 * 7239) or `CF-Connecting-IP`. The first one present counts: proxies pass the other headers on as the client wrote them. In a list of
 * addresses, the last one that is no trusted proxy is the client, because the client can write the ones before it.
 * @param peer the other end of the connection
 */
export function clientAddress(peer: string, head: RequestHead, trusted: TrustedProxies): string {
  if (!trusted.includes(peer)) return peer
  const { cfConnectingIp, forwarded, forwardedFor } = head
  const chain = forwardedFor === '' ? forwarded.split(',').map(forOf) : forwardedFor.split(',')
  if (forwardedFor === '' && forwarded === '') return parseAddress(cfConnectingIp.trim())?.text ?? peer
  for (const entry of chain.reverse()) {
    const address = parseAddress(withoutPort(entry.trim()))
    // Nothing before an invalid entry can be trusted.
    if (address === undefined) return peer
    if (!trusted.includes(address.text)) return address.text
  }
  return peer
}

/** The `for` of an element of `Forwarded`: `for="[2001:db8::1]:443";proto=https`. */
function forOf(element: string): string {
  const pair = element.split(';').find((part) => /^\s*for=/i.test(part))
  return pair === undefined ? '' : pair.slice(pair.indexOf('=') + 1).replaceAll('"', '')
}

/** Some proxies add the port of the client: `192.0.2.1:5678`, `[2001:db8::1]:443`. */
function withoutPort(entry: string): string {
  return /^(?:\[([^\]]+)\]|([\d.]+))(?::\d{1,5})?$/.exec(entry)?.slice(1).find(Boolean) ?? entry
}
