import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OUTCOME_COLUMNS } from '../../schemas/outcome.ts'
import { ROW_COLUMNS } from '../../schemas/row.ts'
import { connectReading } from '../../src/dashboard/queries/reader.ts'
import { ClickHouseRuleTrials } from '../../src/dashboard/queries/rule-trials.ts'
import { systemClock } from '../../src/run/clock.ts'
import { BackpressureError } from '../../src/run/errors.ts'
import { readUsage } from '../../src/tenants/usage.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { eventInserter } from '../support/event-rows.ts'

const DAY_MS = 86_400_000

const clickhouse = await startTestClickHouse()
/** Events of a tenant that only this test uses. */
const insert = eventInserter(clickhouse)

test('rows of the pipeline match the columns of their tables, in order', async () => {
  const columnsOf = async (table: string) => {
    const columns = await clickhouse.rows<{ name: string; default_type: string }>(`DESCRIBE TABLE ${table}`)
    return columns.filter((column) => column.default_type !== 'ALIAS').map((column) => column.name)
  }
  assert.deepEqual(await columnsOf('events'), [...ROW_COLUMNS])
  assert.deepEqual(await columnsOf('outcomes'), [...OUTCOME_COLUMNS])
})

test('every value comes back as sent', async () => {
  const text = 'tab\tline\nback\\slash \'quote\' "double" \0 \r\b\f ü 漢 🏳️'
  const sent = { event_id: text, properties: text, session_id: '-9007199254740991', event_type: text, platform: '\\N' }
  await insert('texts', [sent])
  const [row] =
    await clickhouse.rows(`SELECT event_id, properties, session_id, event_type, platform, received_at, asn, quality
    FROM events WHERE tenant_id = 'texts'`)
  assert.deepEqual(row, {
    event_id: text,
    properties: text,
    session_id: -9_007_199_254_740_991,
    event_type: text,
    platform: '\\N',
    received_at: '2025-11-20 00:00:00.000',
    asn: 64_500,
    quality: 80,
  })
})

test('one insert of a sink becomes a part of few files', async () => {
  const properties = 'x'.repeat(60_000)
  await insert(
    'large',
    Array.from({ length: 200 }, () => ({ properties })),
  )
  const types = "SELECT DISTINCT part_type FROM system.parts WHERE database = currentDatabase() AND table = 'events'"
  assert.deepEqual(await clickhouse.rows(types), [{ part_type: 'Compact' }])
})

test('times from 1900 to 2299 are stored to the millisecond and grouped by their UTC day', async () => {
  const days = [
    '1900-01-01',
    '1969-12-31',
    '1970-01-01',
    '1970-01-02',
    '1973-03-03',
    '1973-03-04',
    '2286-11-21',
    '2299-12-31',
  ]
  const times = days.flatMap((day) => [Date.parse(`${day}T00:00:00.000Z`), Date.parse(`${day}T23:59:59.999Z`)])
  await insert(
    'times',
    times.map((timestamp) => ({ timestamp })),
  )
  const stored = await clickhouse.rows<{ ms: number }>(
    "SELECT toUnixTimestamp64Milli(timestamp) AS ms FROM events WHERE tenant_id = 'times' ORDER BY ms",
  )
  assert.deepEqual(
    stored.map((row) => row.ms),
    times,
  )
  const rows = await clickhouse.rows<{ day: string }>(
    "SELECT day FROM daily_visits WHERE tenant_id = 'times' ORDER BY 1",
  )
  assert.deepEqual(
    rows.map((row) => row.day),
    days,
  )
})

test('the dashboard only reads; a dry run of rules counts, one per tenant, and ends in time', async (t) => {
  const client = connectReading(clickhouse.url)
  t.after(() => client.close())
  await assert.rejects(client.command({ query: "INSERT INTO events (event_id) VALUES ('x')" }), { type: 'READONLY' })
  await assert.rejects(client.command({ query: 'SET readonly = 0' }), { type: 'READONLY' })
  await insert('tried', [{ received_at: Date.now(), ip: '203.0.113.7' }, { received_at: Date.now() }])
  assert.equal((await readUsage(client, 'tried', new Date().toISOString().slice(0, 7), 5)).tracked_accounts, 1)

  const tenant = { id: 'tried', plan: 'starter', archive: false, addresses: 'full', createdAt: '' } as const
  const trials = new ClickHouseRuleTrials(() => client, systemClock)
  const [first, second] = await Promise.allSettled(
    [1, 2].map(() => trials.run(tenant, { rules: ['own 203.0.113.7/32'] })),
  )
  assert.deepEqual(first, {
    status: 'fulfilled',
    value: {
      since: new Date(Date.now() - DAY_MS).toISOString().slice(0, 10),
      ...{ stored: 2, newly_filtered: { 'own 203.0.113.7/32': 1 }, filtered: 0, newly_kept: {}, unknown: 0 },
      without_address: 0,
    },
  })
  assert.ok((second as PromiseRejectedResult).reason instanceof BackpressureError)
  await clickhouse.client.command({
    query: `INSERT INTO events (tenant_id, event_id, received_at, timestamp, ip)
      SELECT 'tried', toString(number), now64(3, 'UTC'), now64(3, 'UTC'), toString(number) FROM numbers(30000)`,
  })
  const brief = new ClickHouseRuleTrials(() => client, systemClock, 0.001)
  await assert.rejects(brief.run(tenant, {}), { status: 503, message: /ipid rules add tried KIND SUBJECT --dry-run/ })
  assert.equal((await trials.run(tenant, {})).stored, 30_002, 'the next call is not refused')
})
