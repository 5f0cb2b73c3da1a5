import type { IncomingHttpHeaders } from 'node:http'
import { isLoopbackHost } from '../../run/loopback.ts'
import { Code, Exception } from './exception.ts'

/**
 * Refuses requests of foreign web pages, because there is no password. It covers DNS rebinding, scripts, images, forms and
 * links. Pages of this server and URLs typed by the user pass.
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
