import { DATABASE } from './client.ts'
import { quote, quoteName } from './quote.ts'
import { EVENTS, OUTCOMES } from './tables.ts'

/*
 * The schema on a cluster. schemas/clickhouse says what a table is; here stands what that becomes: a replicated table on every
 * host, which has its rows, and over it a Distributed one under the name that everybody uses. Other statements go to all
 * hosts as they are. Names carry their database, since hosts run them in a session of their own.
 */

/** Tables of rows: those with a replicated one behind them. */
const OF_ROWS: ReadonlySet<string> = new Set([EVENTS.name, OUTCOMES.name])

/** Tokens are kept by number alone, as they are on one server: an insert may be repeated days later. */
const KEEPS_TOKENS = 'replicated_deduplication_window = $1, replicated_deduplication_window_seconds = 315360000'

/** The table that has the rows of `table` which are on a host. */
export function localOf(table: string): string {
  return `${table}_local`
}

/** Of a name of the database. */
function full(name: string): string {
  return `${DATABASE}.${name}`
}

/** Behind the name of what a statement makes or changes on all hosts. */
export function onCluster(cluster: string): string {
  return `ON CLUSTER ${quoteName(cluster)}`
}

/** All rows of a table of ours, or of a system table, of every replica of every shard. */
export function everyReplica(cluster: string, table: string): string {
  return `clusterAllReplicas(${quote(cluster)}, ${table})`
}

/** The same of one replica of each shard. */
export function everyShard(cluster: string, table: string): string {
  return `cluster(${quote(cluster)}, ${table})`
}

/** Makes the database on all hosts. */
export function createDatabaseOn(cluster: string): string {
  return `CREATE DATABASE IF NOT EXISTS ${DATABASE} ${onCluster(cluster)}`
}

/**
 * What a statement of a migration becomes on a cluster, in order; each can be run again when the statement can.
 * @throws Error when it is of a form that has none there
 */
export function clusterStatements(statement: string, cluster: string): string[] {
  const text = statement.replace(/^[ \t]*--.*\n/gm, '').trim()
  const [, table] = /^CREATE TABLE IF NOT EXISTS (\w+)\s*\(/.exec(text) ?? []
  if (table !== undefined)
    return OF_ROWS.has(table) ? createTables(text, table, cluster) : [createAlike(text, table, cluster)]
  const [, altered, commands] = /^ALTER TABLE (\w+)\s([\s\S]+)$/.exec(text) ?? []
  if (altered !== undefined) return alter(altered, commandsOf(commands!), cluster)
  if (/^CREATE (?:OR REPLACE )?VIEW (?:IF NOT EXISTS )?\w+\s/.test(text)) return [createView(text, cluster)]
  throw formless(text)
}

function formless(text: string): Error {
  return new Error(`on a cluster there is no form of: ${text.slice(0, 60)}`)
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
  // Without a sharding key: an insert that does not name its shard is refused.
  const engine = `Distributed(${[cluster, DATABASE, localOf(table)].map(quote).join(', ')})`
  const [comment = ''] = /\nCOMMENT '(?:[^'\\]|''|\\.)*'$/.exec(text) ?? []
  return [
    created,
    `CREATE TABLE IF NOT EXISTS ${full(table)} ${onCluster(cluster)} AS ${local}\nENGINE = ${engine}${comment}`,
  ]
}

/** A table of a few rows, which every host has all of. */
function createAlike(text: string, table: string, cluster: string): string {
  const path = `/clickhouse/tables/${DATABASE}/${table}`
  return text
    .replace(`CREATE TABLE IF NOT EXISTS ${table}`, `CREATE TABLE IF NOT EXISTS ${full(table)} ${onCluster(cluster)}`)
    .replace(/ENGINE = MergeTree\b/, `ENGINE = ReplicatedMergeTree(${quote(path)}, '{shard}-{replica}')`)
}

function createView(text: string, cluster: string): string {
  const tables = [...OF_ROWS].join('|')
  return text
    .replace(/^(CREATE (?:OR REPLACE )?VIEW (?:IF NOT EXISTS )?)(\w+)/, `$1${full('$2')} ${onCluster(cluster)}`)
    .replace(new RegExp(`\\bFROM (${tables})\\b`, 'g'), `FROM ${full('$1')}`)
}

/** Those that change what a table of rows looks like to who reads it. */
const SEEN = /^(?:(?:ADD|MODIFY|DROP|RENAME|COMMENT) COLUMN|MODIFY COMMENT)\b/
/** A comment of a table is each host's own, and stands in no statement with what replicas tell one another. */
const COMMENT = /^MODIFY COMMENT\b/
const SETTING = /^(?:MODIFY|RESET) SETTING\b/

function alter(table: string, commands: readonly string[], cluster: string): string[] {
  const statement = (name: string, some: readonly string[]) =>
    some.length === 0 ? [] : [`ALTER TABLE ${full(name)} ${onCluster(cluster)}\n  ${some.join(',\n  ')}`]
  if (!OF_ROWS.has(table)) return statement(table, commands)
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

/** The commands of an ALTER: what stands between commas outside of brackets and strings. */
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
