import { readdir, readFile } from 'node:fs/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import type { Logger } from 'pino'
import { connectClickHouse, DATABASE } from './client.ts'

/** A file of schemas/clickhouse: `NNNN_what.sql`. */
export interface Migration {
  readonly name: string
  readonly statements: readonly string[]
}

const FOLDER = new URL('../../schemas/clickhouse/', import.meta.url)

/**
 * Brings the schema up to date: applies in order what was not applied yet. Every statement can be run again, and so two
 * processes may do it at once, and one that was killed half-way is made good by the next.
 * @param url as `connectClickHouse` takes it
 * @param only apply none but these; undefined: all
 */
export async function migrate(url: string, log: Logger, only?: readonly string[]): Promise<void> {
  await createDatabase(url)
  const client = connectClickHouse(url, { application: 'migrate', database: DATABASE, connectionsMax: 1 })
  try {
    await client.command({ query: MIGRATIONS_TABLE })
    const applied = await appliedMigrations(client)
    for (const migration of await readMigrations()) {
      if (applied.has(migration.name) || only?.includes(migration.name) === false) continue
      for (const query of migration.statements) await client.command({ query, clickhouse_settings: IN_BACKGROUND })
      await client.command({
        query: 'INSERT INTO migrations (name) SELECT {name:String}',
        query_params: { name: migration.name },
      })
      log.info({ migration: migration.name }, 'applied a migration')
    }
  } finally {
    await client.close()
  }
}

/** What has to go over rows that are there, ClickHouse does in the background: a start does not wait for it. */
const IN_BACKGROUND = { alter_sync: '0', mutations_sync: '0' } as const

/** The table that notes them. */
export const MIGRATIONS = 'migrations'

const MIGRATIONS_TABLE = `
  CREATE TABLE IF NOT EXISTS migrations (name String, applied_at DateTime64(3, 'UTC') DEFAULT now64(3))
  ENGINE = MergeTree ORDER BY name`

async function createDatabase(url: string): Promise<void> {
  const client = connectClickHouse(url, { application: 'migrate', connectionsMax: 1 })
  try {
    await client.command({ query: `CREATE DATABASE IF NOT EXISTS ${DATABASE}` })
  } finally {
    await client.close()
  }
}

/** @param client of the database `ipid` */
export async function appliedMigrations(client: ClickHouseClient): Promise<Set<string>> {
  const result = await client.query({ query: 'SELECT DISTINCT name FROM migrations', format: 'JSONCompactEachRow' })
  return new Set((await result.json<[string]>()).map(([name]) => name))
}

/** In the order in which they are applied. */
export async function readMigrations(folder: URL = FOLDER): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => /^\d{4}_\w+\.sql$/.test(name)).sort()
  return Promise.all(
    names.map(async (name) => ({
      name: name.replace(/\.sql$/, ''),
      statements: splitStatements(await readFile(new URL(name, folder), 'utf8')),
    })),
  )
}

/** Statements end with a semicolon at the end of a line. */
export function splitStatements(sql: string): string[] {
  return sql
    .split(/;[ \t]*(?:\r?\n|$)/)
    .map((statement) => statement.trim())
    .filter((statement) => statement.replace(/^--.*$/gm, '').trim() !== '')
}
