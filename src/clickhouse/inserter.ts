import { Readable } from 'node:stream'
import type { ClickHouseClient } from '@clickhouse/client'
import type { Inserter } from '../core/pipeline/destination.ts'
import { absentRows, firstTimeOf } from './absent-rows.ts'
import { refusalOf } from './refusals.ts'
import type { TargetTable } from './tables.ts'

/** One insert is one block: a repeat then has the same content under the same token, however it was read. */
const ONE_BLOCK = {
  max_insert_block_size: '10000000',
  min_insert_block_size_rows: '10000000',
  min_insert_block_size_bytes: '1073741824',
  input_format_parallel_parsing: 0,
  max_insert_threads: '1',
} as const

/** Inserts rows of a sink into a table. */
export class TableInserter implements Inserter {
  readonly #table: TargetTable
  readonly #client: ClickHouseClient
  readonly #prepare: () => Promise<void>

  /** @param prepare brings the schema up to date */
  constructor(table: TargetTable, client: ClickHouseClient, prepare: () => Promise<void>) {
    this.#table = table
    this.#client = client
    this.#prepare = prepare
  }

  prepare(): Promise<void> {
    return this.#prepare()
  }

  async insert(rows: readonly Buffer[], token: string): Promise<void> {
    try {
      await this.#insert(rows, token)
    } catch (error) {
      throw refusalOf(error)
    }
  }

  /** It answers, and takes an insert of no rows into this very table: what it asks of rows it does not ask then. */
  async demandOpen(): Promise<void> {
    const { name, columns } = this.#table
    const list = columns.join()
    await this.#client.command({ query: `INSERT INTO ${name} (${list}) SELECT ${list} FROM ${name} WHERE 0` })
  }

  async #insert(rows: readonly Buffer[], token: string): Promise<void> {
    await this.#client.insert({
      table: this.#table.name,
      columns: [...this.#table.columns],
      values: Readable.from(rows, { objectMode: false }),
      format: 'TabSeparated',
      clickhouse_settings: {
        ...ONE_BLOCK,
        // A row may end before the last column: it is empty then.
        input_format_tsv_allow_variable_number_of_columns: 1,
        async_insert: 0,
        insert_deduplicate: 1,
        insert_deduplication_token: token,
        deduplicate_blocks_in_dependent_materialized_views: 1,
      },
    })
  }

  /**
   * ClickHouse (26.7, not replicated) writes a token to its deduplication log right before it puts the part in place, so a
   * crash between the two leaves a token that drops the rows without having them.
   */
  absent(rows: readonly Buffer[]): Promise<readonly Buffer[]> {
    return absentRows(this.#client, rows, this.#table)
  }

  receivedAt(rows: Buffer): number {
    return firstTimeOf(rows, this.#table)
  }

  close(): Promise<void> {
    return this.#client.close()
  }
}
