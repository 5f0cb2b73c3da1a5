import { Readable } from 'node:stream'
import { type ClickHouseClient, ClickHouseError } from '@clickhouse/client'
import { ROW_COLUMNS } from '../../schemas/row.ts'
import { rowAt, rowEnds } from '../core/event/block.ts'
import { absentRows } from './absent-rows.ts'
import type { RefusedEvent, SinkEntry } from './sink-source.ts'

/** ClickHouse refuses the rows for what they are: sending them again changes nothing. */
export class RefusedRowsError extends Error {
  override name = 'RefusedRowsError'
}

export interface RowInserter {
  /**
   * Inserts rows as one block; with a token that was used before, nothing.
   * @param rows lines of `row.ts`, each ended by a line feed
   * @throws RefusedRowsError when the rows are at fault; any other error may pass
   */
  insert(rows: readonly Buffer[], token: string): Promise<void>
  /** Those of the rows that are not stored; see `absentRows`. */
  absent(rows: readonly Buffer[]): Promise<readonly Buffer[]>
}

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

/** Inserts into `events`, from which all other tables follow. */
export class EventInserter implements RowInserter {
  readonly #client: ClickHouseClient

  constructor(client: ClickHouseClient) {
    this.#client = client
  }

  async insert(rows: readonly Buffer[], token: string): Promise<void> {
    try {
      await this.#client.insert({
        table: 'events',
        columns: [...ROW_COLUMNS] as [string, ...string[]],
        values: Readable.from(rows, { objectMode: false }),
        format: 'TabSeparated',
        clickhouse_settings: {
          ...ONE_BLOCK,
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

  absent(rows: readonly Buffer[]): Promise<readonly Buffer[]> {
    return absentRows(this.#client, rows)
  }
}

/**
 * Inserts entries whose insert may have been cut off before. A token alone does not say that its rows are stored: killed
 * at the wrong moment, ClickHouse knows the token and not the rows. So they are looked for, and what is absent is inserted
 * under a token of its own, until nothing is.
 */
export async function repeatInsert(
  inserter: RowInserter,
  entries: readonly SinkEntry[],
  token: string,
): Promise<RefusedEvent[]> {
  const refused = await insertBisecting(inserter, entries, token)
  const rows = allRows(entries)
    .filter(({ entry, index }) => !refused.some((event) => event.entry === entry && event.index === index))
    .map(({ line }) => line)
  for (let round = 1; ; round++) {
    const absent = await inserter.absent(rows)
    if (absent.length === 0) return refused
    await inserter.insert(absent, `${token}.absent${round}`)
  }
}

/**
 * Inserts entries under a token. When ClickHouse refuses them for their data, halves them, each half under a token of its
 * own, down to the rows at fault, which are returned. The same entries are halved the same way at every repeat.
 */
export async function insertBisecting(
  inserter: RowInserter,
  entries: readonly SinkEntry[],
  token: string,
): Promise<RefusedEvent[]> {
  try {
    await inserter.insert(
      entries.map((entry) => entry.block.rows),
      token,
    )
    return []
  } catch (error) {
    if (!(error instanceof RefusedRowsError)) throw error
    return bisect(inserter, allRows(entries), token)
  }
}

interface Row {
  readonly entry: SinkEntry
  readonly index: number
  readonly line: Buffer
}

function allRows(entries: readonly SinkEntry[]): Row[] {
  return entries.flatMap((entry) => {
    const ends = rowEnds(entry.block)
    return Array.from({ length: entry.block.count }, (_, index) => {
      const line = Buffer.concat([rowAt(entry.block, ends, index), Buffer.from('\n')])
      return { entry, index, line }
    })
  })
}

async function bisect(inserter: RowInserter, rows: readonly Row[], token: string): Promise<RefusedEvent[]> {
  const middle = Math.ceil(rows.length / 2)
  const refused: RefusedEvent[] = []
  for (const [half, part] of [rows.slice(0, middle), rows.slice(middle)].entries()) {
    if (part.length === 0) continue
    const partToken = `${token}.${half}`
    try {
      await inserter.insert(
        part.map((row) => row.line),
        partToken,
      )
    } catch (error) {
      if (!(error instanceof RefusedRowsError)) throw error
      if (part.length > 1) refused.push(...(await bisect(inserter, part, partToken)))
      else refused.push({ entry: part[0]!.entry, index: part[0]!.index, reason: error.message })
    }
  }
  return refused
}
