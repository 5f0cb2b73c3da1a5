import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startEmbeddedClickHouse } from '../../src/embedded/clickhouse/start.ts'
import { migrate } from '../../src/stores/clickhouse/migrate.ts'
import { silent } from './pipeline.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const HOME = join(ROOT, 'node_modules', '.cache', 'ipid', 'test-schema')
/** Everything else in the folder of ClickHouse belongs to one server. */
const TABLES = ['data', 'metadata', 'store']
/** The sources of the tables; also files. */
const SOURCES = [
  'schemas/clickhouse/tables',
  'schemas/clickhouse/views',
  'schemas/clickhouse/migrations',
  'src/stores/clickhouse',
  'src/embedded/clickhouse',
  'node_modules/chdb/package.json',
]

/**
 * Puts the empty tables of ipid into a folder before ClickHouse starts on it: creating them takes a second of CPU, copying
 * a tenth. They are created once, and kept. Tables of all copies have the same UUIDs.
 * @param path of the folder; made if need be
 * @returns false when the copy could not be kept
 */
export async function copySchema(path: string): Promise<boolean> {
  try {
    const made = await madeTables()
    await mkdir(path, { recursive: true, mode: 0o700 })
    // Otherwise links become absolute, and every test writes to the original.
    const verbatim = { recursive: true, verbatimSymlinks: true }
    for (const name of TABLES) await cp(join(made, name), join(path, name), verbatim)
    return true
  } catch (error) {
    if (!['EACCES', 'EPERM', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    for (const name of TABLES) await rm(join(path, name), { recursive: true, force: true })
    return false
  }
}

async function madeTables(): Promise<string> {
  const version = await versionOf(SOURCES)
  const kept = join(HOME, version)
  if (existsSync(kept)) return kept
  await mkdir(HOME, { recursive: true })
  const part = await mkdtemp(join(HOME, 'part-'))
  const server = await startEmbeddedClickHouse({ path: part, port: 0, log: silent })
  try {
    await migrate(server.url, silent)
  } finally {
    await server.stop()
  }
  try {
    await rename(part, kept)
  } catch (error) {
    // Another process was faster.
    if (!['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    await rm(part, { recursive: true, force: true })
  }
  return kept
}

async function versionOf(sources: readonly string[]): Promise<string> {
  const texts: string[] = []
  for (const source of sources) {
    const path = join(ROOT, source)
    const files = source.endsWith('.json') ? [path] : (await filesIn(path)).map((name) => join(path, name))
    for (const file of files) texts.push(file.slice(ROOT.length), await readFile(file, 'utf8'))
  }
  return createHash('sha256').update(JSON.stringify(texts)).digest('hex').slice(0, 16)
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .sort()
}
