import type { Config } from '../config/config.ts'
import { connectableHost } from '../http/engine/connectable-host.ts'

/** Base of the links in messages: DASHBOARD_URL, or the dashboard's address on this machine. Has no slash at the end. */
export function linkBaseOf({
  dashboardUrl,
  dashboardHost: host,
  dashboardPort: port,
}: Pick<Config, 'dashboardUrl' | 'dashboardHost' | 'dashboardPort'>): string {
  return dashboardUrl?.replace(/(?<!\/)\/+$/, '') ?? `http://${connectableHost(host)}:${port}`
}
