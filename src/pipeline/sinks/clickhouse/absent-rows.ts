import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client'
import { UnavailableError } from '../../../run/errors.ts'
import { DATABASE } from '../../../stores/clickhouse/client.ts'
import { ALL_HAVE_TO_ANSWER, SOME_MAY_BE_AWAY } from '../../../stores/clickhouse/cluster.ts'
import { everyReplica, localOf } from '../../../stores/clickhouse/cluster-form.ts'
import { quote } from '../../../stores/clickhouse/quote.ts'
import { EVENTS, type TargetTable } from '../../../stores/clickhouse/tables.ts'

const LINE_FEED = 10
const TAB = 9
const ROWS_PER_QUERY = 10_000
const QUERY_BYTES_MAX = 67_108_864
const NUMBERS = { output_format_json_quote_64bit_integers: 0 } as const

/** Of a cluster, how many replicas each shard has. */
export interface Majority {
  readonly name: string
  readonly of: number
}

/** Where rows are looked for. */
export interface RowsOf {
  readonly table: TargetTable
  /** The table is spread over a cluster; undefined: it is of one server. */
  readonly cluster?: Majority | undefined
}

/**
 * The rows that a table does not hold, as lines. To be asked when an insert was cut off by the end of ClickHouse and its
 * repeat was accepted: ClickHouse (26.7, not replicated) writes a token to its deduplication log right before it puts the
 * part in place, so a crash between the two leaves a token that drops the rows without having them. Rows that are absent
 * after the repeat have to be inserted under another token.
 *
 * On a cluster a row is there when a majority of replicas has it, whoever else is away, and absent when all replicas answer
 * and none has it. In between it may come or go: a replica lags, or has a part that it will have to give up.
 * @param rows lines with the columns of the table, each ended by a line feed
 * @throws UnavailableError when it cannot be told
 */
export async function absentRows(
  client: ClickHouseClient,
  rows: readonly Buffer[],
  { table, cluster }: RowsOf = { table: EVENTS },
): Promise<Buffer[]> {
  const lines = rows.flatMap(linesOf)
  if (cluster === undefined) return (await tooFew(client, lines, notIn(table))).map(({ line }) => line)
  const query = belowMajority(table, cluster)
  const doubtful = await tooFew(client, lines, query, SOME_MAY_BE_AWAY)
  const sure = await tooFew(
    client,
    doubtful.map(({ line }) => line),
    query,
    ALL_HAVE_TO_ANSWER,
  )
  if (sure.some(({ replicas }) => replicas > 0))
    throw new UnavailableError(`rows of ${table.name} are on fewer replicas than a majority: they are waited for`)
  return sure.map(({ line }) => line)
}

/** A line that too few replicas have. */
interface TooFew {
  readonly line: Buffer
  readonly replicas: number
}

/** @param query by the lines that are wanted: rows of position and replicas */
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
    const some = lines.slice(from, from + ROWS_PER_QUERY)
    const keys = some.map((line, index) => `${index}\t${keyOf(line, table)}`).join('\n')
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
    found.push(...rows.map(([position, replicas]) => ({ line: some[position]!, replicas })))
  }
  return found
}

function notIn(table: TargetTable) {
  const columns = Object.keys(table.identity).join()
  return { table, sql: `SELECT position, 0 FROM wanted WHERE (${columns}) NOT IN (SELECT ${columns} ${stored(table)})` }
}

/** What is looked for goes to replicas as a table, not in their statement. */
function belowMajority(table: TargetTable, { name, of }: Majority) {
  const columns = Object.keys(table.identity).join()
  const place = everyReplica(name, `${DATABASE}.${localOf(table.name)}`)
  const counted = `SELECT ${columns}, uniqExact(_shard_num) AS replicas ${stored(table, place, 'GLOBAL IN')} GROUP BY ${columns}`
  const sql = `
    SELECT position, replicas FROM wanted LEFT JOIN (${counted}) AS found USING (${columns})
    WHERE replicas < ${Math.floor(of / 2) + 1}`
  return { table, sql }
}

function stored({ name, finder, time }: TargetTable, place = name, isIn = 'IN'): string {
  return `
    FROM ${place}
    WHERE ${time} >= (SELECT min(${time}) FROM wanted)
      AND ${time} <= (SELECT max(${time}) FROM wanted)
      AND tenant_id ${isIn} (SELECT tenant_id FROM wanted)
      AND ${finder} ${isIn} (SELECT ${finder} FROM wanted)`
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
