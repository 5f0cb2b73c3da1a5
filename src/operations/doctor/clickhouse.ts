import type { ClickHouseClient } from '@clickhouse/client'
import type { Config } from '../../config/config.ts'
import { DATABASE } from '../../stores/clickhouse/client.ts'
import { assertFormOfTables, read, shardsOf } from '../../stores/clickhouse/cluster.ts'
import { localOf } from '../../stores/clickhouse/cluster-form.ts'
import { missingTable } from '../../stores/clickhouse/failures.ts'
import { lastMigration } from '../../stores/clickhouse/migrate.ts'
import { quote } from '../../stores/clickhouse/quote.ts'
import { type Migration, readMigrations } from '../../stores/clickhouse/schema.ts'
import { EVENTS, OUTCOMES } from '../../stores/clickhouse/tables.ts'
import { clickhouseStatus } from '../status/role/sources.ts'
import { bytesText } from '../status/words.ts'
import { ANSWER_MS, type Finding, findingsOf } from './finding.ts'
import { named, userOf } from './refusals.ts'
import { problemOf, SkippedError } from './run-checks.ts'

export interface ClickHouseSubject {
  readonly client: ClickHouseClient
  /** Uses the database `ipid`, which may not exist. */
  readonly ofDatabase: ClickHouseClient
  readonly url: string
  readonly config: Config
  /** Whether an instance uses it now. */
  readonly isRunning: boolean
}

/** Version, migrations and missing tables. */
export async function checkClickHouse({ ofDatabase, url, config, isRunning }: ClickHouseSubject): Promise<Finding[]> {
  const { fine } = findingsOf('clickhouse')
  const [{ version, missing_tables: missing }, last, migrations] = await Promise.all([
    clickhouseStatus(url, ANSWER_MS),
    // Without the table, nothing has been applied.
    lastMigration(ofDatabase, config.clickhouseCluster).catch((error) => {
      if (missingTable(error) === undefined) throw error
      return undefined
    }),
    readMigrations(),
  ])
  return [fine(`ClickHouse ${version} answers`), ...schemaOf(last, migrations, missing, isRunning)]
}

function schemaOf(
  last: { readonly name: string; readonly version: string } | undefined,
  migrations: readonly Migration[],
  missing: readonly string[],
  isRunning: boolean,
): Finding[] {
  const { problem, risk, fine } = findingsOf('clickhouse-schema')
  const newest = migrations.at(-1)!.name
  if (last === undefined) {
    const seen = `the database ${DATABASE} has no tables yet`
    if (!isRunning) return [fine(`${seen}; the first start makes them`)]
    return [
      problem(seen, 'Events wait in Redis until they are there.', 'see the log of the process with the role sink'),
    ]
  }
  if (!migrations.some(({ name }) => name === last.name)) {
    const by = last.version === '' ? 'a later ipid' : `ipid ${last.version}`
    return [
      problem(
        `the migration ${last.name} is of ${by}`,
        'This version could damage the newer data, so it does not start.',
        `use ${by === 'a later ipid' ? 'the later version' : `${by} or later`}`,
      ),
    ]
  }
  if (last.name !== newest) {
    const seen = `the last migration is ${last.name}, and this version brings ${newest}`
    if (!isRunning) return [fine(`${seen}; the next start applies it`)]
    return [risk(seen, 'New columns and views are missing until then.', 'restart ipid in this version')]
  }
  if (missing.length > 0) {
    const remedy = 'restart ipid, which makes them again; ./ipid replay restores their rows from the archive'
    return [problem(`it lacks ${missing.join(', ')}`, 'Inserts or pages that need them fail.', remedy)]
  }
  return [fine(`migration ${newest}, the last of this version`)]
}

/** Rights that ipid uses on its database, in the order of the work that needs them. */
const RIGHTS = [
  'SELECT',
  'INSERT',
  'ALTER',
  'CREATE TABLE',
  'CREATE VIEW',
  'DROP TABLE',
  'DROP VIEW',
  'TRUNCATE',
] as const

