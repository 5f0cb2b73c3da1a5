import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Logger } from 'pino'
import { DATABASE } from '../../stores/clickhouse/client.ts'
import { OUR_TABLES } from '../../stores/clickhouse/tables.ts'
import { WORKSPACE } from './server-config.ts'

const ENDING = '.sql'

/** ClickHouse does not start beside a file with another ending. */
const KNOWN_ENDING = /\.sql(?:\.detached|\.tmp_drop|\.tmp)?$/

/**
 * Sets aside files with which ClickHouse would not start, and which a statement of an analyst can leave:
 * - definitions of the workspace that claim the data of a table elsewhere. `ATTACH TABLE … UUID` with the id of a table of ipid fails, but
 *   ClickHouse keeps the definition.
 * - files that are no definitions. The setting `input_format_record_errors_file_path` writes a new file of any name, and a subquery may
 *   have it, because constraints do not hold there.
 * @param path the data folder, while no server runs on it
 */
export function setAsideDefinitions(path: string, log: Pick<Logger, 'warn'>): void {
  const metadata = join(path, 'metadata')
  const folder = join(metadata, WORKSPACE)
  if (!existsSync(folder)) return
  // The folder of a database may be a link.
  const isFolder = (name: string) => statSync(join(metadata, name), { throwIfNoEntry: false })?.isDirectory() === true
  const databases = readdirSync(metadata).filter(isFolder)
  for (const file of [metadata, ...databases.map((name) => join(metadata, name))].flatMap(definitionsIn)) {
    const text = readFileSync(file, 'utf8')
    // ClickHouse itself removes an empty one. A damaged definition of a table with our rows must stop the start: without it they would be lost.
    if (text === '' || text.startsWith('ATTACH ') || isOurs(metadata, file)) continue
    moveAside(path, file)
    log.warn({ file }, 'no definition of a table or database: set aside')
  }
  for (const name of databases) {
    for (const other of readdirSync(join(metadata, name)).filter((file) => !KNOWN_ENDING.test(file))) {
      const file = join(metadata, name, other)
      moveAside(path, file)
      log.warn({ file }, 'no definition of a table: set aside')
    }
  }
  const known = new Set<string>()
  for (const name of databases) {
    if (name !== WORKSPACE) for (const file of definitionsIn(join(metadata, name))) known.add(idIn(file) ?? file)
  }
  for (const file of definitionsIn(folder)) {
    const id = idIn(file)
    if (id !== undefined && known.has(id)) {
      moveAside(path, file)
      log.warn({ file }, `a definition in the database ${WORKSPACE} claims the data of another table: set aside`)
    } else if (id !== undefined) known.add(id)
  }
}

/** Into a folder beside the definitions, because ClickHouse reads everything among them. */
function moveAside(path: string, file: string): void {
  const folder = join(path, 'aside')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  renameSync(file, join(folder, `${Date.now()}-${basename(dirname(file))}-${basename(file)}`))
}

function isOurs(metadata: string, file: string): boolean {
  return dirname(file) === join(metadata, DATABASE) && OUR_TABLES.has(basename(file, ENDING))
}

function definitionsIn(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((name) => name.endsWith(ENDING))
    .map((name) => join(folder, name))
}

/** The id of a table, which names the folder of its data. */
function idIn(file: string): string | undefined {
  return /^ATTACH [A-Z ]+ _ UUID '([0-9a-f-]{36})'/.exec(readFileSync(file, 'utf8'))?.[1]
}
