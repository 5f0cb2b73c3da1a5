import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { DayTables } from '../../src/days/day-tables.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'

const PAGE = readFileSync(new URL('../../schemas/clickhouse/README.md', import.meta.url), 'utf8')
const QUERIES = [...PAGE.matchAll(/```sql\n([\s\S]*?)```/g)].map(([, query]) => query!)

/** Rows in `events`, over 30 days; 150,000 of them belong to `demo`, 5,000 a day. */
const ROWS = 500_000

/**
 * Rows that the queries of the page may read, in their order. Rows are read in granules of 8,192, and a range of them
 * begins and ends within one.
 */
const ROWS_READ_MAX = [
  ['outcomes of a week', 20_000],
  ['accounts', 60_000],
  ['visits of a week', 40_000],
  ['sessions of a day', 50_000],
  ['the newest', 50_000],
  ['a day', 50_000],
  ['a week of an account', 90_000],
  ['jobs', 20_000],
] as const

test('the queries of schemas/clickhouse/README.md read only a part of a tenant', async () => {
  const clickhouse = await startTestClickHouse()
  const command = (query: string) => clickhouse.client.command({ query })
  // 500 organisations of demo and 1,000 of others; one row in ten is a backfill; days up to now.
  await command(`
    INSERT INTO events (ip, tenant_id, event_id, received_at, timestamp, event_type, session_id, platform, properties,
      account_id, company_id, business_name, classification, quality, job_id)
    SELECT
      concat('192.0.', toString(number % 200), '.', toString(intDiv(number, 7) % 250)),
      if(number % 10 < 3, 'demo', concat('other', toString(number % 10))),
      toString(generateUUIDv4()),
      timestamp,
      now64(3, 'UTC') - INTERVAL 30 DAY + INTERVAL intDiv(number * 2592000, ${ROWS}) SECOND AS timestamp,
      ['page_view', 'click', 'signup'][number % 3 + 1],
      intDiv(number, 100),
      'web',
      '{"path":"/pricing"}',
      if(number % 500 = 0, 'apple.com', concat('org', toString(number % 500), '.example')) AS account_id,
      account_id,
      account_id,
      'business',
      90,
      if(intDiv(number, 1000) % 10 = 0, '43439489-4e31-4e39-ae5d-03f97adc8712', '')
    FROM numbers(${ROWS})`)
  await command(`
    INSERT INTO outcomes (source, tenant_id, day, status, classification, events)
    SELECT concat('p:', toString(number)), if(number % 2 = 0, 'demo', 'other'), today() - number % 30, 'filtered', 'cloud', 1
    FROM numbers(100000)`)

  const days = new DayTables({ url: clickhouse.url })
  const today = new Date().toISOString().slice(0, 10)
  for (const day of (await days.stale(today)).newest) await days.build(day, Date.now())
  await days.close()

  assert.equal(QUERIES.length, ROWS_READ_MAX.length)
  for (const [i, [what, rowsMax]] of ROWS_READ_MAX.entries()) {
    const limit = { max_rows_to_read: String(rowsMax), read_overflow_mode: 'throw' } as const
    const asked = clickhouse.client.query({ query: QUERIES[i]!, format: 'JSONEachRow', clickhouse_settings: limit })
    const rows = await asked.then(
      (result) => result.json(),
      (error: Error) => assert.fail(`${what}: ${error.message}`),
    )
    assert.ok(rows.length > 0, what)
  }
  const all = clickhouse.client.query({
    query: "SELECT uniqExact(event_id) FROM events WHERE tenant_id = 'demo'",
    clickhouse_settings: { max_rows_to_read: '90000' },
  })
  await assert.rejects(
    all.then((result) => result.text()),
    'a query that reads the whole tenant exceeds the limit',
  )
})
