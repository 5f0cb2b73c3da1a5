import { readFile } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import type { ClickHouseClient } from '@clickhouse/client'
import { utcDay } from '../../pipeline/event/outcomes.ts'
import { connectClickHouse, DATABASE } from '../../stores/clickhouse/client.ts'
import type { DamageStore, DetachedPart } from './damage-watch.ts'

const PARTS_MAX = 1_000
const DAY_MS = 86_400_000

/** ClickHouse keeps the sources of a merge for 8 minutes, and loads them when it cannot read the merged part. */
const QUERY = `
  SELECT d.table, d.name, d.partition_id, d.path,
    countIf(p.min_block_number <= d.min_block_number AND p.max_block_number < d.max_block_number) AS first,
    countIf(p.max_block_number >= d.max_block_number AND p.min_block_number > d.min_block_number) AS last,
    countIf(p.min_block_number = d.min_block_number AND p.max_block_number = d.max_block_number) AS same
  FROM
  (
    SELECT * FROM system.detached_parts
    WHERE database = currentDatabase() AND match(ifNull(reason, ''), '^(broken|unexpected|noquorum)')
    ORDER BY table, name LIMIT ${PARTS_MAX}
  ) AS d
  LEFT JOIN
  (
    SELECT table, partition_id, min_block_number, max_block_number
    FROM system.parts WHERE database = currentDatabase()
  ) AS p ON p.table = d.table AND p.partition_id = d.partition_id
    AND p.min_block_number <= d.max_block_number AND p.max_block_number >= d.min_block_number
  GROUP BY ALL ORDER BY d.table, d.name`

interface Row {
  readonly table: string
  readonly name: string
  readonly partition_id: string
  readonly path: string
  readonly first: number
  readonly last: number
  readonly same: number
}

/** Parts of our tables that ClickHouse could not read. Ignores parts that a user detached. */
export class ClickHouseDamage implements DamageStore {
  readonly #client: ClickHouseClient

  /** @param url as `connectClickHouse` takes it */
  constructor(url: string) {
    this.#client = connectClickHouse(url, { application: 'damage', database: DATABASE, connectionsMax: 1 })
  }

  async detached(): Promise<DetachedPart[]> {
    const settings = { output_format_json_quote_64bit_integers: 0, log_queries: 0 } as const
    const result = await this.#client.query({ query: QUERY, format: 'JSONEachRow', clickhouse_settings: settings })
    return await Promise.all((await result.json<Row>()).map(partOf))
  }

  close(): Promise<void> {
    return this.#client.close()
  }
}

async function partOf({ table, name, partition_id: partition, path, first, last, same }: Row): Promise<DetachedPart> {
  const [rows, days] = await Promise.all([countOf(path), daysOf(path, partition)])
  return { table, name, rows, ...(days ?? monthOf(partition)), isElsewhere: same > 0 || (first > 0 && last > 0) }
}

/** Reads a file of the part when ClickHouse runs on this machine; otherwise returns nothing. */
async function fileOf(path: string, name: string): Promise<Buffer> {
  return isAbsolute(path) ? await readFile(join(path, name)).catch(() => Buffer.alloc(0)) : Buffer.alloc(0)
}

async function countOf(path: string): Promise<number | null> {
  const text = (await fileOf(path, 'count.txt')).toString('latin1')
  return /^\d{1,15}$/.test(text) ? Number(text) : null
}

type Days = Pick<DetachedPart, 'from' | 'to'>

/** Reads the days from the part's min-max index, which may be damaged too. */
async function daysOf(path: string, partition: string): Promise<Days | undefined> {
  const [times, dates] = await Promise.all([fileOf(path, 'minmax_received_at.idx'), fileOf(path, 'minmax_day.idx')])
  const bounds =
    times.length === 16
      ? [Number(times.readBigInt64LE(0)), Number(times.readBigInt64LE(8))]
      : dates.length === 8
        ? [dates.readInt32LE(0) * DAY_MS, dates.readInt32LE(4) * DAY_MS]
        : []
  const [from, to] = bounds.map((ms) => (Math.abs(ms) < 8.64e15 ? utcDay(ms) : ''))
  const isOfPartition = (day: string) => day.slice(0, 7).replace('-', '') === partition
  return from && to && from <= to && isOfPartition(from) && isOfPartition(to) ? { from, to } : undefined
}

/** Partitions are months of receipt. A table without partitions has no days. */
function monthOf(partition: string): Days {
  if (!/^\d{4}(?:0[1-9]|1[0-2])$/.test(partition)) return { from: null, to: null }
  const [year, month] = [Number(partition.slice(0, 4)), Number(partition.slice(4))]
  return { from: utcDay(Date.UTC(year, month - 1, 1)), to: utcDay(Date.UTC(year, month, 0)) }
}