/** Rights of the user. The user of the embedded ClickHouse has them all. */
export async function checkClickHouseRights({ client, url, config }: ClickHouseSubject): Promise<Finding[]> {
  if (config.clickhouseUrl === undefined)
    throw new SkippedError('the embedded ClickHouse gives its own user the rights')
  const { problem, fine } = findingsOf('clickhouse-rights')
  const rights = config.clickhouseCluster === undefined ? (['CREATE DATABASE', ...RIGHTS] as const) : RIGHTS
  const granted = await Promise.all(rights.map((right) => isGranted(client, right)))
  if (granted.includes(undefined)) return [fine('this server does not say which rights the user has')]
  const lacking = rights.filter((_, i) => granted[i] === false)
  if (lacking.length === 0) return [fine(`the user may do everything in ${DATABASE}`)]
  const user = userOf(url)
  return [
    problem(
      `the user ${user} lacks ${lacking.join(', ')} on ${DATABASE}`,
      'ipid makes its tables and views, inserts, and removes erased and expired rows.',
      `GRANT ${lacking.join(', ')} ON ${DATABASE}.* TO ${named(user)}`,
    ),
  ]
}

/** Undefined: ClickHouse before 24.10 cannot answer it. */
async function isGranted(client: ClickHouseClient, right: string): Promise<boolean | undefined> {
  try {
    const result = await client.query({ query: `CHECK GRANT ${right} ON ${DATABASE}.*`, format: 'TabSeparated' })
    return (await result.text()).trim() === '1'
  } catch {
    return undefined
  }
}

/** Settings that the sink sends with each insert, and the values without which a repeat could be stored twice. */
const INSERT_SETTINGS: Readonly<Record<string, string>> = {
  async_insert: '0',
  insert_deduplicate: '1',
  input_format_parallel_parsing: '0',
  max_insert_block_size: '10000000',
  min_insert_block_size_rows: '10000000',
  min_insert_block_size_bytes: '1073741824',
  max_insert_threads: '1',
}

/** The basis of exactly once: tokens that the tables remember, and settings that an insert may choose. */
export async function checkExactlyOnce({ client, config }: ClickHouseSubject): Promise<Finding[]> {
  const { problem, fine } = findingsOf('exactly-once')
  const found: Finding[] = []
  try {
    await assertFormOfTables(client, config.clickhouseCluster)
    if (config.clickhouseCluster !== undefined) await shardsOf(client, config.clickhouseCluster)
  } catch (error) {
    found.push(problemOf('clickhouse-schema', error as Error, 'The sink changes nothing, and events wait in Redis.'))
  }
  const names = [EVENTS, OUTCOMES].flatMap(({ name }) => [name, localOf(name)])
  const tables = await read<[string, string, string]>(
    client,
    `SELECT name, engine, engine_full FROM system.tables WHERE database = ${quote(DATABASE)} AND name IN (${names.map(quote).join()})`,
  )
  for (const [name, engine, definition] of tables) {
    if (engine === 'Distributed') continue
    const isReplicated = /^(?:Replicated|Shared)/.test(engine)
    const setting = `${isReplicated ? '' : 'non_'}replicated_deduplication_window`
    const window = WINDOW.exec(definition)?.[1]
    // Without a value, replicated tables remember tokens and others do not.
    if (window === undefined ? isReplicated : window !== '0') continue
    found.push(
      problem(
        `the table ${name} remembers no tokens of inserts (${setting} is 0)`,
        'After a crash the sink repeats an insert, and its events are stored twice.',
        `ALTER TABLE ${DATABASE}.${name} MODIFY SETTING ${setting} = ${TOKENS}`,
      ),
    )
  }
  found.push(...(await fixedSettings(client)))
  return found.length > 0 ? found : [fine('inserts carry tokens, which the tables remember')]
}

const WINDOW = /\b(?:non_)?replicated_deduplication_window = (\d+)/
/** As in schemas/clickhouse/tables/events.sql. */
const TOKENS = 10_000

