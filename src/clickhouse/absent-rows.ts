import type { ClickHouseClient } from '@clickhouse/client'
import { ROW_COLUMNS, ROW_IDENTITY } from '../../schemas/row.ts'

const LINE_FEED = 10
const TAB = 9
const IDENTITY_AT = ROW_COLUMNS.indexOf(ROW_IDENTITY[0])
const ROWS_PER_QUERY = 10_000
const QUERY_BYTES_MAX = 67_108_864

/**
 * The rows that `events` does not hold, as lines. To be asked when an insert was cut off by the end of ClickHouse and its
 * repeat was accepted: ClickHouse (26.7, not replicated) writes a token to its deduplication log right before it puts the
 * part in place, so a crash between the two leaves a token that drops the rows without having them. Rows that are absent
 * after the repeat have to be inserted under another token. An event is known by tenant, id and time of receipt.
 * @param rows lines of `row.ts`, each ended by a line feed
 */
export async function absentRows(client: ClickHouseClient, rows: readonly Buffer[]): Promise<Buffer[]> {
  const lines = rows.flatMap(linesOf)
  const absent: Buffer[] = []
  for (let from = 0; from < lines.length; from += ROWS_PER_QUERY) {
    const some = lines.slice(from, from + ROWS_PER_QUERY)
    for (const index of await absentIndexes(client, some)) absent.push(some[index]!)
  }
  return absent
}

async function absentIndexes(client: ClickHouseClient, lines: readonly Buffer[]): Promise<number[]> {
  const keys = lines.map((line, index) => `${index}\t${keyOf(line)}`).join('\n')
  const literal = `'${keys.replace(/[\\']/g, '\\$&')}'`
  const result = await client.query({
    query: `
      WITH wanted AS
      (
        SELECT * FROM format(
          TabSeparated,
          'position UInt32, tenant_id String, event_id String, received_at DateTime64(3, \\'UTC\\')',
          ${literal})
      )
      SELECT position FROM wanted
      WHERE (${ROW_IDENTITY.join()}) NOT IN
      (
        SELECT ${ROW_IDENTITY.join()} FROM events
        WHERE received_at >= (SELECT min(received_at) FROM wanted)
          AND received_at <= (SELECT max(received_at) FROM wanted)
          AND event_id IN (SELECT event_id FROM wanted)
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

/** The columns of `ROW_IDENTITY` as they are. */
function keyOf(line: Buffer): string {
  let from = 0
  for (let column = 0; column < IDENTITY_AT; column++) from = line.indexOf(TAB, from) + 1
  let end = from
  for (let column = 0; column < ROW_IDENTITY.length; column++) end = line.indexOf(TAB, end) + 1
  return line.toString('utf8', from, end - 1)
}
