import assert from 'node:assert/strict'
import { fetchClickHouse } from './fetch-clickhouse.ts'

/** Stores visits of Old Bank (DE, 100 and 5 days ago), Newcomer (FR, 3) and Faraway (JP, 60). */
export async function storeVisits(clickhouseUrl: string, tenant: string): Promise<void> {
  const visits = [
    ...[100, 5].map((days) => ['bank.example', 'Old Bank', 'DE', days] as const),
    ['new.example', 'Newcomer', 'FR', 3] as const,
    ['far.example', 'Faraway', 'JP', 60] as const,
  ]
  const rows = visits.map(
    ([id, name, code, days], i) =>
      `('198.51.100.${i}', '${tenant}', 'old-${i}', now64(3) - ${days} * 86400, now64(3) - ${days} * 86400, '${id}', '${id}', '${name}', '${id}', 'Banks', '${code}')`,
  )
  const columns =
    'ip, tenant_id, event_id, received_at, timestamp, account_id, company_id, business_name, domain, industry, country_code'
  const body = `INSERT INTO events (${columns}) VALUES ${rows.join()}`
  const response = await fetchClickHouse(clickhouseUrl, { database: 'ipid' }, { body })
  assert.equal(response.status, 200, await response.text())
}
