import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client'
import { givenUp } from '../../stores/clickhouse/client.ts'

/** Stored events with equal values for all fields that rules use; see `StoredGroup`. */
interface Group {
  readonly ip: string
  readonly companyId: string
  readonly classification: string
  readonly data: Readonly<Record<string, string | number>>
  readonly events: number
}

const DATA = ['domain', 'business_name', 'org_name', 'as_name'] as const
const NUMBERS = { output_format_json_quote_64bit_integers: 0 } as const
/** A day may have more addresses than fit into the memory of a small engine. */
const GENTLE = { max_threads: 1, max_bytes_before_external_group_by: '134217728' } as const

/**
 * Streams stored events of a tenant in groups.
 * @param client of the database `ipid`
 * @param since first UTC day of receipt, `YYYY-MM-DD`
 * @param secondsMax time limit; 0: none
 */
export async function* storedGroups(
  client: ClickHouseClient,
  tenantId: string,
  since: string,
  secondsMax = 0,
): AsyncGenerator<Group> {
  const result = await client.query({
    query: `
      SELECT ip, company_id, classification, asn, ${DATA.join()}, count()
      FROM events
      WHERE tenant_id = {tenant:String} AND received_at >= toDateTime64({since:String}, 3, 'UTC')
      GROUP BY ALL`,
    query_params: { tenant: tenantId, since: `${since} 00:00:00` },
    format: 'JSONCompactEachRow',
    ...within(secondsMax, { ...NUMBERS, ...GENTLE }),
  })
  for await (const rows of result.stream<[string, string, string, number, ...string[]]>()) {
    for (const row of rows) {
      const [ip, companyId, classification, asn, ...rest] = row.json<[string, string, string, number, ...string[]]>()
      const known = DATA.flatMap((name, i) => (rest[i] === '' ? [] : [[name, rest[i]!] as const]))
      const data = { ...Object.fromEntries(known), ...(asn > 0 && { asn }) }
      yield { ip, companyId, classification, data, events: Number(rest[DATA.length]) }
    }
  }
}

/** Counts of filtered events; parameters as in `storedGroups`. */
export async function filteredSums(client: ClickHouseClient, tenantId: string, since: string, secondsMax = 0) {
  const result = await client.query({
    query: `
      SELECT reason, classification, sum(events) AS events
      FROM daily_outcomes
      WHERE tenant_id = {tenant:String} AND day >= {since:Date} AND status = 'filtered'
      GROUP BY reason, classification
      HAVING events > 0
      ORDER BY events DESC`,
    query_params: { tenant: tenantId, since },
    format: 'JSONEachRow',
    ...within(secondsMax, NUMBERS),
  })
  return await result.json<{ reason: string; classification: string; events: number }>()
}

function within(secondsMax: number, settings: ClickHouseSettings) {
  const clickhouse_settings = { ...settings, max_execution_time: secondsMax }
  return secondsMax === 0 ? { clickhouse_settings } : { clickhouse_settings, abort_signal: givenUp(secondsMax) }
}
