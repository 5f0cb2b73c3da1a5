import type { LookupAddress } from 'node:dns'
import { once } from 'node:events'
import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'

interface RequestOptions {
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string | number>>
  /** Default: none. */
  readonly body?: string
  /** Addresses of the host, of `Destinations.addressesOf`: the connection goes to one of these. */
  readonly addresses: readonly LookupAddress[]
  /** Ends the request, also while the answer is read. */
  readonly signal: AbortSignal
}

/**
 * Sends a request on a connection of its own, and follows no redirect. The connection ends with `read`.
 * @param read reads as much of the answer as it needs
 */
export async function requestAt<T>(
  url: URL,
  { method, headers, body, addresses, signal }: RequestOptions,
  read: (response: IncomingMessage) => Promise<T>,
): Promise<T> {
  const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
    method,
    headers,
    agent: false,
    signal,
    lookup: (_host, { all }, found) => {
      const [first] = addresses
      if (all) found(null, [...addresses])
      else found(null, first!.address, first!.family)
    },
  })
  // May also come after the answer has begun.
  request.on('error', () => {})
  try {
    const answered = once(request, 'response', { signal })
    request.end(body)
    const [response] = (await answered) as [IncomingMessage]
    return await read(response)
  } finally {
    request.destroy()
  }
}
