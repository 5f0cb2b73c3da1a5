import { shown } from '../../config/values.ts'
import type { Instance } from '../../terminal/instance.ts'
import { printLine } from '../../terminal/print.ts'
import type { DemoKey } from './demo-tenant.ts'

/** The facts to print when everything runs. */
export interface Ready {
  readonly instance: Instance
  /** Set only at the start that created the key. */
  readonly created: DemoKey | undefined
  readonly metricsUrl: string
  /** A link that signs an operator in once. */
  readonly signIn: string | undefined
}

/** An address of a company that the starter data know. */
const EXAMPLE_IP = '17.253.144.10'

/** Prints the addresses, the key, and lines to paste into a terminal. */
export function announce(out: NodeJS.WritableStream, { instance, created, metricsUrl, signIn }: Ready): void {
  const lines = ['', 'ipid is ready.', '']
  if (signIn !== undefined) lines.push(`  Dashboard    ${signIn}`, '               (works once, for 10 minutes)')
  if (instance.url !== undefined) lines.push(`  API          ${instance.url}`)
  if (created !== undefined) {
    lines.push(`  API key      ${created.api_key}`, `               (tenant ${created.tenant_id}; shown only once)`)
  }
  if (instance.clickhouse_url !== '') lines.push(`  ClickHouse   ${withoutPassword(instance.clickhouse_url)}`)
  lines.push(`  Metrics      ${metricsUrl}`, '')
  if (instance.url !== undefined) lines.push('Send an event:', '', `  ${ingestLine(instance.url, created)}`, '')
  if (created === undefined && instance.url !== undefined) {
    lines.push('A new key:', '', '  ./ipid key create demo', '')
  }
  if (instance.clickhouse_url !== '') {
    lines.push('See the accounts:', '', `  ${accountsLine(instance.clickhouse_url)}`, '')
  }
  for (const line of lines) printLine(out, line)
}

function ingestLine(url: string, created: DemoKey | undefined): string {
  const key = created === undefined ? '"x-api-key: $IPID_API_KEY"' : `'x-api-key: ${created.api_key}'`
  return `curl -s ${url}/v1/ingest -H ${key} -H 'content-type: application/json' -d '{"events":[{"ip":"${EXAMPLE_IP}"}]}'`
}

function accountsLine(url: string): string {
  return `curl -s '${withoutPassword(url).replace(/\/$/, '')}/?database=ipid' -d 'SELECT * FROM accounts FORMAT PrettyCompact'`
}

function withoutPassword(url: string): string {
  return JSON.parse(shown(url)) as string
}
