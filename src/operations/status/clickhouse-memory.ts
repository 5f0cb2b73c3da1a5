import type { ClickHouseClient } from '@clickhouse/client'
import type { ClickHouseStatus } from './system-status.ts'

const QUERY = `
  SELECT
    version() AS version,
    (SELECT sum(value) FROM system.metrics WHERE metric = 'MemoryTracking') AS memory_bytes,
    (SELECT sum(toUInt64OrZero(value)) FROM system.server_settings WHERE name = 'max_server_memory_usage') AS memory_max_bytes`

type Memory = Omit<ClickHouseStatus, 'missing_tables'>

/** ClickHouse's version, and the memory that it reports. */
export async function readMemory(client: ClickHouseClient): Promise<Memory> {
  const settings = { output_format_json_quote_64bit_integers: 0, log_queries: 0 } as const
  const result = await client.query({ query: QUERY, format: 'JSONEachRow', clickhouse_settings: settings })
  const [row] = await result.json<Memory>()
  if (row === undefined) throw new Error('ClickHouse sent an empty answer')
  return row
}
