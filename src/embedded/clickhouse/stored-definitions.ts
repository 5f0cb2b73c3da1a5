import { setImmediate } from 'node:timers/promises'
import type { Ask } from './addon.ts'
import { exceptionOf } from './exception.ts'
import { type Canonical, refuseReach } from './reach.ts'
import { quoteName } from './statement.ts'

/**
 * Definitions in the data folder that the judgement would refuse today. They were created by an older version or with
 * `CLICKHOUSE_EXTERNAL=on`, and work until they are dropped. They are reported and not removed, because the judgement also
 * refuses harmless ones, a detached view misses rows, and a dropped function is lost. The wall still stops their access.
 */

export interface RefusedDefinition {
  /** Kind and name, such as "function `leak`". */
  readonly name: string
  readonly reason: string
  /** The statement that removes it. */
  readonly drop: string
}

interface Definition extends Omit<RefusedDefinition, 'reason'> {
  readonly create: string
}

const TABLES = `SELECT database, name, engine, create_table_query FROM system.tables
WHERE database NOT IN ('system', 'information_schema', 'INFORMATION_SCHEMA') AND NOT is_temporary ORDER BY 1, 2 FORMAT JSONCompactEachRow`
const FUNCTIONS =
  "SELECT name, create_query FROM system.functions WHERE origin = 'SQLUserDefined' ORDER BY 1 FORMAT JSONCompactEachRow"

/** Judges every existing table, view, dictionary and function. */
export async function refusedDefinitions(ask: Ask, canonical: Canonical): Promise<RefusedDefinition[]> {
  const refused: RefusedDefinition[] = []
  for (const { create, ...definition } of await definitionsIn(ask)) {
    // Each takes up to a millisecond. Serve clients in between.
    await setImmediate()
    try {
      await refuseReach({ query: create, body: Buffer.alloc(0) }, canonical)
    } catch (error) {
      refused.push({ ...definition, reason: exceptionOf(error).message })
    }
  }
  return refused
}

async function definitionsIn(ask: Ask): Promise<Definition[]> {
  const tables = rowsOf<[string, string, string, string]>(await ask(TABLES)).map(
    ([database, table, engine, create]) => {
      const [kind, path] = [kindOf(engine), `${quoteName(database)}.${quoteName(table)}`]
      return { name: `${kind.toLowerCase()} ${path}`, drop: `DROP ${kind} ${path}`, create }
    },
  )
  const functions = rowsOf<[string, string]>(await ask(FUNCTIONS)).map(([name, create]) => {
    return { name: `function ${quoteName(name)}`, drop: `DROP FUNCTION ${quoteName(name)}`, create }
  })
  return [...tables, ...functions]
}

function rowsOf<T>(lines: string): T[] {
  return lines.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as T]))
}

function kindOf(engine: string): 'TABLE' | 'VIEW' | 'DICTIONARY' {
  if (engine === 'Dictionary') return 'DICTIONARY'
  return engine.endsWith('View') ? 'VIEW' : 'TABLE'
}
