import { readdir, readFile } from 'node:fs/promises'

/** The files of schemas/clickhouse. */
export interface Schema {
  /** Creates each table as it is today. */
  readonly tables: ReadonlyMap<string, string>
  /** Creates each view. Every view declares its columns, so it may be created before the views that it reads. */
  readonly views: ReadonlyMap<string, string>
  /** Changes the tables of earlier versions, in order of application. */
  readonly migrations: readonly Migration[]
}

/** A file of schemas/clickhouse/migrations: `NNNN_what.sql`. */
export interface Migration {
  readonly name: string
  /** Empty if it changed views only. */
  readonly statements: readonly string[]
}

const ROOT = new URL('../../../schemas/clickhouse/', import.meta.url)

/** The schema of this version. */
export async function readSchema(): Promise<Schema> {
  const [tables, views, migrations] = await Promise.all([objectsIn('tables'), objectsIn('views'), readMigrations()])
  return { tables, views, migrations }
}

/** Names of all migrations, in order of application. */
export async function migrationNames(): Promise<string[]> {
  return (await filesIn('migrations')).map((file) => file.replace(/\.sql$/, ''))
}

/** In order of application. */
export async function readMigrations(): Promise<Migration[]> {
  return Promise.all(
    (await migrationNames()).map(async (name) => ({
      name,
      statements: await statementsIn('migrations', `${name}.sql`),
    })),
  )
}

async function objectsIn(folder: string): Promise<Map<string, string>> {
  const files = await filesIn(folder)
  const statements = (await Promise.all(files.map((file) => statementsIn(folder, file)))).flat()
  return new Map(statements.map((statement) => [createdBy(statement)!, statement]))
}

async function filesIn(folder: string): Promise<string[]> {
  return (await readdir(new URL(folder, ROOT))).filter((file) => file.endsWith('.sql')).sort()
}

async function statementsIn(folder: string, file: string): Promise<string[]> {
  return splitStatements(await readFile(new URL(`${folder}/${file}`, ROOT), 'utf8'))
}

/** The table or view that a statement creates. */
export function createdBy(statement: string): string | undefined {
  return /^CREATE (?:TABLE IF NOT EXISTS|OR REPLACE VIEW) (\w+)/m.exec(statement)?.[1]
}

/** Statements end with a semicolon at the end of a line. */
export function splitStatements(sql: string): string[] {
  return sql
    .split(/;[ \t]*(?:\r?\n|$)/)
    .map((statement) => statement.trim())
    .filter((statement) => statement.replace(/^--.*$/gm, '').trim() !== '')
}
