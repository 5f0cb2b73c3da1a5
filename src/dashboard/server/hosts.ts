import { isIP } from 'node:net'
import { isLoopbackHost } from '../../run/loopback.ts'

/**
 * Whether a `Host` header names this server. Refuses unknown names, against DNS rebinding. IP addresses are safe.
 * @param publicUrl public URL of the dashboard, if configured
 */
export function isOurHost(host: string, publicUrl: string | undefined): boolean {
  if (host === '') return false
  if (isLoopbackHost(host)) return true
  if (publicUrl !== undefined && new URL(publicUrl).host === host.toLowerCase()) return true
  const name = host.replace(/:\d+$/, '')
  return isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0
}

/** Whether an `Origin` header belongs to our pages. @param host the `Host` header of the same request */
export function isOurOrigin(origin: string, host: string, publicUrl: string | undefined): boolean {
  if (publicUrl !== undefined && new URL(publicUrl).origin === origin) return true
  return origin === `http://${host}` || origin === `https://${host}`
}
