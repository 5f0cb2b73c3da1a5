import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { absentRows, TableInserter } from '../../src/pipeline/sinks/clickhouse/inserter.ts'
import { EVENTS } from '../../src/stores/clickhouse/tables.ts'
import { startTestClickHouse, type TestClickHouse } from '../support/clickhouse.ts'
import { type EventRow, eventRows } from '../support/event-rows.ts'

const ROUNDS = 4
const ROWS = 4_000
const DAY_MS = 86_400_000

test('a kill -9 at any moment of an insert loses nothing and counts nothing twice', async (t) => {
  const clickhouse = await startTestClickHouse(t)
  const inserter = new TableInserter(EVENTS, clickhouse.client, async () => {})
  const truth = new Map<string, Account>()
  for (let round = 0; round < ROUNDS; round++) {
    const rows = roundRows(round)
    for (const row of rows) count(truth, row)
    const lines = eventRows(rows)
    const killed = sleep(randomInt(0, 60)).then(() => clickhouse.kill())
    // The answer may be lost, or come before the kill.
    await Promise.allSettled([inserter.insert([lines], `round-${round}`), killed])
    await clickhouse.restart()
    await insertAgain(clickhouse, inserter, lines, `round-${round}`)
    await compare(clickhouse, truth, round)
  }
})

/** The sink's retry of an insert whose end is unknown. */
async function insertAgain(clickhouse: TestClickHouse, inserter: TableInserter, lines: Buffer, token: string) {
  await inserter.insert([lines], token)
  const absent = await absentRows(clickhouse.client, [lines])
  if (absent.length > 0) await inserter.insert(absent, `${token}.again`)
}

interface Account {
  events: number
  readonly ips: Set<string>
  readonly visits: Set<string>
  firstMs: number
  lastMs: number
  receivedMs: number
  /** Name of the event received last. */
  latest: string
}

/** Two tenants, many accounts, several days, two months of receipt. */
function roundRows(round: number): EventRow[] {
  return Array.from({ length: ROWS }, (_, i) => {
    const account = (i * 7 + round) % 300
    return {
      event_id: `${round}-${i}`,
      tenant_id: i % 2 === 0 ? 'acme' : 'umbrella',
      ip: `10.${account % 100}.0.${(i * 13 + round) % 40}`,
      received_at: Date.UTC(2025, i % 10 === 0 ? 10 : 11, 1) + round * ROWS + i,
      timestamp: Date.UTC(2025, 0, 1) + ((i * 31 + round * 17) % 9) * DAY_MS + (round * ROWS + i),
      account_id: `account-${account}`,
      company_id: account % 50 === 0 ? '' : `company-${account % 70}`,
      business_name: `Name ${round}-${i}`,
    }
  })
}

function count(truth: Map<string, Account>, row: EventRow): void {
  const key = `${row.tenant_id} ${row.account_id}`
  const ms = Number(row.timestamp)
  const account = truth.get(key) ?? {
    events: 0,
    ips: new Set(),
    visits: new Set(),
    firstMs: ms,
    lastMs: -1,
    receivedMs: -1,
    latest: '',
  }
  truth.set(key, account)
  account.events++
  account.ips.add(String(row.ip))
  account.visits.add(`${row.ip} ${Math.floor(ms / DAY_MS)}`)
  account.firstMs = Math.min(account.firstMs, ms)
  account.lastMs = Math.max(account.lastMs, ms)
  if (Number(row.received_at) > account.receivedMs) {
    account.receivedMs = Number(row.received_at)
    account.latest = String(row.business_name)
  }
}

async function compare(clickhouse: TestClickHouse, truth: Map<string, Account>, round: number): Promise<void> {
  const [total] = await clickhouse.rows('SELECT count() AS events, uniqExact(event_id) AS ids FROM events')
  assert.deepEqual(total, { events: (round + 1) * ROWS, ids: (round + 1) * ROWS })
  const found = await clickhouse.rows<{ key: string }>(`
    SELECT concat(tenant_id, ' ', account_id) AS key, events, unique_ips, visits, business_name,
      toUnixTimestamp64Milli(first_seen) AS first_ms, toUnixTimestamp64Milli(last_seen) AS last_ms
    FROM accounts ORDER BY key`)
  const expected = [...truth].map(([key, account]) => ({
    key,
    events: account.events,
    unique_ips: account.ips.size,
    visits: account.visits.size,
    business_name: account.latest,
    first_ms: account.firstMs,
    last_ms: account.lastMs,
  }))
  assert.deepEqual(
    found,
    expected.sort((a, b) => (a.key < b.key ? -1 : 1)),
  )
  const [daily] = await clickhouse.rows('SELECT sum(visits) AS visits, sum(events) AS events FROM daily_visits')
  const accounts = [...truth.values()]
  assert.deepEqual(daily, {
    visits: accounts.reduce((sum, account) => sum + account.visits.size, 0),
    events: accounts.reduce((sum, account) => sum + account.events, 0),
  })
}
