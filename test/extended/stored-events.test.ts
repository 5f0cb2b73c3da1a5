import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ClickHouseStoredEvents } from '../../src/operations/reenrich/stored-events.ts'
import { TableInserter } from '../../src/pipeline/sinks/clickhouse/inserter.ts'
import { UnavailableError } from '../../src/run/errors.ts'
import { connectClickHouse, DATABASE } from '../../src/stores/clickhouse/client.ts'
import { migrate } from '../../src/stores/clickhouse/migrate.ts'
import { EVENTS } from '../../src/stores/clickhouse/tables.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { eventRows } from '../support/event-rows.ts'
import { silent } from '../support/pipeline.ts'

const AT = Date.UTC(2025, 10, 20, 8)

test('an event is found by its id, and few rows of its tenant are read', async (t) => {
  const clickhouse = await startTestClickHouse(t, { bare: true })
  const client = connectClickHouse(clickhouse.url, { application: 'test', database: DATABASE, requestTimeoutMs: 5_000 })
  t.after(() => client.close())
  const events = new ClickHouseStoredEvents(client)
  const find = (eventId: string, tenantId = 'acme') => events.find({ tenantId, eventId })
  await assert.rejects(find('e1'), { name: 'UnavailableError', message: /lacks a table of ipid/ })

  await migrate(clickhouse.url, silent)
  const inserter = new TableInserter(EVENTS, client, async () => {})
  const rows = eventRows([
    { event_id: 'e1', received_at: AT, request_id: "r'\\ 1", classification: 'business' },
    { event_id: 'e1', received_at: AT + 1, job_id: 'j', classification: '' },
    { event_id: 'e1', tenant_id: 'other', received_at: AT },
    { event_id: "e' OR 1 = 1 --\\", received_at: AT },
  ])
  // A row of an earlier version ends before its job.
  const earlier = eventRows([{ event_id: 'e2', received_at: AT }])
    .toString()
    .trimEnd()
    .split('\t')
    .slice(0, 24)
    .join('\t')
  await inserter.insert([rows, Buffer.from(`${earlier}\n`)], 'rows')
  const stored = (ms: number) => ({ status: 'stored', received_at: new Date(ms).toISOString() })
  assert.deepEqual(await find('e1'), [
    { ...stored(AT + 1), lane: 'batch', job_id: 'j' },
    { ...stored(AT), lane: 'live', request_id: "r'\\ 1", classification: 'business' },
  ])
  assert.deepEqual(await find('e2'), [{ ...stored(AT), lane: 'live', classification: 'business' }])
  assert.equal((await find("e' OR 1 = 1 --\\")).length, 1)
  assert.deepEqual(await find("' OR 1 = 1 --"), [])
  assert.deepEqual(await find('E1'), [])

  await client.command({
    query:
      "INSERT INTO events (tenant_id, event_id, received_at, timestamp) SELECT 'acme', concat('n', toString(number)), now(), now() FROM numbers(60000)",
  })
  const explained = await clickhouse.rows<{ explain: string }>(
    "EXPLAIN indexes = 1 SELECT received_at FROM ipid.events WHERE tenant_id = 'acme' AND event_id = 'n7'",
  )
  const plan = explained.map(({ explain }) => explain.trim()).join('\n')
  assert.match(plan, /Name: event_ids[\s\S]*Granules: [1-3]\/[89]/)

  await clickhouse.kill()
  await assert.rejects(find('e1'), UnavailableError)
})
