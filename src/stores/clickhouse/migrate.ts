import type { ClickHouseClient } from '@clickhouse/client'
import type { Logger } from 'pino'
import { version } from '../../config/version.ts'
import { NewerDataError } from '../../run/errors.ts'
import { connectClickHouse, DATABASE } from './client.ts'
import { assertFormOfTables, read, SOME_MAY_BE_AWAY, shardsOf } from './cluster.ts'
import { clusterStatements, createDatabaseOn, everyReplica } from './cluster-form.ts'
import { type Migration, readMigrations } from './migrations.ts'
import { quote, quoteName } from './quote.ts'

/** Which migrations to apply, and for which form of tables. */
interface MigrateOptions {
  /** Only these; undefined: all. */
  readonly only?: readonly string[] | undefined
  /** The cluster of replicated tables; undefined: the tables of one server. */
  readonly cluster?: string | undefined
}

/**
 * Brings the schema up to date: applies missing migrations in order, and recreates missing tables and views. Every
 * statement can be repeated, so two processes may run it at once, and the next run completes one that was killed.
 * @param url as for `connectClickHouse`
 * @throws NewerDataError when a later version has changed the schema; StartupError when tables have the other form, or ClickHouse
 * does not know the cluster
 */
export async function migrate(url: string, log: Logger, { only, cluster }: MigrateOptions = {}): Promise<void> {
  await createDatabase(url, cluster)
  const client = connect(url, cluster, DATABASE)
  try {
    if (cluster === undefined) await client.command({ query: MIGRATIONS_TABLE })
    const applied = await appliedMigrations(client, cluster)
    const migrations = await readMigrations()
    await assertKnown(client, [...applied], migrations)
    await createMissing(
      client,
      migrations.filter(({ name }) => applied.has(name)),
      log,
      cluster,
    )
    const missing = migrations.filter(({ name }) => !applied.has(name) && only?.includes(name) !== false)
    if (missing.length > 0) await apply(client, VERSION_COLUMN, cluster)
    for (const migration of missing) {
      for (const statement of migration.statements) await apply(client, statement, cluster)
      await client.command({
        query: 'INSERT INTO migrations (name, ipid_version) SELECT {name:String}, {version:String}',
        query_params: { name: migration.name, version: version() },
      })
      log.info({ migration: migration.name }, 'applied a migration')
    }
  } finally {
    await client.close()
  }
}

/** Hosts of a cluster have two minutes for a statement. */
const ALL_HOSTS_MS = 150_000
const ALL_HOSTS = { distributed_ddl_task_timeout: '120' } as const

/** ClickHouse rewrites existing rows in the background: a start does not wait for it. */
const IN_BACKGROUND = { alter_sync: '0', mutations_sync: '0' } as const
/** A replica accepts a change only after it applied the last one. */
const IN_ORDER = { alter_sync: '2', mutations_sync: '0', ...ALL_HOSTS } as const

/** Creates missing tables and views again. Otherwise every insert and page would fail until an operator does so. */
async function createMissing(
  client: ClickHouseClient,
  applied: readonly Migration[],
  log: Logger,
  cluster: string | undefined,
): Promise<void> {
  const absent = await missingObjects(client, applied)
  if (absent.length === 0) return
  const detached = await attachDetached(client, absent, log)
  const missing = absent.filter((name) => !detached.has(name))
  if (missing.length === 0) return
  for (const statement of applied.flatMap(({ statements }) => statements)) {
    if (missing.includes(subjectOf(statement) ?? '')) await apply(client, statement, cluster)
  }
  const message = `ClickHouse lacked ${missing.join(', ')}: created again; the rows of a missing table are lost until they are replayed or restored`
  log.error({ missing }, message)
}

/**
 * Attaches tables and views that were detached. They keep their rows, and CREATE TABLE IF NOT EXISTS skips them without an
 * error.
 * @returns their names
 */
async function attachDetached(
  client: ClickHouseClient,
  names: readonly string[],
  log: Logger,
): Promise<ReadonlySet<string>> {
  // Older servers have no such list.
  const list = "SELECT 1 FROM system.tables WHERE database = 'system' AND name = 'detached_tables'"
  if ((await read(client, list)).length === 0) return new Set()
  const query = `SELECT table FROM system.detached_tables WHERE database = '${DATABASE}'`
  const found = (await read<[string]>(client, query)).flatMap(([name]) => (names.includes(name) ? [name] : []))
  for (const name of found) await client.command({ query: `ATTACH TABLE IF NOT EXISTS ${quoteName(name)}` })
  if (found.length > 0)
    log.warn({ detached: found }, `${found.join(', ')} of ClickHouse had been detached: attached again`)
  return new Set(found)
}

/**
 * Tables and views of migrations that do not exist.
 * @param client of any database
 */
export async function missingObjects(client: ClickHouseClient, migrations: readonly Migration[]): Promise<string[]> {
  const result = await client.query({
    query: `SELECT name FROM system.tables WHERE database = '${DATABASE}'`,
    format: 'JSONCompactEachRow',
    clickhouse_settings: { log_queries: 0 },
  })
  const existing = new Set((await result.json<[string]>()).map(([name]) => name))
  const made = migrations.flatMap(({ statements }) => statements.flatMap((text) => subjectOf(text) ?? []))
  return [...new Set(made)].filter((name) => name !== MIGRATIONS && !existing.has(name))
}

