import { Command } from 'commander'
import { ARCHIVE_FORM, BACKUP_FORMAT, ENVELOPE_FORM, REDIS_FORM } from '../../schemas/forms.ts'
import type { Config } from '../config/config.ts'
import { version } from '../config/version.ts'
import { migrationNames } from '../stores/clickhouse/schema.ts'
import type { CliContext } from '../terminal/context.ts'
import { printJson, printLine, printPairs, printTable } from '../terminal/print.ts'
import { addSettings, configOf, INSTANCE_SETTINGS } from '../terminal/settings-options.ts'

/** A form of stored data: which numbers this version reads, and which it writes. */
interface Form {
  readonly data: 'clickhouse' | 'redis' | 'events' | 'archive' | 'backup'
  /** The earliest and the latest form that this version reads. */
  readonly reads: readonly [number, number]
  readonly writes: number
  /** The stored form; absent when the instance keeps no number, or is not known. */
  readonly stored?: StoredNumber
}

interface StoredNumber {
  readonly form: number
  /** The ipid version that raised it; absent: version 0.1.0 or unknown. */
  readonly by?: string
}

/** `ipid version`: versions of the program and its platform, and the forms of data that it reads and writes. */
export function versionCommand(context: CliContext): Command {
  const command = new Command('version').option('--json', 'print JSON')
  return addSettings(command, [...INSTANCE_SETTINGS, 'httpEngine', 'httpIdleSeconds', 'clickhouseCluster']).action(
    async ({ json }: { json?: boolean }) => {
      const config = configOf(context, command)
      const { chooseEngine } = await import('../http/engine/choose.ts')
      const engine = await chooseEngine(config.httpEngine, config.httpIdleSeconds !== undefined)
      const { forms, unknown } = await formsOf(config)
      const { name, version: engineVersion, note } = engine
      if (json === true) {
        printJson(context.stdout, {
          ipid: version(),
          node: process.versions.node,
          http_engine: { name, ...(engineVersion && { version: engineVersion }), ...(note && { note }) },
          forms: Object.fromEntries(forms.map(({ data, ...form }) => [data, form])),
          ...(unknown.length > 0 && { unknown }),
        })
        return
      }
      printPairs(context.stdout, [
        ['ipid', version()],
        ['Node.js', process.versions.node],
        ['HTTP engine', engineVersion === undefined ? name : `${name} ${engineVersion}`],
      ])
      printLine(context.stdout, '')
      const rows = forms.map(({ data, reads: [from, to], writes, stored }) => [
        data,
        from === to ? from : `${from} to ${to}`,
        writes,
        stored?.form,
        stored?.by,
      ])
      printTable(context.stdout, ['FORM OF', 'READS', 'WRITES', 'STORED', 'BY'], rows)
      for (const reason of unknown) printLine(context.stderr, `ipid: ${reason}`)
    },
  )
}

async function formsOf(config: Config): Promise<{ readonly forms: Form[]; readonly unknown: string[] }> {
  const schema = Math.max(...(await migrationNames()).map(migrationNumber))
  const unknown: string[] = []
  const known = async <T>(read: () => Promise<T>) =>
    read().catch((error: Error) => {
      if (!unknown.includes(error.message)) unknown.push(error.message)
      return undefined
    })
  const [redis, clickhouse] = await Promise.all([
    known(() => storedInRedis(config)),
    known(() => storedInClickHouse(config)),
  ])
  const forms: Form[] = [
    { data: 'clickhouse', reads: [1, schema], writes: schema, ...(clickhouse && { stored: clickhouse }) },
    { data: 'redis', reads: [1, REDIS_FORM], writes: REDIS_FORM, ...(redis && { stored: redis }) },
    { data: 'events', reads: [1, ENVELOPE_FORM], writes: ENVELOPE_FORM },
    { data: 'archive', reads: [1, ARCHIVE_FORM], writes: ARCHIVE_FORM },
    { data: 'backup', reads: [BACKUP_FORMAT, BACKUP_FORMAT], writes: BACKUP_FORMAT },
  ]
  return { forms, unknown }
}

/** `0016_heat` → 16. */
function migrationNumber(name: string): number {
  return Number.parseInt(name, 10)
}

const ANSWER_MS = 5_000

/** Connects by itself, because other commands refuse data of a later version. */
async function storedInRedis(config: Config): Promise<StoredNumber | undefined> {
  const { redisUrlOf } = await import('../terminal/instance.ts')
  const url = await redisUrlOf(config)
  const [{ connectRedis }, { storedForm }, { readyWithin }] = await Promise.all([
    import('../stores/redis/connect.ts'),
    import('../stores/redis/data-form.ts'),
    import('../terminal/stores.ts'),
  ])
  const client = connectRedis(url, { name: 'cli', kind: 'request', timeoutMs: ANSWER_MS })
  try {
    await readyWithin(client, url, ANSWER_MS)
    const stored = await storedForm(client)
    return stored && { form: stored.form, ...(stored.version !== '' && { by: stored.version }) }
  } finally {
    client.disconnect()
  }
}

async function storedInClickHouse(config: Config): Promise<StoredNumber | undefined> {
  const { clickhouseUrlOf } = await import('../terminal/instance.ts')
  const url = await clickhouseUrlOf(config)
  const [{ connectClickHouse, DATABASE }, { lastMigration }] = await Promise.all([
    import('../stores/clickhouse/client.ts'),
    import('../stores/clickhouse/migrate.ts'),
  ])
  const client = connectClickHouse(url, {
    application: 'version',
    database: DATABASE,
    requestTimeoutMs: ANSWER_MS,
    connectionsMax: 1,
  })
  try {
    const last = await lastMigration(client, config.clickhouseCluster)
    return last && { form: migrationNumber(last.name), ...(last.version !== '' && { by: last.version }) }
  } finally {
    await client.close()
  }
}
