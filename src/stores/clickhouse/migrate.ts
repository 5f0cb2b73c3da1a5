import { createHash } from 'node:crypto'
import type { ClickHouseClient } from '@clickhouse/client'
import type { Logger } from 'pino'
import { version } from '../../config/version.ts'
import { NewerDataError } from '../../run/errors.ts'
import { connectClickHouse, DATABASE } from './client.ts'
import { assertFormOfTables, REPLICAS_MAY_BE_DOWN, read, shardsOf } from './cluster.ts'
import { clusterStatements, createDatabaseOn, everyReplica } from './cluster-form.ts'
import { quoteName } from './quote.ts'
import { type Migration, readSchema, type Schema } from './schema.ts'

/** Which migrations to apply, and for which form of tables. */
interface MigrateOptions {
  /** Applies only these, to imitate an earlier version; undefined: all. */
  readonly only?: readonly string[] | undefined
  /** The cluster of replicated tables; undefined: the tables of one server. */
  readonly cluster?: string | undefined
  /** Undefined: that of this version. */
  readonly schema?: Schema
}

/**
 * Brings the schema up to date. A new database gets the tables as they are today, and all migrations count as applied. An
 * older one gets the missing migrations. Then views are replaced if their texts are not those of the last start. Missing tables and views are
 * created again.
 *
 * A start may be killed between any two statements, and two processes may run at once, even of two versions. Tables without any record are
 * left by a killed first start. The next one creates the others and applies every migration, which changes nothing that
 * is done already. So a later version adds its new columns and tables. A record of the views is written before the first one is replaced and
 * after the last: they are right only if both are there, and none of other texts is between or after them.
 * @param url as for `connectClickHouse`
 * @throws NewerDataError when a later version has changed the schema; StartupError when tables have the other form, or ClickHouse
 * does not know the cluster
 */
