import { isIP } from 'node:net'
import { isLoopbackHost } from '../../run/loopback.ts'

/**
 * Whether a `Host` header names this server: a name that another site made lead here (DNS rebinding) does not. Addresses
 * cannot be made to lead elsewhere.
 * @param publicUrl where people reach it, if that was said
 */
export function isOurHost(host: string, publicUrl: string | undefined): boolean {
  if (host === '') return false
  if (isLoopbackHost(host)) return true
  if (publicUrl !== undefined && new URL(publicUrl).host === host.toLowerCase()) return true
  const name = host.replace(/:\d+$/, '')
  return isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0
}

/** Whether an `Origin` header is that of our pages. @param host the `Host` header of the same request */
export function isOurOrigin(origin: string, host: string, publicUrl: string | undefined): boolean {
  if (publicUrl !== undefined && new URL(publicUrl).origin === origin) return true
  return origin === `http://${host}` || origin === `https://${host}`
}
