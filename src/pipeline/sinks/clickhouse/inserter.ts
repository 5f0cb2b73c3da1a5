import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client'
import { UnavailableError } from '../../../run/errors.ts'
import { DATABASE } from '../../../stores/clickhouse/client.ts'
import {
  ALL_REPLICAS_MUST_ANSWER,
  BY_MAJORITY,
  REPLICAS_MAY_BE_DOWN,
  type Shards,
  shardsOf,
} from '../../../stores/clickhouse/cluster.ts'
import { everyReplica, localOf } from '../../../stores/clickhouse/cluster-form.ts'
import { quote } from '../../../stores/clickhouse/quote.ts'
import { EVENTS, type TargetTable } from '../../../stores/clickhouse/tables.ts'
import type { Inserter } from '../../declaration/destination.ts'
import { refusalOf } from './refusals.ts'

/** Makes each insert one block, so that a repeat has the same content under the same token. */
const ONE_BLOCK = {
  max_insert_block_size: '10000000',
  min_insert_block_size_rows: '10000000',
  min_insert_block_size_bytes: '1073741824',
  input_format_parallel_parsing: 0,
  max_insert_threads: '1',
} as const

/** A token is a UUID, then the shard. */
const SHARD_OF_TOKEN = /^[0-9a-f-]{36}-s(\d+)(?=\.|$)/

/**
 * Inserts rows of a sink into a table. On a cluster all rows of an insert go to one shard, which their token names. So an insert is
 * stored whole or not at all, as on one server, and a repeat goes to the same shard, even if shards were added.
 */
export class TableInserter implements Inserter {
  readonly #table: TargetTable
  readonly #client: ClickHouseClient
  readonly #prepare: () => Promise<void>
  readonly #cluster: string | undefined
  #shards: Shards = new Map()

  /**
   * @param prepare brings the schema up to date
   * @param cluster name of the table's cluster; undefined: the table is on one server
   */
  constructor(table: TargetTable, client: ClickHouseClient, prepare: () => Promise<void>, cluster?: string) {
    this.#table = table
    this.#client = client
    this.#prepare = prepare
    this.#cluster = cluster
  }

