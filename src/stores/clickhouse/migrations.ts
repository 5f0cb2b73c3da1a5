import { readdir, readFile } from 'node:fs/promises'

/** A file of schemas/clickhouse: `NNNN_what.sql`. */
export interface Migration {
  readonly name: string
  readonly statements: readonly string[]
}

const FOLDER = new URL('../../../schemas/clickhouse/', import.meta.url)

/** Names of all migrations, in order of application. */
export async function migrationNames(folder: URL = FOLDER): Promise<string[]> {
  const files = (await readdir(folder)).filter((name) => /^\d{4}_\w+\.sql$/.test(name))
  return files.sort().map((name) => name.replace(/\.sql$/, ''))
}

/** In order of application. */
export async function readMigrations(folder: URL = FOLDER): Promise<Migration[]> {
  return Promise.all(
    (await migrationNames(folder)).map(async (name) => ({
      name,
      statements: splitStatements(await readFile(new URL(`${name}.sql`, folder), 'utf8')),
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
