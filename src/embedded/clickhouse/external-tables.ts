import type { ChdbAddon, Connection } from './addon.ts'
import { endOfQuoted } from './canonical-text.ts'
import { Code, Exception, exceptionOf } from './exception.ts'
import type { FormFile } from './form.ts'
import type { Canonical } from './reach.ts'
import { quote, quoteName } from './statement.ts'

/**
 * External data: files of a request that are temporary tables for its statement. See "External data for query processing" in
 * ClickHouse's documentation.
 */

export interface ExternalTable {
  readonly name: string
  readonly format: string
  /** The client's text with names and types of the columns. */
  readonly structure: string
  /** Whether the text has types only. The columns are then `_1`, `_2` and so on. */
  readonly isTypesOnly: boolean
  readonly bytes: Buffer
}

/** The statements that create, fill and drop a table. They are judged like those of clients. */
export interface TableStatements {
  readonly create: string
  readonly insert: string
  readonly data: Buffer
  readonly drop: string
}

const NAME = /^[A-Za-z_]\w{0,99}$/

/**
 * Removes the descriptions of the tables from the parameters.
 * @throws Exception when a table has an invalid name or format, or no structure
 */
export function externalTablesOf(files: readonly FormFile[], params: URLSearchParams): ExternalTable[] {
  const tables = files.map(({ name, bytes }) => {
    if (!NAME.test(name)) {
      throw badArguments(`External table ${quote(name)}: its name must be at most 100 letters, digits and _`)
    }
    const format = params.get(`${name}_format`) || 'TabSeparated'
    if (!/^\w+$/.test(format)) throw badArguments(`External table ${name}: ${quote(format)} is not a name of a format`)
    const [structure, types] = [params.get(`${name}_structure`), params.get(`${name}_types`)]
    const text = structure ?? types
    if (text === null) {
      const fields = `${name}_structure ("id UInt32, name String") or ${name}_types ("UInt32, String")`
      throw badArguments(`External table ${name} has neither structure nor types: send ${fields}`)
    }
    return { name, format, structure: text, isTypesOnly: structure === null, bytes }
  })
  for (const { name } of tables) {
    for (const end of ['format', 'structure', 'types']) params.delete(`${name}_${end}`)
  }
  return tables
}

/**
 * @param canonical converts a statement to canonical form
 * @throws Exception when the structure has anything but names and types
 */
export async function tableStatements(table: ExternalTable, canonical: Canonical): Promise<TableStatements> {
  const name = quoteName(table.name)
  return {
    create: `${createOf(table.name)}${(await columnsOf(table, canonical)).join(', ')})`,
    insert: `INSERT INTO ${name} FORMAT ${table.format}`,
    data: table.bytes,
    drop: `DROP TEMPORARY TABLE ${name}`,
  }
}

/**
 * Creates the tables on a connection, runs work, and drops them.
 * @param tables must have been judged
 * @param insert fills one table
 */
export async function withTables<T>(
  addon: ChdbAddon,
  connection: Connection,
  tables: readonly TableStatements[],
  insert: (query: string, data: Buffer) => Promise<unknown>,
  work: () => Promise<T>,
): Promise<T> {
  const made: TableStatements[] = []
  try {
    for (const table of tables) {
      await addon.QueryAsyncConnection(connection, table.create, 'Null')
      made.push(table)
      if (table.data.length > 0) await insert(table.insert, table.data)
    }
    return await work()
  } finally {
    // The connection may belong to a session and outlive the statement.
    for (const { drop } of made) await addon.QueryAsyncConnection(connection, drop, 'Null')
  }
}

function createOf(name: string): string {
  return `CREATE TEMPORARY TABLE ${quoteName(name)} (`
}

async function columnsOf(table: ExternalTable, canonical: Canonical): Promise<string[]> {
  if (!table.isTypesOnly) return await readColumns(table, table.structure, canonical)
  const [tuple, ...more] = await readColumns(table, `_ Tuple(${table.structure})`, canonical)
  const types = /^`_` Tuple\((.*)\)$/s.exec(tuple ?? '')?.[1]
  if (types === undefined || more.length > 0) throw notColumns(table)
  return checked(
    table,
    splitList(types).map((type, i) => `\`_${i + 1}\` ${type}`),
  )
}

function checked(table: ExternalTable, columns: string[]): string[] {
  if (columns.length === 0 || !columns.every(isColumn)) throw notColumns(table)
  return columns
}

/** The columns in canonical form, each a name in `` and a type. */
async function readColumns(table: ExternalTable, structure: string, canonical: Canonical): Promise<string[]> {
  let form: string
  try {
    form = await canonical(`CREATE TEMPORARY TABLE ${quoteName(table.name)} (${structure})`)
  } catch (error) {
    throw badArguments(
      `Error while parsing the structure of external table ${table.name}: ${exceptionOf(error).message}`,
    )
  }
  const head = [createOf(table.name), createOf(table.name).replaceAll('`', '')].find((text) => form.startsWith(text))
  if (head === undefined || !form.endsWith(')')) throw notColumns(table)
  return checked(table, splitList(form.slice(head.length, -1)))
}

const QUOTED = '`(?:[^`\\\\]|\\\\[\\s\\S])*`'
/** A name and a type with optional parentheses; no default and no codec. */
const COLUMN = new RegExp(`^${QUOTED} [A-Za-z]\\w*(\\([\\s\\S]*\\))?$`)

function isColumn(text: string): boolean {
  const parentheses = COLUMN.exec(text)?.[1]
  if (parentheses === undefined) return COLUMN.test(text)
  // The last character must close the first parenthesis.
  return splitAt(parentheses, (depth) => depth === 0).length === 1
}

/** The items of a list in canonical form. */
function splitList(text: string): string[] {
  return splitAt(text, (depth, character) => depth === 0 && character === ',').map((item) => item.trim())
}

/**
 * Splits a canonical text after each character outside quotes for which `isEnd` returns true.
 * @param isEnd gets the depth of parentheses after the character
 */
function splitAt(text: string, isEnd: (depth: number, character: string) => boolean): string[] {
  const pieces: string[] = []
  let [depth, from] = [0, 0]
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!
    if (character === "'" || character === '`') {
      at = endOfQuoted(text, at)
      continue
    }
    if (character === '(') depth++
    if (character === ')') depth--
    if (!isEnd(depth, character)) continue
    pieces.push(text.slice(from, character === ',' ? at : at + 1))
    from = at + 1
  }
  if (from < text.length) pieces.push(text.slice(from))
  return pieces
}

function notColumns({ name, isTypesOnly }: ExternalTable): Exception {
  const what = isTypesOnly ? `${name}_types must be types` : `${name}_structure must be names and types`
  return badArguments(`External table ${name}: ${what}, separated by commas, and nothing else`)
}

function badArguments(what: string): Exception {
  return new Exception(Code.BadArguments, `${what}. (BAD_ARGUMENTS)`)
}
