import { type Address, parseAddress } from '../../pipeline/event/address.ts'
import { clientIn, forwardedFor, readAddress, readAddressBeforePort } from '../../pipeline/event/client-address.ts'
import type { ClientHeader, RequestHead } from './head.ts'
import type { TrustedProxies, TrustedProxy } from './trusted-proxies.ts'

/**
 * The address of the client that sent a request. Only a trusted proxy names another client than the other end of the connection:
 *
 * 1. The header that `TRUSTED_PROXIES` gives to the proxy, and no other. `cloudflare` gives CF-Connecting-IP.
 * 2. Otherwise `X-Forwarded-For`, if present, and then `Forwarded`: `pipeline/event/client-address.ts` says which entry.
 * 3. Otherwise the header that names one client: X-Real-IP, True-Client-IP, Fly-Client-IP, Fastly-Client-IP, CloudFront-Viewer-Address or
 *    CF-Connecting-IP. If several name different clients, none counts.
 *
 * The reason: a proxy passes on what it does not set, so a visitor can send every header that the proxy leaves alone, but cannot
 * remove the one that it sets. Most proxies append to `X-Forwarded-For`, where the visitor's own text stays on the left. A proxy that
 * sets only a header of 3. needs it in `TRUSTED_PROXIES`: otherwise a visitor who sends `X-Forwarded-For` has chosen the address.
 * @param peer the other end of the connection
 * @returns the peer when nothing names a client
 */
export function clientAddress(peer: string, head: RequestHead, trusted: TrustedProxies): string {
  const address = parseAddress(peer)
  const proxy = address && trusted.find(address)
  if (proxy === undefined) return peer
  return named(proxy, head, trusted)?.text ?? peer
}

function named(proxy: TrustedProxy, head: RequestHead, trusted: TrustedProxies): Address | undefined {
  const { header } = proxy
  const hasList = head.forwardedFor !== '' || head.forwarded !== ''
  if (header === 'x-forwarded-for' || (header === undefined && head.forwardedFor !== '')) {
    return clientIn(head.forwardedFor, trusted, proxy)
  }
  if (header === 'forwarded' || (header === undefined && hasList)) {
    return clientIn(forwardedFor(head.forwarded) ?? [], trusted, proxy)
  }
  return header === undefined ? onlyClient(head, trusted) : clientOf(head, header)
}

/** The client that all headers of one client agree on. A trusted proxy is no client: a second proxy sees the first one. */
function onlyClient(head: RequestHead, trusted: TrustedProxies): Address | undefined {
  let found: Address | undefined
  for (const header of Object.keys(head.clients ?? {}) as ClientHeader[]) {
    const client = clientOf(head, header)
    if (client === undefined || trusted.find(client) !== undefined) continue
    if (found !== undefined && found.text !== client.text) return undefined
    found = client
  }
  return found
}

function clientOf({ clients }: RequestHead, header: ClientHeader): Address | undefined {
  const written = clients?.[header]
  if (written === undefined) return undefined
  return header === 'cloudfront-viewer-address' ? readAddressBeforePort(written) : readAddress(written)
}
