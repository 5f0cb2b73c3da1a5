import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client'
import { BY_MAJORITY, type Shards, shardsOf } from '../../../stores/clickhouse/cluster.ts'
import type { TargetTable } from '../../../stores/clickhouse/tables.ts'
import type { Inserter } from '../../declaration/destination.ts'
import { absentRows, firstTimeOf } from './absent-rows.ts'
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