export async function migrate(url: string, log: Logger, options: MigrateOptions = {}): Promise<void> {
  const { only, cluster, schema = await readSchema() } = options
  const { migrations } = schema
  const table = schema.tables.get(MIGRATIONS)!
  await createDatabase(url, table, cluster)
  const client = connect(url, cluster, DATABASE)
  try {
    if (cluster === undefined) await client.command({ query: table })
    const records = await readRecords(client, cluster)
    assertKnown(records, migrations)
    const applied = new Set(records.map(({ name }) => name))
    const missing = migrations.filter(({ name }) => !applied.has(name) && only?.includes(name) !== false)
    const isWhole = applied.size + missing.length === migrations.length
    const views = [...schema.views.values()].flatMap((statement) => formsOf(statement, cluster))
    const hash = createHash('sha256').update(views.join('\n')).digest('hex')
    const keepsViews = !isWhole || areLast(records, hash)
    const existing = await existingObjects(client)
    const isNew = isWhole && records.length === 0 && existing.size === 0
    if (isWhole) await createMissing(client, { schema, missing, existing, keepsViews, log, cluster })
    if (missing.length > 0 || !keepsViews) await apply(client, RECORD_COLUMNS, cluster)
    if (isNew) await record(client, migrations)
    else {
      for (const migration of missing) {
        for (const statement of migration.statements) await apply(client, statement, cluster)
        await record(client, [migration])
        log.info({ migration: migration.name }, 'applied a migration')
      }
    }
    if (keepsViews) return
    const last = migrations.slice(-1)
    await record(client, last, begun(hash))
    for (const view of views) await send(client, view, cluster)
    await record(client, last, hash)
    log.info({ views: schema.views.size }, isNew ? 'created the tables and views' : 'replaced the views')
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

interface Creation {
  readonly schema: Schema
  /** Migrations that are not applied. */
  readonly missing: readonly Migration[]
  readonly existing: ReadonlySet<string>
  /** False: all views will be replaced. */
  readonly keepsViews: boolean
  readonly log: Logger
  readonly cluster: string | undefined
}

/** Creates missing tables and views. Without those that were dropped, every insert and page would fail until an operator does so. */
async function createMissing(
  client: ClickHouseClient,
  { schema, missing, existing, keepsViews, log, cluster }: Creation,
): Promise<void> {
  const absent = absentFrom(existing, schema)
  if (absent.length === 0) return
  const detached = await attachDetached(client, absent, log)
  const created = absent.filter((name) => !detached.has(name) && (keepsViews || schema.tables.has(name)))
  for (const name of created) await apply(client, schema.tables.get(name) ?? schema.views.get(name)!, cluster)
  const isNew = existing.size === 0 && missing.length === schema.migrations.length
  if (created.length === 0 || isNew) return
  if (missing.length > 0) log.info({ created }, 'created tables that an earlier version did not have')
  else {
    const message = `ClickHouse lacked ${created.join(', ')}: created again; the rows of a missing table are lost until they are replayed or restored`
    log.error({ missing: created }, message)
  }
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
  // Older servers have no list of detached tables.
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
 * Tables and views of the schema that do not exist.
 * @param client of any database
 */
export async function missingObjects(client: ClickHouseClient, schema: Schema): Promise<string[]> {
  return absentFrom(await existingObjects(client), schema)
}

function absentFrom(existing: ReadonlySet<string>, { tables, views }: Schema): string[] {
  return [...tables.keys(), ...views.keys()].filter((name) => name !== MIGRATIONS && !existing.has(name))
}

/** Everything in the database except the migration records. */
async function existingObjects(client: ClickHouseClient): Promise<Set<string>> {
  const result = await client.query({
    query: `SELECT name FROM system.tables WHERE database = '${DATABASE}' AND name != '${MIGRATIONS}'`,
    format: 'JSONCompactEachRow',
    clickhouse_settings: { log_queries: 0 },
  })
  return new Set((await result.json<[string]>()).map(([name]) => name))
}

/** The table that records applied migrations, and the views. */
export const MIGRATIONS = 'migrations'

/** Earlier versions created the table without these columns. */
const RECORD_COLUMNS = `
  ALTER TABLE ${MIGRATIONS}
    ADD COLUMN IF NOT EXISTS ipid_version String COMMENT 'Version of ipid that applied it; empty for 0.1.0',
    ADD COLUMN IF NOT EXISTS views String COMMENT 'Hash of the views that were created then; with begun before it while they are being created; empty when the record is of tables'`

/** A row of `migrations`. Tables of earlier versions lack columns. */
interface SchemaRecord {
  readonly name: string
  readonly ipid_version?: string
  readonly views?: string
}

/**
 * In order of time.
 * @param client of the database `ipid`
 * @param cluster reads the records of all its replicas; undefined: of the one server
 */
async function readRecords(client: ClickHouseClient, cluster?: string): Promise<SchemaRecord[]> {
  const table = cluster === undefined ? MIGRATIONS : everyReplica(cluster, `${DATABASE}.${MIGRATIONS}`)
  const settings = cluster === undefined ? {} : REPLICAS_MAY_BE_DOWN
  const query = `SELECT * FROM ${table} ORDER BY applied_at`
  const result = await client.query({ query, format: 'JSONEachRow', clickhouse_settings: settings })
  return await result.json<SchemaRecord>()
}

async function record(client: ClickHouseClient, migrations: readonly Migration[], views = ''): Promise<void> {
  await client.command({
    query: `INSERT INTO ${MIGRATIONS} (name, ipid_version, views) SELECT arrayJoin({names:Array(String)}), {version:String}, {views:String}`,
    query_params: { names: migrations.map(({ name }) => name), version: version(), views },
  })
}

/** Value of the column `views` while views with this hash are being created. */
const begun = (hash: string) => `begun ${hash}`

/** Whether the views have these texts, see `migrate`. */
function areLast(records: readonly SchemaRecord[], hash: string): boolean {
  const marks = records.flatMap(({ views }) => views || [])
  const own = marks.slice(marks.findLastIndex((mark) => mark !== hash && mark !== begun(hash)) + 1)
  return own.includes(begun(hash)) && own.lastIndexOf(hash) > own.indexOf(begun(hash))
}

/** @throws NewerDataError when a migration was applied that this version does not have: it could damage the changed data */
function assertKnown(records: readonly SchemaRecord[], migrations: readonly Migration[]): void {
  const known = new Set(migrations.map(({ name }) => name))
  const last = lastOf(records.filter(({ name }) => !known.has(name)))
  if (last === undefined) return
  const later = last.version === '' ? 'a later version' : `ipid ${last.version} or later`
  throw new NewerDataError(
    `ClickHouse has the migration ${last.name} of ${last.version === '' ? 'a later ipid' : `ipid ${last.version}`}, which ipid ${version()} does not know: use ${later}. To go back to ${version()}, restore a backup that it can read into a new DATA_DIR (or empty stores)`,
  )
}

/** A migration, and the ipid that applied it; `''`: unknown. */
interface AppliedMigration {
  readonly name: string
  readonly version: string
}

/** The last applied migration. Undefined when there is none. */
export async function lastMigration(client: ClickHouseClient, cluster?: string): Promise<AppliedMigration | undefined> {
  return lastOf(await readRecords(client, cluster))
}

function lastOf(records: readonly SchemaRecord[]): AppliedMigration | undefined {
  const name = records
    .map((found) => found.name)
    .sort()
    .at(-1)
  if (name === undefined) return undefined
  return { name, version: records.find((found) => found.name === name)?.ipid_version ?? '' }
}

/** Names of the applied migrations. Parameters as for `readRecords`. */
export async function appliedMigrations(client: ClickHouseClient, cluster?: string): Promise<Set<string>> {
  return new Set((await readRecords(client, cluster)).map(({ name }) => name))
}

function connect(url: string, cluster: string | undefined, database?: string): ClickHouseClient {
  const waits = cluster === undefined ? {} : { requestTimeoutMs: ALL_HOSTS_MS }
  return connectClickHouse(url, { application: 'migrate', database, connectionsMax: 1, ...waits })
}

/**
 * Creates the database, and on a cluster its table of records. Work on all hosts waits for all of them, so skip it when it is done: a
 * start must not need every host.
 */
async function createDatabase(url: string, records: string, cluster: string | undefined): Promise<void> {
  const client = connect(url, cluster)
  try {
    await assertFormOfTables(client, cluster)
    if (cluster === undefined) {
      await client.command({ query: `CREATE DATABASE IF NOT EXISTS ${DATABASE}` })
      return
    }
    await shardsOf(client, cluster)
    const noted = `SELECT name FROM system.tables WHERE database = '${DATABASE}' AND name = '${MIGRATIONS}'`
    if ((await read(client, noted)).length > 0) return
    const queries = [createDatabaseOn(cluster), ...clusterStatements(records, cluster)]
    for (const query of queries) await client.command({ query, clickhouse_settings: ALL_HOSTS })
  } finally {
    await client.close()
  }
}

/** The statements for one statement of the schema. */
function formsOf(statement: string, cluster: string | undefined): string[] {
  return cluster === undefined ? [statement] : clusterStatements(statement, cluster)
}

async function apply(client: ClickHouseClient, statement: string, cluster: string | undefined): Promise<void> {
  for (const query of formsOf(statement, cluster)) await send(client, query, cluster)
}

async function send(client: ClickHouseClient, query: string, cluster: string | undefined): Promise<void> {
  await client.command({ query, clickhouse_settings: cluster === undefined ? IN_BACKGROUND : IN_ORDER })
}
