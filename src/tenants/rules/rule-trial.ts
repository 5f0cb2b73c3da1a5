import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client'
import { type EventScope, inScope } from '../../enrichment/tenant-rules/rule-scope.ts'
import { givenUp } from '../../stores/clickhouse/client.ts'
import { quote } from '../../stores/clickhouse/quote.ts'
import { EVENTS, HIDDEN } from '../../stores/clickhouse/tables.ts'

/** Stored events with equal values for all fields that rules use; see `StoredGroup`. */
interface Group {
  readonly ip: string
  readonly companyId: string
  readonly classification: string
  readonly data: Readonly<Record<string, string | number>>
  readonly events: number
  /** Distinct UTC days, as days since 1970. */
  readonly days: readonly number[]
}

/** Which stored events to read. */
interface StoredSelection {
  /** First UTC day of receipt, `YYYY-MM-DD`. */
  readonly since: string
  /** Events that these rules hide, of any day, and not those that are shown. */
  readonly hiddenBy?: readonly string[]
  /** Only events that one of these rules may apply to; undefined: all. */
  readonly scope?: EventScope | undefined
  /** Time limit; 0 or undefined: none. */
  readonly secondsMax?: number
}

const DATA = ['domain', 'business_name', 'org_name', 'as_name'] as const
const NUMBERS = { output_format_json_quote_64bit_integers: 0 } as const
/** A day may have more addresses than fit into the memory of a small engine. */
const GENTLE = { max_threads: 1, max_bytes_before_external_group_by: '134217728' } as const

type Row = [string, string, string, number, ...(string | number | number[])[]]

/**
 * Streams stored events of a tenant in groups.
 * @param client of the database `ipid`
 */
export async function* storedGroups(
  client: ClickHouseClient,
  tenantId: string,
  { since, hiddenBy, scope, secondsMax = 0 }: StoredSelection,
): AsyncGenerator<Group> {
  const isOfRules = `hidden_rule IN (${['', ...(hiddenBy ?? [])].map(quote).join()}) AND hidden_rule != ''`
  const stored = `received_at >= toDateTime64({since:String}, 3, 'UTC')${scope === undefined ? '' : ` AND ${inScope(scope)}`}`
  const result = await client.query({
    query: `
      SELECT ip, company_id, classification, asn, ${DATA.join()}, count(), groupUniqArray(toInt32(toDate32(timestamp)))
      FROM ${hiddenBy === undefined ? EVENTS.name : HIDDEN}
      WHERE tenant_id = {tenant:String} AND ${hiddenBy === undefined ? stored : isOfRules}
      GROUP BY ip, company_id, classification, asn, ${DATA.join()}`,
    query_params: { tenant: tenantId, since: `${since} 00:00:00` },
    format: 'JSONCompactEachRow',
    ...within(secondsMax, { ...NUMBERS, ...GENTLE }),
  })
  for await (const rows of result.stream<Row>()) {
    for (const row of rows) {
      const [ip, companyId, classification, asn, ...rest] = row.json<Row>()
      const days = rest.pop() as number[]
      const known = DATA.flatMap((name, i) => (rest[i] === '' ? [] : [[name, String(rest[i])] as const]))
      const data = { ...Object.fromEntries(known), ...(asn > 0 && { asn }) }
      yield { ip, companyId, classification, data, events: Number(rest[DATA.length]), days }
    }
  }
}

/** Hidden events of a tenant, by the rule that hides them. */
export async function hiddenByRule(client: ClickHouseClient, tenantId: string): Promise<Record<string, number>> {
  const result = await client.query({
    query: `
      SELECT hidden_rule, count() FROM ${HIDDEN}
      WHERE tenant_id = {tenant:String} AND hidden_rule > '' GROUP BY hidden_rule`,
    query_params: { tenant: tenantId },
    format: 'JSONCompactEachRow',
    ...within(0, NUMBERS),
  })
  return Object.fromEntries(await result.json<[string, number]>())
}

/** Counts of filtered events, which rules cannot narrow. */
export async function filteredSums(
  client: ClickHouseClient,
  tenantId: string,
  { since, secondsMax = 0 }: StoredSelection,
) {
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
