import type { ClickHouseClient } from '@clickhouse/client'
import { LANES } from '../../pipeline/declaration/lane.ts'
import { DATABASE } from '../../stores/clickhouse/client.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { keys } from '../../stores/redis/keys.ts'
import { mastersOf } from '../../stores/redis/nodes.ts'

const ROWS_MAX = 50
const SETTINGS = { output_format_json_quote_64bit_integers: 0, log_queries: 0, readonly: '2' } as const

/** Sections of INFO without addresses of clients. */
const SECTIONS = ['server', 'memory', 'persistence', 'stats', 'commandstats', 'errorstats'] as const
/** Facts of these sections that name files or places. */
const PLACES = /^(?:executable|config_file|tcp_port|listener\d*|run_id|process_supervised):/
const SLOW_MAX = 30

/** Sizes of the tables, and work that ClickHouse does by itself. */
const TABLES = {
  tables: `SELECT table, count() AS parts, sum(rows) AS rows, sum(bytes_on_disk) AS bytes, min(min_time) AS oldest, max(modification_time) AS changed
    FROM system.parts WHERE database = '${DATABASE}' AND active GROUP BY table ORDER BY bytes DESC LIMIT 200`,
  detached: `SELECT table, reason, count() AS parts FROM system.detached_parts WHERE database = '${DATABASE}' GROUP BY table, reason LIMIT ${ROWS_MAX}`,
  mutations: `SELECT table, count() AS open, sum(parts_to_do) AS parts_to_do, min(create_time) AS oldest, countIf(latest_fail_reason != '') AS failing
    FROM system.mutations WHERE database = '${DATABASE}' AND NOT is_done GROUP BY table LIMIT ${ROWS_MAX}`,
  merges: `SELECT table, elapsed, progress, num_parts, total_size_bytes_compressed AS bytes, memory_usage FROM system.merges LIMIT ${ROWS_MAX}`,
  disks: 'SELECT name, type, free_space, total_space, unreserved_space FROM system.disks LIMIT 20',
  errors: `SELECT name, code, value AS times, last_error_time FROM system.errors WHERE NOT remote ORDER BY last_error_time DESC LIMIT ${ROWS_MAX}`,
} as const

/**
 * The text of ipid's own statements, without their values. Those of people, also by `./ipid sql`, may have names in comments and
 * aliases, so only their kind is shown.
 */
const statement = (query: string) =>
  `if(http_user_agent LIKE 'ipid-%', left(normalizeQuery(${query}), 2000), concat('a statement of another client: ', query_kind))`

const RUNNING = `SELECT elapsed, read_rows, total_rows_approx, memory_usage, is_cancelled, http_user_agent LIKE 'ipid-%' AS own,
    toString(normalizedQueryHash(query)) AS hash, ${statement('query')} AS statement
  FROM system.processes WHERE NOT startsWith(http_user_agent, 'ipid-support') ORDER BY elapsed DESC LIMIT ${ROWS_MAX}`

const SLOW = `SELECT count() AS times, countIf(exception_code != 0) AS failed, max(query_duration_ms) AS max_ms, round(avg(query_duration_ms)) AS avg_ms,
    max(read_rows) AS max_read_rows, max(memory_usage) AS max_memory_bytes, max(exception_code) AS error_code, max(event_time) AS last,
    toString(normalized_query_hash) AS hash, any(${statement('query')}) AS statement
  FROM system.query_log WHERE event_time > now() - INTERVAL 1 DAY AND type != 'QueryStart' AND NOT startsWith(http_user_agent, 'ipid-support')
  GROUP BY normalized_query_hash ORDER BY max_ms DESC LIMIT ${ROWS_MAX}`

async function rows(client: ClickHouseClient, query: string): Promise<unknown[]> {
  return await (await client.query({ query, format: 'JSONEachRow', clickhouse_settings: SETTINGS })).json()
}

/** As `rows`; a part that this server or user does not have is the reason. */
async function rowsOrReason(client: ClickHouseClient, query: string): Promise<unknown> {
  return await rows(client, query).catch((error: Error) => ({ unknown: error.message }))
}

/** Sizes of ipid's tables, unfinished merges and changes, disks, and the last errors by their codes. */
export async function clickhouseSizes(client: ClickHouseClient): Promise<object> {
  await rows(client, 'SELECT 1')
  const parts = Object.entries(TABLES).map(async ([name, query]) => [name, await rowsOrReason(client, query)] as const)
  return Object.fromEntries(await Promise.all(parts))
}

/** Statements that run now, and the slowest of the last day, without the values in them. */
export async function statements(client: ClickHouseClient): Promise<object> {
  const running = await rows(client, RUNNING)
  const [log] = (await rows(
    client,
    `SELECT count() AS log FROM system.tables WHERE database = 'system' AND name = 'query_log'`,
  )) as {
    log: number
  }[]
  const slowest =
    log?.log === 1 ? await rowsOrReason(client, SLOW) : { unknown: 'this ClickHouse keeps no system.query_log' }
  return { running, slowest }
}

/** Sizes of the streams, and what Redis says of itself: for a cluster, of each master. */
export async function redisSizes(client: RedisClient): Promise<object> {
  const [partitions, names] = await Promise.all([client.get(keys.partitions()), client.smembers(keys.streams())])
  const streams: object[] = []
  for (let partition = 0; partition < Number(partitions ?? 0); partition++) {
    const own = names.flatMap((stream) => LANES.map((lane) => keys.stream(partition, stream, lane)))
    for (const key of [...own, keys.dead(partition)]) {
      const [entries, bytes] = await Promise.all([client.xlen(key), client.memory('USAGE', key)])
      if (entries > 0) streams.push({ stream: key, entries, bytes })
    }
  }
  const servers = await Promise.all(
    mastersOf(client).map(async (master) => {
      const info = (await Promise.all(SECTIONS.map((section) => master.info(section)))).join('').split('\r\n')
      const facts = info.filter((line) => line !== '' && !line.startsWith('#') && !PLACES.test(line))
      return { keys: await master.dbsize(), slow_commands: await slowCommands(master), info: facts }
    }),
  )
  return { partitions: Number(partitions ?? 0), streams, servers }
}

/** The slow commands without their arguments, which hold events. */
async function slowCommands(master: ReturnType<typeof mastersOf>[number]): Promise<unknown> {
  try {
    const entries = (await master.slowlog('GET', SLOW_MAX)) as [number, number, number, string[]][]
    return entries.map(([, at, us, [command = '']]) => ({ at: new Date(at * 1_000).toISOString(), us, command }))
  } catch (error) {
    return { unknown: (error as Error).message }
  }
}
