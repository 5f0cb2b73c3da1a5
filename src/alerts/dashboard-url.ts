import type { Config } from '../config/config.ts'

/** Base of the URLs of pages, for links in messages: DASHBOARD_URL, or the address on this machine. */
export function dashboardUrlOf({
  dashboardUrl,
  dashboardHost: host,
  dashboardPort: port,
}: Pick<Config, 'dashboardUrl' | 'dashboardHost' | 'dashboardPort'>): string {
  if (dashboardUrl !== undefined) return dashboardUrl.replace(/(?<!\/)\/+$/, '')
  const isAny = host === '0.0.0.0' || host === '::'
  return `http://${isAny ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host}:${port}`
}