  async prepare(): Promise<void> {
    await this.#prepare()
    if (this.#cluster !== undefined) this.#shards = await shardsOf(this.#client, this.#cluster)
  }

  newToken(): string {
    if (this.#cluster === undefined) return randomUUID()
    const shards = [...this.#shards.keys()]
    return `${randomUUID()}-s${shards[Math.floor(Math.random() * shards.length)]}`
  }

  async insert(rows: readonly Buffer[], token: string): Promise<void> {
    try {
      await this.#insert(rows, token)
    } catch (error) {
      throw refusalOf(error)
    }
  }

  /** Inserts no rows into the table. That fails if ClickHouse or the table is at fault, but never because of a row. */
  async assertOpen(): Promise<void> {
    const { name, columns } = this.#table
    const list = columns.join()
    await this.#client.command({
      query: `INSERT INTO ${name} (${list}) SELECT ${list} FROM ${name} WHERE 0`,
      ...(this.#cluster !== undefined && { clickhouse_settings: this.#toShard(1) }),
    })
  }

  /** Sends rows to a shard over the network, even to this host, so that a repeat from another host takes the same way. */
  #toShard(shard: number): ClickHouseSettings {
    return {
      insert_shard_id: String(shard),
      distributed_foreground_insert: 1,
      prefer_localhost_replica: 0,
      parallel_distributed_insert_select: '0',
      // A single replica needs no quorum.
      ...(this.#shards.get(shard) === 1 ? {} : BY_MAJORITY),
    }
  }

  async #insert(rows: readonly Buffer[], token: string): Promise<void> {
    await this.#client.insert({
      table: this.#table.name,
      columns: [...this.#table.columns],
      values: Readable.from(rows, { objectMode: false }),
      format: 'TabSeparated',
      clickhouse_settings: {
        ...ONE_BLOCK,
        // A row may end before the last column.
        input_format_tsv_allow_variable_number_of_columns: 1,
        // Rows hold no NULL, and checking each value for one takes a tenth of an insert.
        input_format_null_as_default: 0,
        async_insert: 0,
        insert_deduplicate: 1,
        insert_deduplication_token: token,
        deduplicate_blocks_in_dependent_materialized_views: 1,
        ...(this.#cluster !== undefined && this.#toShard(shardOf(token))),
      },
    })
  }

  /** See `absentRows`. On a cluster, a repeat may also succeed although the quorum of the first try failed. */
  async absent(rows: readonly Buffer[]): Promise<readonly Buffer[]> {
    const replicasPerShard = Math.min(...this.#shards.values())
    const cluster = this.#cluster === undefined ? undefined : { name: this.#cluster, replicasPerShard }
    const absent = await absentRows(this.#client, rows, { table: this.#table, cluster })
    // Rows that are there may be in a part that could not be written: on one server, a checked statement says so.
    if (cluster === undefined) await this.assertOpen()
    return absent
  }

  receivedAt(rows: Buffer): number {
    return firstTimeOf(rows, this.#table)
  }

  close(): Promise<void> {
    return this.#client.close()
  }
}

/** A token from before the tables moved to a cluster names no shard. */
function shardOf(token: string): number {
  return Number(SHARD_OF_TOKEN.exec(token)?.[1] ?? 1)
}

const LINE_FEED = 10
const TAB = 9
const ROWS_PER_QUERY = 10_000
const QUERY_BYTES_MAX = 67_108_864
const NUMBERS = { output_format_json_quote_64bit_integers: 0 } as const

interface ReplicatedCluster {
  readonly name: string
  readonly replicasPerShard: number
}

interface SearchedTable {
  readonly table: TargetTable
  /** Undefined: the table is on one server. */
  readonly cluster?: ReplicatedCluster | undefined
}

/**
 * The rows that a table does not hold, as lines. Call it when an insert may have been cut off and its repeat was accepted. ClickHouse
 * (26.7, not replicated) writes a token to its deduplication log right before it adds the part. After a crash between the two, the
 * token drops the rows although the table lacks them. They must be inserted under another token.
 *
 * On a cluster a row is stored if a majority of replicas has it. It is absent if all replicas answer and none has it. Anything between
 * may still change: a replica lags, or has a part that it will give up.
 * @param rows lines with the columns of the table, each ending with a line feed
 * @throws UnavailableError when the answer is not certain
 */
export async function absentRows(
  client: ClickHouseClient,
  rows: readonly Buffer[],
  { table, cluster }: SearchedTable = { table: EVENTS },
): Promise<Buffer[]> {
  const lines = rows.flatMap(linesOf)
  if (cluster === undefined) return (await tooFew(client, lines, notIn(table))).map(({ line }) => line)
  const query = belowMajority(table, cluster)
  const suspects = await tooFew(client, lines, query, REPLICAS_MAY_BE_DOWN)
  const certain = await tooFew(
    client,
    suspects.map(({ line }) => line),
    query,
    ALL_REPLICAS_MUST_ANSWER,
  )
  if (certain.some(({ replicas }) => replicas > 0))
    throw new UnavailableError(`waiting for rows of ${table.name} that are on fewer replicas than a majority`)
  return certain.map(({ line }) => line)
}

/** A line that fewer replicas than a majority have. */
interface TooFew {
  readonly line: Buffer
  readonly replicas: number
}

/** @param query selects position and number of replicas of the rows of `wanted` that are on too few */
async function tooFew(
  client: ClickHouseClient,
  lines: readonly Buffer[],
  { table, sql }: { readonly table: TargetTable; readonly sql: string },
  settings: ClickHouseSettings = {},
): Promise<TooFew[]> {
  const { identity } = table
  const structure = Object.entries(identity).map(([column, type]) => `${column} ${type}`)
  const found: TooFew[] = []
  for (let from = 0; from < lines.length; from += ROWS_PER_QUERY) {
    const batch = lines.slice(from, from + ROWS_PER_QUERY)
    const keys = batch.map((line, index) => `${index}\t${keyOf(line, table)}`).join('\n')
    const result = await client.query({
      query: `
      WITH wanted AS
      (
        SELECT * FROM format(
          TabSeparated,
          'position UInt32, ${structure.join().replace(/'/g, "\\'")}',
          ${quote(keys)})
      )
      ${sql}
      ORDER BY position`,
      format: 'JSONCompactEachRow',
      clickhouse_settings: { max_query_size: String(QUERY_BYTES_MAX), ...NUMBERS, ...settings },
    })
    const rows = await result.json<[number, number]>()
    found.push(...rows.map(([position, replicas]) => ({ line: batch[position]!, replicas })))
  }
  return found
}

/** On one server. In a cluster, rows stay in their table. */
function notIn(table: TargetTable) {
  const columns = Object.keys(table.identity).join()
  const places = table.movesTo === undefined ? [table.name] : [table.name, table.movesTo]
  const isAbsent = places.map((name) => `(${columns}) NOT IN (SELECT ${columns} ${stored(table, name)})`).join(' AND ')
  return { table, sql: `SELECT position, 0 FROM wanted WHERE ${isAbsent}` }
}

/** GLOBAL IN sends the wanted rows to the replicas as a table, not inside their statement. */
function belowMajority(table: TargetTable, { name, replicasPerShard }: ReplicatedCluster) {
  const columns = Object.keys(table.identity).join()
  const replicas = everyReplica(name, `${DATABASE}.${localOf(table.name)}`)
  const counted = `SELECT ${columns}, uniqExact(_shard_num) AS replicas ${stored(table, replicas, 'GLOBAL IN')} GROUP BY ${columns}`
  const sql = `
    SELECT position, replicas FROM wanted LEFT JOIN (${counted}) AS found USING (${columns})
    WHERE replicas < ${Math.floor(replicasPerShard / 2) + 1}`
  return { table, sql }
}

function stored({ name, finder, time }: TargetTable, from = name, isIn = 'IN'): string {
  return `
    FROM ${from}
    WHERE ${time} >= (SELECT min(${time}) FROM wanted)
      AND ${time} <= (SELECT max(${time}) FROM wanted)
      AND tenant_id ${isIn} (SELECT tenant_id FROM wanted)
      AND ${finder} ${isIn} (SELECT ${finder} FROM wanted)`
}

function linesOf(rows: Buffer): Buffer[] {
  const lines: Buffer[] = []
  for (let from = 0; from < rows.length; ) {
    const end = rows.indexOf(LINE_FEED, from) + 1
    if (end === 0) throw new Error('a row does not end with a line feed')
    lines.push(rows.subarray(from, end))
    from = end
  }
  return lines
}

/** The columns of a row's identity, as text. */
function keyOf(line: Buffer, { columns, identity }: TargetTable): string {
  const values = line.toString('utf8', 0, line.length - 1).split('\t')
  return Object.keys(identity)
    .map((name) => values[columns.indexOf(name)] ?? '')
    .join('\t')
}

/** The time of the first row, Unix milliseconds; 0 if it cannot be read. */
function firstTimeOf(rows: Buffer, { columns, time }: TargetTable): number {
  const text = columnOf(rows, columns.indexOf(time))
  // The column holds seconds, or a day or time as text, in UTC.
  const ms = text[4] === '-' ? Date.parse(text.length > 10 ? `${text.replace(' ', 'T')}Z` : text) : Number(text) * 1_000
  return Number.isNaN(ms) ? 0 : ms
}

function columnOf(line: Buffer, at: number): string {
  let from = 0
  for (let column = 0; column < at; column++) from = line.indexOf(TAB, from) + 1
  return line.toString('utf8', from, line.indexOf(TAB, from))
}
