import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ClickHouseErasableEvents } from '../../src/operations/erasure/erasable-events.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'

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
