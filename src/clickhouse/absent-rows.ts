import type { ClickHouseClient } from '@clickhouse/client'
import { quote } from './quote.ts'
import { EVENTS, type TargetTable } from './tables.ts'

const LINE_FEED = 10
const TAB = 9
const ROWS_PER_QUERY = 10_000
const QUERY_BYTES_MAX = 67_108_864

/**
 * The rows that a table does not hold, as lines. To be asked when an insert was cut off by the end of ClickHouse and its
 * repeat was accepted: ClickHouse (26.7, not replicated) writes a token to its deduplication log right before it puts the
 * part in place, so a crash between the two leaves a token that drops the rows without having them. Rows that are absent
 * after the repeat have to be inserted under another token.
 * @param rows lines with the columns of the table, each ended by a line feed
 */
export async function absentRows(
  client: ClickHouseClient,
  rows: readonly Buffer[],
  table: TargetTable = EVENTS,
): Promise<Buffer[]> {
  const lines = rows.flatMap(linesOf)
  const absent: Buffer[] = []
  for (let from = 0; from < lines.length; from += ROWS_PER_QUERY) {
    const some = lines.slice(from, from + ROWS_PER_QUERY)
    for (const index of await absentIndexes(client, some, table)) absent.push(some[index]!)
  }
  return absent
}

async function absentIndexes(
  client: ClickHouseClient,
  lines: readonly Buffer[],
  table: TargetTable,
): Promise<number[]> {
  const { name, identity, finder, time } = table
  const columns = Object.keys(identity)
  const structure = columns.map((column) => `${column} ${identity[column]}`).join()
  const keys = lines.map((line, index) => `${index}\t${keyOf(line, table)}`).join('\n')
  const result = await client.query({
    query: `
      WITH wanted AS
      (
        SELECT * FROM format(
          TabSeparated,
          'position UInt32, ${structure.replace(/'/g, "\\'")}',
          ${quote(keys)})
      )
      SELECT position FROM wanted
      WHERE (${columns.join()}) NOT IN
      (
        SELECT ${columns.join()} FROM ${name}
        WHERE ${time} >= (SELECT min(${time}) FROM wanted)
          AND ${time} <= (SELECT max(${time}) FROM wanted)
          AND tenant_id IN (SELECT tenant_id FROM wanted)
          AND ${finder} IN (SELECT ${finder} FROM wanted)
      )
      ORDER BY position`,
    format: 'JSONCompactEachRow',
    clickhouse_settings: { max_query_size: String(QUERY_BYTES_MAX) },
  })
  return (await result.json<[number]>()).map(([position]) => position)
}

function linesOf(rows: Buffer): Buffer[] {
  const lines: Buffer[] = []
  for (let from = 0; from < rows.length; ) {
    const end = rows.indexOf(LINE_FEED, from) + 1
    if (end === 0) throw new Error('a row without its line feed')
    lines.push(rows.subarray(from, end))
    from = end
  }
  return lines
}

/** The columns of the identity as they are. */
function keyOf(line: Buffer, { columns, identity }: TargetTable): string {
  const names = Object.keys(identity)
  return columnsOf(line, columns.indexOf(names[0]!), names.length)
}

/** The time of the first of some rows, milliseconds; 0 when it cannot be read. */
export function firstTimeOf(rows: Buffer, { columns, time }: TargetTable): number {
  const text = columnsOf(rows, columns.indexOf(time), 1)
  // Seconds, or a day or a time as text, in UTC.
  const ms = text[4] === '-' ? Date.parse(text.length > 10 ? `${text.replace(' ', 'T')}Z` : text) : Number(text) * 1_000
  return Number.isNaN(ms) ? 0 : ms
}

function columnsOf(line: Buffer, at: number, count: number): string {
  let from = 0
  for (let column = 0; column < at; column++) from = line.indexOf(TAB, from) + 1
  let end = from
  for (let column = 0; column < count; column++) end = line.indexOf(TAB, end) + 1
  return line.toString('utf8', from, end - 1)
}
