import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startEmbeddedClickHouse } from '../../src/embedded/clickhouse/start.ts'
import {
  packedPathOf,
  packStarter,
  STARTER_TABLE,
  starterSource,
} from '../../src/enrichment/files/defaults/packed-starter.ts'
import { STARTER_DIR } from '../../src/enrichment/files/folder.ts'
import { migrate } from '../../src/stores/clickhouse/migrate.ts'
import { silent } from './pipeline.ts'

/*
 * What the first start of an instance makes in its DATA_DIR: the empty tables, which takes a second of CPU, and the packed
 * starter table, without which each process takes another second. They are made once and kept; a copy takes a tenth.
 */

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const HOME = join(ROOT, 'node_modules', '.cache', 'ipid', 'test-data')
/** Everything else in the folder of ClickHouse belongs to one server. */
const TABLES = ['data', 'metadata', 'store']
/** The sources of the data; also files. */
const SOURCES = [
  'schemas/clickhouse/tables',
  'schemas/clickhouse/views',
  'schemas/clickhouse/migrations',
  'src/stores/clickhouse',
  'src/embedded/clickhouse',
  'src/enrichment/files/starter',
  'src/enrichment/files/defaults',
  'src/enrichment/providers/tables',
  'src/enrichment/rules/data',
  'node_modules/chdb/package.json',
]

/**
 * Puts the data of a first start into a DATA_DIR, before an instance starts on it. Does nothing before they are made, or where they
 * cannot be kept: the instance then makes them.
 * @param dataDir made if need be
 */
export function copyMadeData(dataDir: string): void {
  const kept = keptFolder()
  if (!existsSync(kept)) return
  copyTables(kept, join(dataDir, 'clickhouse'))
  cpSync(packedFolder(kept), packedFolder(dataDir), { recursive: true })
}

/**
 * Puts the empty tables of ipid into a folder before ClickHouse starts on it. Tables of all copies have the same UUIDs.
 * @param path of the folder; made if need be
 * @returns false when the copy could not be kept
 */
export async function copySchema(path: string): Promise<boolean> {
  try {
    copyTables(await madeData(), path)
    return true
  } catch (error) {
    if (!['EACCES', 'EPERM', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    for (const name of TABLES) rmSync(join(path, name), { recursive: true, force: true })
    return false
  }
}

const packedFolder = (dataDir: string) => join(dataDir, 'enrich-default')

function copyTables(made: string, path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  // Otherwise links become absolute, and every test writes to the original.
  const verbatim = { recursive: true, verbatimSymlinks: true }
  for (const name of TABLES) cpSync(join(made, 'clickhouse', name), join(path, name), verbatim)
}

async function madeData(): Promise<string> {
  const kept = keptFolder()
  if (existsSync(kept)) return kept
  await mkdir(HOME, { recursive: true })
  const part = await mkdtemp(join(HOME, 'part-'))
  const text = await readFile(join(STARTER_DIR, STARTER_TABLE))
  mkdirSync(packedFolder(part))
  writeFileSync(packedPathOf(packedFolder(part)), await packStarter(text, starterSource(text)))
  const server = await startEmbeddedClickHouse({ path: join(part, 'clickhouse'), port: 0, log: silent })
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

let kept: string | undefined

/** The folder of the data that these sources make. */
function keptFolder(): string {
  kept ??= join(HOME, versionOf(SOURCES))
  return kept
}

function versionOf(sources: readonly string[]): string {
  const texts: string[] = []
  for (const source of sources) {
    const path = join(ROOT, source)
    const files = source.endsWith('.json') ? [path] : filesIn(path)
    for (const file of files) texts.push(file.slice(ROOT.length), readFileSync(file, 'utf8'))
  }
  return createHash('sha256').update(JSON.stringify(texts)).digest('hex').slice(0, 16)
}

function filesIn(folder: string): string[] {
  const entries = readdirSync(folder, { withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map(({ name }) => join(folder, name))
    .sort()
}
