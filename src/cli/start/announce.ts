import { shown } from '../../config/values.ts'
import type { DataDir } from '../../embedded/processes/data-dir.ts'
import { writePrivateFile } from '../../run/private-file.ts'
import { shellWord } from '../../run/shell-word.ts'
import type { Instance } from '../../terminal/instance.ts'
import { printLine } from '../../terminal/print.ts'
import type { DemoKey } from './demo-tenant.ts'

/** The facts that are known when everything runs. */
export interface Ready {
  readonly instance: Instance
  /** Set only at the start that created the key. */
  readonly created: DemoKey | undefined
  readonly metricsUrl: string
  /** A link that signs an operator in once. */
  readonly signIn: string | undefined
}

/** Private files with the secrets of a start; see `keepSecrets`. */
export interface SecretFiles {
  readonly apiKey?: string
  readonly signIn?: string
}

/**
 * Writes the secrets of a start into files that only this user may read. Without a terminal, standard output is a log (journald,
 * `docker logs`), which others read and which is kept.
 */
export function keepSecrets(dir: DataDir, { created, signIn }: Pick<Ready, 'created' | 'signIn'>): SecretFiles {
  if (created !== undefined) writePrivateFile(dir.firstKeyFile, `${created.api_key}\n`)
  if (signIn !== undefined) writePrivateFile(dir.signInFile, `${signIn}\n`)
  return {
    ...(created !== undefined && { apiKey: dir.firstKeyFile }),
    ...(signIn !== undefined && { signIn: dir.signInFile }),
  }
}

/** The JSON object of `--ready-file`, and of `--json`. @param files hold the secrets instead; undefined: the object has them */
export function readyObject({ instance, created, signIn, metricsUrl }: Ready, files?: SecretFiles): object {
  const { dashboard: _, clickhouse_url: own, analyst_url: analyst, redis_url: redis, ...addresses } = instance
  const clickhouse = analyst ?? own
  if (files === undefined) {
    const urls = { clickhouse_url: clickhouse, redis_url: redis }
    const secrets = { ...(signIn !== undefined && { dashboard_url: signIn }), ...created }
    return { ...addresses, ...urls, metrics_url: metricsUrl, ...secrets }
  }
  return {
    ...{ ...addresses, clickhouse_url: clickhouse && withoutPassword(clickhouse), redis_url: withoutPassword(redis) },
    metrics_url: metricsUrl,
    ...(files.signIn !== undefined && { dashboard_url_file: files.signIn }),
    ...(created !== undefined && { tenant_id: created.tenant_id, api_key_file: files.apiKey }),
  }
}

/** An address of a company that the starter data know. */
const EXAMPLE_IP = '17.253.144.10'

/**
 * Prints the addresses, the key, and lines to paste into a terminal.
 * @param files hold the secrets instead; undefined: prints them
 */
export function announce(out: NodeJS.WritableStream, ready: Ready, files?: SecretFiles): void {
  const { instance, created, metricsUrl, signIn } = ready
  const lines = ['', 'ipid is ready.', '']
  if (signIn !== undefined) {
    const [shown, note] =
      files === undefined
        ? [signIn, 'works once, for 10 minutes']
        : [instance.dashboard, `sign-in link, once and for 10 minutes: ${files.signIn}; a new one: ./ipid dashboard`]
    lines.push(`  Dashboard    ${shown}`, `               (${note})`)
  }
  if (instance.url !== undefined) lines.push(`  API          ${instance.url}`)
  if (created !== undefined) {
    const [shown, note] =
      files === undefined
        ? [created.api_key, 'shown only once']
        : [`in ${files.apiKey}`, 'written only once: move it to a safe place']
    lines.push(`  API key      ${shown}`, `               (tenant ${created.tenant_id}; ${note})`)
  }
  const { clickhouse_url: clickhouseUrl, analyst_url: analystUrl } = instance
  if (analystUrl !== undefined) {
    const [shown, note] =
      files === undefined
        ? [analystUrl, 'user analyst: reads all tables, and has tables of its own in the database workspace']
        : [withoutPassword(analystUrl), 'with its password: ./ipid sql --print-url']
    lines.push(`  ClickHouse   ${shown}`, `               (${note})`)
  } else if (clickhouseUrl !== '') lines.push(`  ClickHouse   ${withoutPassword(clickhouseUrl)}`)
  lines.push(`  Metrics      ${metricsUrl}`, '')
  if (instance.url !== undefined)
    lines.push('Send an event:', '', `  ${ingestLine(instance.url, created, files?.apiKey)}`, '')
  if (created === undefined && instance.url !== undefined) {
    lines.push('A new key:', '', '  ./ipid key create demo', '')
  }
  if (clickhouseUrl !== '') {
    const shownUrl = files === undefined ? analystUrl : undefined
    lines.push('See the accounts:', '', `  ${accountsLine(shownUrl)}`, '')
  }
  for (const line of lines) printLine(out, line)
}

/** @param keyFile holds the key; undefined: the line has it */
function ingestLine(url: string, created: DemoKey | undefined, keyFile: string | undefined): string {
  const key =
    created === undefined
      ? '"x-api-key: $IPID_API_KEY"'
      : keyFile === undefined
        ? `'x-api-key: ${created.api_key}'`
        : `"x-api-key: $(cat ${shellWord(keyFile)})"`
  return `curl -s ${url}/v1/ingest -H ${key} -H 'content-type: application/json' -d '{"events":[{"ip":"${EXAMPLE_IP}"}]}'`
}

/** @param url with the password; undefined: it is not shown */
function accountsLine(url: string | undefined): string {
  const statement = "'SELECT * FROM accounts FORMAT PrettyCompact'"
  if (url === undefined) return `./ipid sql ${statement}`
  return `curl -s '${url.replace(/\/$/, '')}/?database=ipid' -d ${statement}`
}

function withoutPassword(url: string): string {
  return JSON.parse(shown(url)) as string
}
