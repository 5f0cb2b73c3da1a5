import type { OUTCOME_COLUMNS } from '../../../schemas/outcome.ts'
import { ROW_COLUMNS, type RowColumn } from '../../../schemas/row.ts'
import { fromTsv, fromTsvTime } from './row.ts'

/** NULL in TabSeparated. The text `\N` is written with two backslashes. */
const NULL = '\\N'
const LINE_FEED = 10

/** A dead letter may hold a row of other columns: their text is returned as it is. */
const time = (text: string) => (text.includes('-') || Number(text) > 0 ? fromTsvTime(text) : text)

/** How columns that are not text are read. */
const READERS = {
  received_at: time,
  timestamp: time,
  session_id: (text: string) => (text === NULL ? null : Number(text)),
  asn: Number,
  quality: Number,
  browser_key: Number,
  /** A column of `outcomes`. */
  events: Number,
} as const
type Readers = typeof READERS

type Column = RowColumn | (typeof OUTCOME_COLUMNS)[number]

/** Values of a row by column: numbers, RFC 3339 times, and texts; `session_id` may be null. */
export type RowValues<Name extends Column> = {
  [Each in Name]: Each extends keyof Readers ? ReturnType<Readers[Each]> : string
}

/**
 * Reads rows of `events`, or of another table with `columns`. A column that the row does not have is `''` or 0, as ClickHouse reads it.
 * @param rows lines that each end with a line feed; an element may hold many
 */
export function* readRows<Name extends Column = RowColumn>(
  rows: Iterable<Buffer>,
  columns: readonly Name[] = ROW_COLUMNS as readonly string[] as readonly Name[],
): Generator<RowValues<Name>> {
  const missing = Object.fromEntries(columns.map((column) => [column, readerOf(column) === Number ? 0 : '']))
  for (const lines of rows) {
    for (let start = 0; start < lines.length; ) {
      const end = lines.indexOf(LINE_FEED, start)
      yield { ...missing, ...readRow(lines.subarray(start, end), columns) } as RowValues<Name>
      start = end + 1
    }
  }
}

/** The columns that one row has. A row that is not enriched yet ends early. @param row without its line feed */
export function readRow<Name extends Column = RowColumn>(
  row: Buffer,
  columns: readonly Name[] = ROW_COLUMNS as readonly string[] as readonly Name[],
): Partial<RowValues<Name>> {
  const texts = row.toString('utf8').split('\t').slice(0, columns.length)
  return Object.fromEntries(texts.map((text, i) => [columns[i]!, readerOf(columns[i]!)(text)])) as Partial<
    RowValues<Name>
  >
}

function readerOf(column: Column): (text: string) => string | number | null {
  return column in READERS ? READERS[column as keyof Readers] : fromTsv
}