const SUBJECT = /^(?:CREATE TABLE IF NOT EXISTS|CREATE OR REPLACE VIEW|CREATE VIEW IF NOT EXISTS|ALTER TABLE) (\w+)/

/** The table or view that a statement creates or changes. */
function subjectOf(statement: string): string | undefined {
  return SUBJECT.exec(statement.replace(/^[ \t]*--.*\n/gm, '').trim())?.[1]
}

/** The table that records applied migrations. */
export const MIGRATIONS = 'migrations'

const MIGRATIONS_TABLE = `
  CREATE TABLE IF NOT EXISTS migrations (name String, applied_at DateTime64(3, 'UTC') DEFAULT now64(3))
  ENGINE = MergeTree ORDER BY name`

/** Version 0.1.0 made the table without it. */
const VERSION_COLUMN = `
  ALTER TABLE ${MIGRATIONS} ADD COLUMN IF NOT EXISTS ipid_version String COMMENT 'Version of ipid that applied it; empty for 0.1.0'`

/** @throws NewerDataError when a migration was applied that this version does not have: it could damage what that one changed */
async function assertKnown(
  client: ClickHouseClient,
  applied: readonly string[],
  migrations: readonly Migration[],
): Promise<void> {
  const known = new Set(migrations.map(({ name }) => name))
  const unknown = applied.filter((name) => !known.has(name)).sort()
  if (unknown.length === 0) return
  const name = unknown.at(-1)!
  const by = await migratedBy(client, name)
  const later = by === '' ? 'a later version' : `ipid ${by} or later`
  throw new NewerDataError(
    `ClickHouse has the migration ${name} of ${by === '' ? 'a later ipid' : `ipid ${by}`}, which ipid ${version()} does not know: use ${later}. To go back to ${version()}, restore a backup that it can read into a new DATA_DIR (or empty stores)`,
  )
}

/** The last applied migration, and the ipid that applied it (`''`: unknown). Undefined when there is none. */
export async function lastMigration(
  client: ClickHouseClient,
  cluster?: string,
): Promise<{ readonly name: string; readonly version: string } | undefined> {
  const name = [...(await appliedMigrations(client, cluster))].sort().at(-1)
  return name === undefined ? undefined : { name, version: await migratedBy(client, name) }
}

/** The ipid that applied a migration; `''`: unknown. */
async function migratedBy(client: ClickHouseClient, name: string): Promise<string> {
  const column = `SELECT 1 FROM system.columns WHERE database = '${DATABASE}' AND table = '${MIGRATIONS}' AND name = 'ipid_version'`
  if ((await read(client, column)).length === 0) return ''
  const query = `SELECT ipid_version FROM ${MIGRATIONS} WHERE name = ${quote(name)}`
  const [row] = await read<[string]>(client, query)
  return row?.[0] ?? ''
}

function connect(url: string, cluster: string | undefined, database?: string): ClickHouseClient {
  const waits = cluster === undefined ? {} : { requestTimeoutMs: ALL_HOSTS_MS }
  return connectClickHouse(url, { application: 'migrate', database, connectionsMax: 1, ...waits })
}

async function createDatabase(url: string, cluster: string | undefined): Promise<void> {
  const client = connect(url, cluster)
  try {
    await assertFormOfTables(client, cluster)
    if (cluster === undefined) await client.command({ query: `CREATE DATABASE IF NOT EXISTS ${DATABASE}` })
    else await createOnCluster(client, cluster)
  } finally {
    await client.close()
  }
}

/**
 * Creates the database and the table of migrations. Work on all hosts waits for all of them, so skip it when it is done: a
 * start must not need every host.
 */
async function createOnCluster(client: ClickHouseClient, cluster: string): Promise<void> {
  await shardsOf(client, cluster)
  const noted = `SELECT name FROM system.tables WHERE database = '${DATABASE}' AND name = '${MIGRATIONS}'`
  if ((await read(client, noted)).length > 0) return
  const queries = [createDatabaseOn(cluster), ...clusterStatements(MIGRATIONS_TABLE, cluster)]
  for (const query of queries) await client.command({ query, clickhouse_settings: ALL_HOSTS })
}

async function apply(client: ClickHouseClient, statement: string, cluster: string | undefined): Promise<void> {
  if (cluster === undefined) await client.command({ query: statement, clickhouse_settings: IN_BACKGROUND })
  else {
    const queries = clusterStatements(statement, cluster)
    for (const query of queries) await client.command({ query, clickhouse_settings: IN_ORDER })
  }
}

/**
 * @param client of the database `ipid`
 * @param cluster reads the records of all its replicas; undefined: of the one server
 */
export async function appliedMigrations(client: ClickHouseClient, cluster?: string): Promise<Set<string>> {
  const table = cluster === undefined ? MIGRATIONS : everyReplica(cluster, `${DATABASE}.${MIGRATIONS}`)
  const settings = cluster === undefined ? {} : SOME_MAY_BE_AWAY
  const result = await client.query({
    query: `SELECT DISTINCT name FROM ${table}`,
    format: 'JSONCompactEachRow',
    clickhouse_settings: settings,
  })
  return new Set((await result.json<[string]>()).map(([name]) => name))
}
