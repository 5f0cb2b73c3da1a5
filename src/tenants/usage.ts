import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client'
import { InputError } from '../run/errors.ts'
import { missingTable } from '../stores/clickhouse/failures.ts'

/** Tracked accounts of a tenant in a month. */
export interface Usage {
  /** Distinct companies, not the caller's accounts (schemas/README.md, Tenants, keys and plans). */
  readonly tracked_accounts: number
  /** Receipt of the first event of the company beyond the limit, ISO 8601 UTC; null while below the limit. */
  readonly passed_at: string | null
}

/** Reads the projection `company_sums`. It must use `IN` to match the projection. */
const QUERY = `
  SELECT
    count() AS tracked_accounts,
    toUnixTimestamp64Milli(arrayElementOrNull(arraySort(groupArray(first_received)), {limit:UInt64} + 1)) AS passed_at_ms
  FROM
  (
    SELECT company, min(received_at) AS first_received
    FROM events
    WHERE tenant_id = {tenant:String} AND company > 0 AND toYYYYMM(received_at) IN ({month:UInt32})
    GROUP BY company
  )`

/** Tracked accounts of all tenants. Reads the projection too. */
export const EVERYBODY = `
  SELECT tenant_id, count() AS accounts
  FROM
  (
    SELECT tenant_id, company, min(received_at)
    FROM events
    WHERE company > 0 AND toYYYYMM(received_at) IN ({month:UInt32})
    GROUP BY tenant_id, company
  )
  GROUP BY tenant_id
  ORDER BY accounts DESC
  LIMIT 10000`

/**
 * Tracked accounts of a UTC month, by tenant, for the 10,000 tenants with the most.
 * @param client of the database `ipid`
 * @param month `YYYY-MM`
 */
export async function readTrackedAccounts(client: ClickHouseClient, month: string): Promise<Map<string, number>> {
  const result = await ask(client, {
    query: EVERYBODY,
    query_params: { month: Number(month.replace('-', '')) },
    // No user waits for it.
    clickhouse_settings: { output_format_json_quote_64bit_integers: 0, max_threads: 1, max_execution_time: 60 },
  })
  return new Map(await result.json<[string, number]>())
}

/**
 * Usage of a UTC month, by time of receipt.
 * @param client of the database `ipid`
 * @param month `YYYY-MM`
 * @param signal ends it
 * @throws InputError when the month is invalid
 */
export async function readUsage(
  client: ClickHouseClient,
  tenantId: string,
  month: string,
  monthlyAccountsLimit: number,
  signal?: AbortSignal,
): Promise<Usage> {
  if (!/^\d{4}-(?:0[1-9]|1[0-2])$/.test(month)) throw new InputError(`month: must be YYYY-MM, got ${month}`)
  const result = await ask(client, {
    query: QUERY,
    query_params: { tenant: tenantId, month: Number(month.replace('-', '')), limit: monthlyAccountsLimit },
    ...(signal && { abort_signal: signal }),
    clickhouse_settings: { output_format_json_quote_64bit_integers: 0 },
  })
  const [row] = await result.json<[number, number | null]>()
  const [trackedAccounts, passedAtMs] = row ?? [0, null]
  return {
    tracked_accounts: trackedAccounts,
    passed_at: passedAtMs === null ? null : new Date(passedAtMs).toISOString(),
  }
}

interface Question {
  readonly query: string
  readonly query_params: Readonly<Record<string, string | number>>
  readonly abort_signal?: AbortSignal
  readonly clickhouse_settings: ClickHouseSettings
}

async function ask(client: ClickHouseClient, question: Question) {
  try {
    return await client.query({ ...question, format: 'JSONCompactEachRow' })
  } catch (error) {
    throw missingTable(error) ?? error
  }
}
