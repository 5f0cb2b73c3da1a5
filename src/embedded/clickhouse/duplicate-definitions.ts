import { existsSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { WORKSPACE } from './server-config.ts'

const ENDING = '.sql'

/**
 * Sets aside definitions of the workspace that claim the data of a table elsewhere. `ATTACH TABLE … UUID` with the id of a table of ipid
 * fails, but ClickHouse keeps the definition and would not start with it.
 * @param path the data folder, while no server runs on it
 */
export function setDuplicatesAside(path: string, log: Pick<Logger, 'warn'>): void {
  const metadata = join(path, 'metadata')
  const folder = join(metadata, WORKSPACE)
  if (!existsSync(folder)) return
  const databases = readdirSync(metadata, { withFileTypes: true }).filter((entry) => !entry.name.endsWith(ENDING))
  const known = new Set<string>()
  for (const { name } of databases) {
    if (name !== WORKSPACE) for (const file of definitionsIn(join(metadata, name))) known.add(idIn(file) ?? file)
  }
  for (const file of definitionsIn(folder)) {
    const id = idIn(file)
    if (id !== undefined && known.has(id)) {
      renameSync(file, `${file}.aside`)
      log.warn({ file }, `a definition in the database ${WORKSPACE} claims the data of another table: set aside`)
    } else if (id !== undefined) known.add(id)
  }
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
