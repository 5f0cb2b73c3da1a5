import { ROW_COLUMNS } from '../../schemas/row.ts'
import { tsv, tsvTime } from '../../src/pipeline/event/row.ts'
import { TableInserter } from '../../src/pipeline/sinks/clickhouse/inserter.ts'
import { EVENTS } from '../../src/stores/clickhouse/tables.ts'
import type { TestClickHouse } from './clickhouse.ts'

export type EventRow = Partial<Record<(typeof ROW_COLUMNS)[number], string | number>>

const DEFAULTS: EventRow = {
  ip: '192.0.2.1',
  tenant_id: 'acme',
  received_at: Date.UTC(2025, 10, 20),
  timestamp: Date.UTC(2025, 10, 20),
  session_id: '\\N',
  account_id: 'example.com',
  company_id: 'example.com',
  business_name: 'Example',
  org_name: 'Example Holdings',
  domain: 'example.com',
  classification: 'business',
  country_code: 'DE',
  asn: 64_500,
  quality: 80,
}

/** Rows as the sink sends them; times are milliseconds, and missing fields are those of an ordinary event. */
export function eventRows(rows: readonly EventRow[]): Buffer {
  const lines = rows.map((row, index) => {
    const full: EventRow = { event_id: `event-${index}`, ...DEFAULTS, ...row }
    return ROW_COLUMNS.map((column) => {
      const value = full[column] ?? ''
      if (column === 'received_at' || column === 'timestamp') return tsvTime(Number(value))
      return column === 'session_id' ? String(value) : tsv(String(value))
    }).join('\t')
  })
  return Buffer.from(`${lines.join('\n')}\n`)
}

/** Inserts events of a tenant as the sink does, each time under a new token. */
export function eventInserter(clickhouse: TestClickHouse) {
  const inserter = new TableInserter(EVENTS, clickhouse.client, async () => {})
  let inserts = 0
  return async (tenant: string, rows: readonly EventRow[]): Promise<void> => {
    await inserter.insert([eventRows(rows.map((row) => ({ tenant_id: tenant, ...row })))], `insert-${inserts++}`)
  }
}
