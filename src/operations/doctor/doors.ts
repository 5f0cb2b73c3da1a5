import { SETTINGS } from '../../config/settings.ts'
import { isLoopbackHost } from '../../run/loopback.ts'
import { type Finding, findingsOf, type Subject } from './finding.ts'

/** Which ports are open to whom, and which other processes this one can reach. */
export function checkDoors({ config, roles }: Subject): Finding[] {
  const { risk, fine } = findingsOf('doors')
  const found: Finding[] = []
  const logos = fine(
    'the dashboard asks sites of companies for their logos, so they see this server; DASHBOARD_FAVICONS=off ends it',
  )
  if (roles.includes('ingress') && isOpen(config.host)) {
    found.push(
      risk(
        `HOST is ${config.host}: other machines reach the API, which has no TLS`,
        'API keys and events go over the network in clear.',
        'put a proxy with TLS in front and set HOST=127.0.0.1 and TRUSTED_PROXIES to its address; no harm if only that proxy reaches the port',
      ),
    )
  }
  if (roles.includes('dashboard')) found.push(...dashboardDoor(config))
  if (isOpen(config.adminHost)) {
    found.push(
      risk(
        `ADMIN_HOST is ${config.adminHost}: other machines reach GET /metrics`,
        'It asks for no key, and names no tenant but shows how much you do.',
        'unset ADMIN_HOST, or let only your Prometheus reach that port',
      ),
    )
  }
  const trusted = String(config.own.TRUSTED_PROXIES ?? '')
  if (/(?:^|[\s,])(?:0\.0\.0\.0|::)\/0/.test(trusted)) {
    const why = 'Any sender can claim any address, so visits get wrong organisations.'
    found.push(
      risk('TRUSTED_PROXIES trusts every address', why, 'set TRUSTED_PROXIES to the addresses of your proxies'),
    )
  }
  if (config.clickhouseUrl === undefined && roles.includes('sink') && config.clickhouseExternal === 'on') {
    const why = 'Every program on this machine can read files and reach servers through ClickHouse.'
    found.push(risk('CLICKHOUSE_EXTERNAL is on', why, 'unset CLICKHOUSE_EXTERNAL when you do not need it'))
  }
  if (config.webhookPrivate === 'on') {
    const why = 'A member can send alerts to servers inside your network.'
    found.push(risk('WEBHOOK_PRIVATE is on', why, 'unset WEBHOOK_PRIVATE when no alert goes there'))
  }
  if (config.smtpUrl !== undefined && !config.given.includes('smtpFrom')) {
    const seen = `SMTP_URL is set, and SMTP_FROM is ${SETTINGS.smtpFrom.default}`
    found.push({
      ...risk(seen, 'Most mail servers refuse this sender.', 'set SMTP_FROM to an address of your domain'),
      check: 'mail',
    })
  }
  if (found.length === 0) found.push(fine('only this machine reaches its ports'))
  return roles.includes('dashboard') && config.dashboardFavicons === 'on' ? [...found, logos] : found
}

function dashboardDoor({ dashboardHost, dashboardUrl }: Subject['config']): Finding[] {
  const { risk } = findingsOf('doors')
  const why = 'Links and cookies that sign people in go over the network in clear.'
  if (dashboardUrl !== undefined) {
    const { protocol, host } = new URL(dashboardUrl)
    if (protocol === 'https:' || isLoopbackHost(host)) return []
    return [risk(`DASHBOARD_URL is http://${host}`, why, `put TLS in front, and set DASHBOARD_URL=https://${host}`)]
  }
  if (!isOpen(dashboardHost)) return []
  const remedy = 'set DASHBOARD_HOST=127.0.0.1 and use ssh -L, or a proxy with TLS and DASHBOARD_URL=https://NAME'
  return [risk(`DASHBOARD_HOST is ${dashboardHost}, and DASHBOARD_URL is not set`, why, remedy)]
}

function isOpen(host: string): boolean {
  return !isLoopbackHost(host.includes(':') && !host.startsWith('[') ? `[${host}]` : host)
}
