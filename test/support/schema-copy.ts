import { createHash } from 'node:crypto'
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pino } from 'pino'
import { migrate } from '../../src/clickhouse/migrate.ts'
import { startEmbeddedClickHouse } from '../../src/embedded/clickhouse/start.ts'
import { takePort } from './ports.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const HOME = join(ROOT, 'node_modules', '.cache', 'ipid', 'test-schema')
/** What is in the folder of ClickHouse beside these is a server's own. */
const TABLES = ['data', 'metadata', 'store']
/** What the tables are made by. */
const SOURCES = ['schemas/clickhouse', 'src/clickhouse', 'src/embedded/clickhouse']

/**
 * Puts the tables of ipid, empty, into a folder that ClickHouse is to be started on. To make them takes a second of CPU, to copy
 * them a tenth, and more than half of all tests with a ClickHouse are about something else.
 * @param path of the folder; made if need be
 */
export async function copySchema(path: string): Promise<void> {
  const made = join(HOME, await versionOf(SOURCES))
  await mkdir(path, { recursive: true, mode: 0o700 })
  // The first to come make them, of which one is kept.
  if (!(await readdir(HOME).catch(() => [] as string[])).includes(made.slice(HOME.length + 1))) await make(made)
  // Of links the targets are relative.
  for (const name of TABLES) await cp(join(made, name), join(path, name), { recursive: true, verbatimSymlinks: true })
}

async function make(made: string): Promise<void> {
  await mkdir(HOME, { recursive: true })
  const part = await mkdtemp(join(HOME, 'part-'))
  try {
    const log = pino({ level: 'silent' })
    const server = await startEmbeddedClickHouse({ path: part, port: takePort(), log })
    try {
      await migrate(server.url, log)
    } finally {
      await server.stop()
    }
    await rename(part, made).catch((error) => {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(part, { recursive: true, force: true })
  }
}

async function versionOf(folders: readonly string[]): Promise<string> {
  const hash = createHash('sha256').update(await readFile(join(ROOT, 'node_modules', 'chdb', 'package.json')))
  for (const folder of folders) {
    for (const file of (await readdir(join(ROOT, folder), { withFileTypes: true })).filter((entry) => entry.isFile())) {
      hash.update(file.name).update(await readFile(join(ROOT, folder, file.name)))
    }
  }
  return hash.digest('hex').slice(0, 16)
}
