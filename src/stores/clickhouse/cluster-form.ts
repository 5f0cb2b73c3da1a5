import { DATABASE } from './client.ts'
import { quote, quoteName } from './quote.ts'
import { DAY_TABLES, EVENTS, HIDDEN, OUTCOMES } from './tables.ts'

/*
 * Translates the schema for a cluster. A table of schemas/clickhouse becomes a replicated table on every host, and a
 * Distributed table over it with the public name. Other statements run unchanged on all hosts. Names include their
 * database, since hosts run them in sessions of their own.
 */

/** Tables whose rows are spread over the shards: each is a Distributed table over a replicated one. */
export const SHARDED: ReadonlySet<string> = new Set([EVENTS.name, OUTCOMES.name, HIDDEN, ...DAY_TABLES])

/** Limits insert tokens by number alone, as on one server: an insert may be repeated days later. */
const KEEPS_TOKENS = 'replicated_deduplication_window = $1, replicated_deduplication_window_seconds = 315360000'

/** The table with the rows of `table` on one host. */
export function localOf(table: string): string {
  return `${table}_local`
}

/** The table with the rows of one of ipid's tables on each host: tables of a few rows have a full copy there. */
export function holderOf(table: string): string {
  return SHARDED.has(table) ? localOf(table) : table
}

/** A name with its database. */
function full(name: string): string {
  return `${DATABASE}.${name}`
}

/** The clause after the name of an object, which makes a statement run on all hosts. */
export function onCluster(cluster: string): string {
  return `ON CLUSTER ${quoteName(cluster)}`
}

/** All rows of a table, of every replica of every shard. */
export function everyReplica(cluster: string, table: string): string {
  return `clusterAllReplicas(${quote(cluster)}, ${table})`
}

/** All rows of a table, of one replica per shard. */
export function everyShard(cluster: string, table: string): string {
  return `cluster(${quote(cluster)}, ${table})`
}

/** Makes the database on all hosts. */
export function createDatabaseOn(cluster: string): string {
  return `CREATE DATABASE IF NOT EXISTS ${DATABASE} ${onCluster(cluster)}`
}

/**
 * The statements that one of the schema becomes on a cluster, in order. Each can be repeated if the original can.
 * @throws Error for a form of statement that has no equivalent
 */
export function clusterStatements(statement: string, cluster: string): string[] {
  const text = statement.replace(/^[ \t]*--.*\n/gm, '').trim()
  const [, table] = /^CREATE TABLE IF NOT EXISTS (\w+)\s*\(/.exec(text) ?? []
  if (table !== undefined)
    return SHARDED.has(table) ? createTables(text, table, cluster) : [createAlike(text, table, cluster)]
  const [, altered, commands] = /^ALTER TABLE (\w+)\s([\s\S]+)$/.exec(text) ?? []
  if (altered !== undefined) return alter(altered, commandsOf(commands!), cluster)
  if (/^CREATE OR REPLACE VIEW \w+\s/.test(text)) return [createView(text, cluster)]
  const [, dropped] = /^DROP VIEW IF EXISTS (\w+)$/.exec(text) ?? []
  if (dropped !== undefined) return [`DROP VIEW IF EXISTS ${full(dropped)} ${onCluster(cluster)}`]
  throw formless(text)
}

function formless(text: string): Error {
  return new Error(`cannot translate this statement for a cluster: ${text.slice(0, 60)}`)
}

function createTables(text: string, table: string, cluster: string): string[] {
  const local = full(localOf(table))
  const path = `/clickhouse/tables/{shard}/${DATABASE}/${table}`
  if (!/\nENGINE = MergeTree\n/.test(text) || !/\bnon_replicated_deduplication_window = \d/.test(text))
    throw formless(text)
  const created = text
    .replace(`CREATE TABLE IF NOT EXISTS ${table}`, `CREATE TABLE IF NOT EXISTS ${local} ${onCluster(cluster)}`)
    .replace(/\nENGINE = MergeTree\n/, `\nENGINE = ReplicatedMergeTree(${quote(path)}, '{replica}')\n`)
    .replace(/\bnon_replicated_deduplication_window = (\d+)/, KEEPS_TOKENS)
  // Without a sharding key, an insert that names no shard is refused.
  const engine = `Distributed(${[cluster, DATABASE, localOf(table)].map(quote).join(', ')})`
  const [comment = ''] = /\nCOMMENT '(?:[^'\\]|''|\\.)*'$/.exec(text) ?? []
  return [
    created,
    `CREATE TABLE IF NOT EXISTS ${full(table)} ${onCluster(cluster)} AS ${local}\nENGINE = ${engine}${comment}`,
  ]
}

/** A table of a few rows, with a full copy on every host. */
function createAlike(text: string, table: string, cluster: string): string {
  const path = `/clickhouse/tables/${DATABASE}/${table}`
  return text
    .replace(`CREATE TABLE IF NOT EXISTS ${table}`, `CREATE TABLE IF NOT EXISTS ${full(table)} ${onCluster(cluster)}`)
    .replace(/ENGINE = MergeTree\b/, `ENGINE = ReplicatedMergeTree(${quote(path)}, '{shard}-{replica}')`)
    .replace(/\bnon_replicated_deduplication_window = (\d+)/, KEEPS_TOKENS)
}

/** The host that answers reads the sets of IN; the other hosts may not know all of them yet. */
function createView(text: string, cluster: string): string {
  return text
    .replace(/^(CREATE OR REPLACE VIEW )(\w+)/, `$1${full('$2')} ${onCluster(cluster)}`)
    .replace(/\b(FROM|JOIN) (\w+)\b/g, `$1 ${full('$2')}`)
    .replace(/ (NOT )?IN \(SELECT /g, ' GLOBAL $1IN (SELECT ')
}

/** Commands that change the columns a reader sees. */
const SEEN = /^(?:(?:ADD|MODIFY|DROP|RENAME|COMMENT) COLUMN|MODIFY COMMENT)\b/
/** A comment belongs to each host alone, so replicas must not send it to one another. */
const COMMENT = /^MODIFY COMMENT\b/
const SETTING = /^(?:MODIFY|RESET) SETTING\b/

function alter(table: string, commands: readonly string[], cluster: string): string[] {
  const statement = (name: string, ofTable: readonly string[]) =>
    ofTable.length === 0 ? [] : [`ALTER TABLE ${full(name)} ${onCluster(cluster)}\n  ${ofTable.join(',\n  ')}`]
  if (!SHARDED.has(table)) return statement(table, commands)
  const isOwn = (command: string) => COMMENT.test(command) || SETTING.test(command)
  return [
    ...statement(
      localOf(table),
      commands.filter((command) => !isOwn(command)),
    ),
    ...statement(localOf(table), commands.filter(isOwn)),
    ...statement(
      table,
      commands.filter((command) => SEEN.test(command)),
    ),
  ]
}

/** The commands of an ALTER, split at commas outside of brackets and strings. */
function commandsOf(text: string): string[] {
  const commands = ['']
  let depth = 0
  for (const [token] of text.matchAll(/'(?:[^'\\]|''|\\[\s\S])*'|[\s\S]/g)) {
    if (token === '(') depth++
    if (token === ')') depth--
    if (token === ',' && depth === 0) commands.push('')
    else commands[commands.length - 1] += token
  }
  return commands.map((command) => command.trim())
}
