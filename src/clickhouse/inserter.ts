import { Readable } from 'node:stream'
import { type ClickHouseClient, ClickHouseError } from '@clickhouse/client'
import { type Inserter, RefusedRowsError } from '../core/pipeline/destination.ts'
import { absentRows } from './absent-rows.ts'
import type { TargetTable } from './tables.ts'

/**
 * Codes by which ClickHouse says that a value cannot be read: CANNOT_PARSE_* (6, 26, 27, 38, 41, 42, 72, 130, 131, 675,
 * 676), INCORRECT_DATA (117), TYPE_MISMATCH (53), ARGUMENT_OUT_OF_BOUND (69), CANNOT_CONVERT_TYPE (70),
 * VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE (321), CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN (349), DECIMAL_OVERFLOW (407),
 * TOO_LARGE_STRING_SIZE (131), CANNOT_READ_ALL_DATA (33).
 */
const DATA_CODES = new Set([
  '6',
  '26',
  '27',
  '33',
  '38',
  '41',
  '42',
  '53',
  '69',
  '70',
  '72',
  '117',
  '130',
  '131',
  '321',
  '349',
  '407',
  '675',
  '676',
])

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
    } catch (error) {
      if (error instanceof ClickHouseError && DATA_CODES.has(error.code)) {
        throw new RefusedRowsError(error.message, { cause: error })
      }
      throw error
    }
  }

  /**
   * ClickHouse (26.7, not replicated) writes a token to its deduplication log right before it puts the part in place, so a
   * crash between the two leaves a token that drops the rows without having them.
   */
  absent(rows: readonly Buffer[]): Promise<readonly Buffer[]> {
    return absentRows(this.#client, rows, this.#table)
  }

  close(): Promise<void> {
    return this.#client.close()
  }
}
