import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BUILD_ID, BUILD_SQL } from '../../src/days/day-tables.ts'
import { ClickHouseErasableEvents } from '../../src/operations/erasure/erasable-events.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { TestDays } from '../support/days.ts'
import { until } from '../support/until.ts'

const AT = Date.parse('2026-11-22T00:00:00Z')

test('an interrupted erasure continues by itself, and removes nothing that the next one needs', async (t) => {
  const { url, client, rows } = await startTestClickHouse(t, { external: true })
  const command = (query: string) => client.command({ query })
  for (const tenant of ['a', 'b']) {
    for (const account of ['x', 'y']) {
      await command(`
        INSERT INTO events (ip, tenant_id, event_id, received_at, timestamp, account_id, company_id)
        SELECT '17.0.0.1', '${tenant}', '${account}' || toString(number), '2026-11-20', '2026-11-20', '${account}', 'c'
        FROM numbers(5)`)
    }
  }
  const erase = async (tenantId: string, value: string, waitMs: number) => {
    const tables = new ClickHouseErasableEvents(url)
    try {
      await tables.begin({ tenantId, selector: { kind: 'account', value }, beforeMs: AT })
      return await tables.remove(performance.now() + waitMs)
    } finally {
      await tables.end()
    }
  }
  await command('SYSTEM STOP MERGES events')
  await assert.rejects(erase('a', 'x', 300), /has not removed the rows in time/)
  await command('SYSTEM START MERGES events')
  assert.deepEqual(await erase('b', 'y', 60_000), { rows: 5, outcomes: 0, corrections: 0, detachedParts: 0 })
  const left = await rows('SELECT tenant_id, account_id, count() AS n FROM events GROUP BY ALL ORDER BY ALL')
  assert.deepEqual(
    left.map((row) => `${row.tenant_id}${row.account_id} ${row.n}`),
    ['ay 5', 'bx 5'],
  )
  const views = await rows('SELECT tenant_id, events FROM accounts ORDER BY ALL')
  assert.deepEqual(views, [
    { tenant_id: 'a', events: 5 },
    { tenant_id: 'b', events: 5 },
  ])
  const [tables] = await rows("SELECT count() AS n FROM system.tables WHERE name = 'erasing'")
  assert.equal(tables!.n, 0)
  // Later events stay.
  await command(
    "INSERT INTO events (tenant_id, event_id, received_at, account_id) VALUES ('a', 'late', '2026-11-22', 'y')",
  )
  assert.equal((await erase('a', 'y', 60_000)).rows, 5)
  assert.deepEqual(await rows("SELECT event_id FROM events WHERE tenant_id = 'a'"), [{ event_id: 'late' }])
  // A sink that hung in an insert and lost its share to another sink runs on after the erasure.
  const late = () =>
    client.command({
      query:
        "INSERT INTO events (tenant_id, event_id, received_at, account_id) VALUES ('c', 'again', '2025-01-01', 'z')",
      clickhouse_settings: { insert_deduplicate: 1, insert_deduplication_token: 'of-the-sink' },
    })
  await late()
  assert.equal((await erase('c', 'z', 60_000)).rows, 1)
  await late()
  assert.deepEqual(await rows("SELECT event_id FROM events WHERE tenant_id = 'c'"), [])
})

test('an erasure removes the stored days that its events have left, also of a build that ran meanwhile', async (t) => {
  const clickhouse = await startTestClickHouse(t, { external: true })
  const { url, client, rows } = clickhouse
  const days = new TestDays(clickhouse)
  t.after(() => days.tables.close())
  for (const tenant of ['a', 'b'])
    await client.command({
      query: `
        INSERT INTO events (ip, tenant_id, event_id, received_at, timestamp, account_id, company_id, extra)
        SELECT concat('17.0.0.', toString(number)), '${tenant}', toString(number), time, time, concat('x', toString(number)), 'c', '{"url":"https://a.example/"}'
        FROM (SELECT number, toDateTime64('2026-11-19', 3, 'UTC') + intDiv(number, 5) * 86400 AS time FROM numbers(10))`,
    })
  await days.build()
  const before = await rows<{ built: number; day: string }>('SELECT DISTINCT day, built FROM entity_days ORDER BY ALL')
  const holding = async (ip: string, tenant: string) => {
    const found = `SELECT count() AS n FROM entity_days WHERE tenant_id = '${tenant}' AND has(visitors, sipHash64('${ip}'))`
    return (await rows<{ n: number }>(found))[0]!.n
  }
  assert.equal(await holding('17.0.0.1', 'a'), 2)
  const erase = async (tenantId: string, value: string | undefined) => {
    const tables = new ClickHouseErasableEvents(url)
    try {
      const selector = value === undefined ? undefined : ({ kind: 'ip', value } as const)
      await tables.begin({ tenantId, selector, beforeMs: AT })
      return await tables.remove(performance.now() + 60_000)
    } finally {
      await tables.end()
    }
  }
  // It has read the events, and stores them after these are removed.
  const slow = client.command({
    query: BUILD_SQL.entity_days.replace('length(part.3)', 'length(part.3) + sleepEachRow(2)'),
    query_params: { tenant: 'a', day: '2026-11-19', built: Date.now() },
    query_id: `${BUILD_ID}slow`,
    // Longer than the removal of events.
    clickhouse_settings: { function_sleep_max_microseconds_per_block: '60000000' },
  })
  const isRunning = async () =>
    (await rows(`SELECT 1 FROM system.processes WHERE initial_query_id = '${BUILD_ID}slow'`)).length > 0
  await until(isRunning)
  assert.equal((await erase('a', '17.0.0.1')).rows, 1)
  assert.equal(await isRunning(), false)
  await slow
  assert.equal(await holding('17.0.0.1', 'a'), 0)
  // A day without the address stays, and the day of another tenant.
  assert.equal(await holding('17.0.0.7', 'a'), 2)
  assert.equal(await holding('17.0.0.1', 'b'), 2)
  const parts = "SELECT count() AS n FROM system.parts WHERE database = 'ipid' AND table LIKE '%_days' AND NOT active"
  assert.deepEqual(await rows(parts), [{ n: 0 }])
  assert.deepEqual(await days.exactness(), { entities: 1, pages: 1, entity_days: 3, page_days: 3 })
  await days.build()
  assert.deepEqual(await days.exactness(), { entities: 1, pages: 1, entity_days: 4, page_days: 4 })
  assert.equal(before.length, 4)
  await erase('b', undefined)
  const tenants =
    'SELECT DISTINCT tenant_id FROM (SELECT tenant_id FROM entity_days UNION ALL SELECT tenant_id FROM page_days)'
  assert.deepEqual(await rows(tenants), [{ tenant_id: 'a' }])
})
