import type { IncomingHttpHeaders } from 'node:http'
import { isLoopbackHost } from '../../run/loopback.ts'
import { Code, Exception } from './exception.ts'

/**
 * There is no password, so no web page may get in: neither one that a name of its own leads here, nor by a script, an
 * image, a form or a link. A page of this server and an address that somebody typed may.
 * @throws Exception
 */
export function refuseWebPages(headers: IncomingHttpHeaders): void {
  const { host, origin } = headers
  const site = headers['sec-fetch-site']
  const isOwn = origin === undefined || (host !== undefined && origin.toLowerCase() === `http://${host.toLowerCase()}`)
  const isDirect = site === undefined || site === 'none' || site === 'same-origin'
  if (isLoopbackHost(host) && isOwn && isDirect) return
  const message = 'The embedded ClickHouse answers only to localhost, and to no web page. (AUTHENTICATION_FAILED)'
  throw new Exception(Code.AuthenticationFailed, message)
}