/** Settings that the user's profile fixes to other values, so that ClickHouse refuses an insert which sets them. */
async function fixedSettings(client: ClickHouseClient): Promise<Finding[]> {
  const { problem } = findingsOf('exactly-once')
  const names = ['readonly', 'insert_deduplication_token', ...Object.keys(INSERT_SETTINGS)]
  const rows = await read<[string, string, number | boolean, string | null, string | null]>(
    client,
    `SELECT name, value, readonly, min, max FROM system.settings WHERE name IN (${names.map(quote).join()})`,
  )
  const why = 'ClickHouse refuses every insert, and events wait in Redis.'
  return rows.flatMap(([name, value, isFixed, min, max]) => {
    if (name === 'readonly') {
      if (value === '0') return []
      return [problem(`the user's profile has readonly = ${value}`, why, 'give the user a profile with readonly = 0')]
    }
    const wanted = INSERT_SETTINGS[name]
    const isOutside =
      wanted !== undefined &&
      ((min !== null && Number(wanted) < Number(min)) || (max !== null && Number(wanted) > Number(max)))
    if (!isOutside && (!isFixed || value === wanted)) return []
    const seen = `the user's profile does not let an insert set ${name}${wanted === undefined ? '' : ` to ${wanted}`}`
    return [problem(seen, why, `remove the constraint of ${name} from the user's profile`)]
  })
}

/** A merge copies its parts, so ClickHouse needs more than the next insert takes. */
const FREE_SHARE_WISE = 0.1

/** The disks of the tables, and whether an insert waits for them. */
export async function checkClickHouseDisk({ client, config }: ClickHouseSubject): Promise<Finding[]> {
  const { problem, risk, fine } = findingsOf('clickhouse-disk')
  const disks = await read<[string, number, number, number]>(
    client,
    `SELECT name, free_space, total_space, keep_free_space FROM system.disks WHERE name IN (
       SELECT arrayJoin(disks) FROM system.storage_policies WHERE policy_name IN (
         SELECT storage_policy FROM system.tables WHERE database = ${quote(DATABASE)} AND storage_policy != ''))`,
  )
  const found = disks.flatMap(([name, free, total, kept]) => {
    const seen = `${bytesText(free)} of ${bytesText(total)} are free on the disk ${name}`
    const remedy = 'free space there, shorten RETENTION_DAYS, or add a disk to its storage policy'
    if (free <= kept) return [problem(seen, 'ClickHouse refuses inserts, and events wait in Redis.', remedy)]
    if (free < total * FREE_SHARE_WISE)
      return [risk(seen, 'Large merges need that much, and inserts stop when it is full.', remedy)]
    return [fine(seen)]
  })
  return [...found, ...(await syncOf(client, config))]
}

async function syncOf(client: ClickHouseClient, { clickhouseUrl, clickhouseCluster }: Config): Promise<Finding[]> {
  // Replicas fetch lost rows from one another. The embedded engine is not asked: its remedy is an archive.
  if (clickhouseUrl === undefined || clickhouseCluster !== undefined) return []
  const rows = await read<[string]>(
    client,
    `SELECT engine_full FROM system.tables WHERE database = ${quote(DATABASE)} AND name = ${quote(EVENTS.name)}`,
  )
  const [general] = await read<[string]>(
    client,
    "SELECT value FROM system.merge_tree_settings WHERE name = 'fsync_after_insert'",
  )
  const own = /\bfsync_after_insert = (\w+)/.exec(rows[0]?.[0] ?? '')?.[1]
  if (rows.length === 0 || /^(?:1|true)$/.test(own ?? general?.[0] ?? '0')) return []
  const { risk } = findingsOf('clickhouse-disk')
  return [
    risk(
      `the table ${EVENTS.name} does not wait for the disk (fsync_after_insert is 0)`,
      'A power failure of its machine may lose rows of the last seconds.',
      `ALTER TABLE ${DATABASE}.${EVENTS.name} MODIFY SETTING fsync_after_insert = 1, and the same for ${OUTCOMES.name}`,
    ),
  ]
}
