import { createClient } from '@clickhouse/client'
import { Redis } from 'ioredis'
import { receiveInput, send } from '../run/child.ts'

/* Reads events from the stream, inserts them as objects with `insert()`, then acknowledges and deletes them. */

const READ_COUNT = 2_000
const INSERT_ROWS = 20_000
const LINGER_MS = 1_000
const BLOCK_MS = 100

const { socket, clickhouseUrl, database } = await receiveInput<{
  socket: string
  clickhouseUrl: string
  database: string
}>()
const redis = new Redis({ path: socket })
const clickhouse = createClient({
  url: clickhouseUrl,
  database,
  clickhouse_settings: { async_insert: 0, date_time_input_format: 'best_effort' },
})

type Entry = [id: string, fields: string[]]

let ids: string[] = []
let rows: unknown[] = []
let insertedMs = performance.now()

async function insert(): Promise<void> {
  await clickhouse.insert({ table: 'events', values: rows, format: 'JSONEachRow' })
  await redis
    .pipeline()
    .xack('events', 'worker', ...ids)
    .xdel('events', ...ids)
    .exec()
  ids = []
  rows = []
}

await redis.xgroup('CREATE', 'events', 'worker', '$', 'MKSTREAM')
send({})
for (;;) {
  const read = (await redis.xreadgroup(
    ...([
      'GROUP',
      'worker',
      'one',
      'COUNT',
      READ_COUNT,
      'BLOCK',
      BLOCK_MS,
      'STREAMS',
      'events',
      '>',
    ] as unknown as Parameters<Redis['xreadgroup']>),
  )) as [string, Entry[]][] | null
  for (const [id, fields] of read?.[0]?.[1] ?? []) {
    ids.push(id)
    rows.push(JSON.parse(fields[1]!))
  }
  const isDue = rows.length >= INSERT_ROWS || performance.now() - insertedMs >= LINGER_MS
  if (!isDue || rows.length === 0) continue
  await insert()
  insertedMs = performance.now()
}
