import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { TableInserter } from '../../src/pipeline/sinks/clickhouse/inserter.ts'
import { connectClickHouse } from '../../src/stores/clickhouse/client.ts'
import { migrate } from '../../src/stores/clickhouse/migrate.ts'
import { readMigrations, splitStatements } from '../../src/stores/clickhouse/migrations.ts'
import { EVENTS } from '../../src/stores/clickhouse/tables.ts'
import { startTestClickHouse, type TestClickHouse } from '../support/clickhouse.ts'
import { eventRows } from '../support/event-rows.ts'
import { until } from '../support/until.ts'

const log = pino({ level: 'silent' })

const MIGRATIONS_TABLE = `CREATE TABLE migrations (name String, applied_at DateTime64(3, 'UTC') DEFAULT now64(3))
  ENGINE = MergeTree ORDER BY name`
const TABLES = "SELECT name FROM system.tables WHERE database = 'ipid' ORDER BY name"
const NAMES = [
  'accounts',
  'companies',
  'company_corrections',
  'company_heat',
  'concerned_accounts',
  'concerned_companies',
  'corrected_companies',
  'daily_outcomes',
  'daily_visits',
  'entity_days',
  'events',
  'hidden_changes',
  'hidden_events',
  'intent_pages',
  'migrations',
  'outcomes',
  'page_days',
  'sessions',
  'valid_days',
  'valid_page_days',
]
const EXPECTED = NAMES.map((name) => ({ name }))
/** Moments at which a start is killed. */
const LEFT_AT = 6

test('several processes may bring an empty ClickHouse up to date at once', async (t) => {
  const clickhouse = await startTestClickHouse(t, { bare: true })
  await Promise.all([migrate(clickhouse.url, log), migrate(clickhouse.url, log), migrate(clickhouse.url, log)])
  assert.deepEqual(await clickhouse.rows(TABLES), EXPECTED)
})

test('a half-done migration is finished, and an applied one is left alone', async (t) => {
  const clickhouse = await startTestClickHouse(t, { bare: true })
  const client = connectClickHouse(clickhouse.url, { application: 'test', database: 'ipid' })
  t.after(() => client.close())
  const migrations = await readMigrations()
  const statements = migrations.flatMap((migration) => migration.statements)
  // Each of these takes a second, and another test covers that every statement can run again.
  for (let left = statements.length; left >= 0; left -= Math.ceil(statements.length / LEFT_AT)) {
    const done = statements.length - left
    await clickhouse.client.command({ query: 'DROP DATABASE IF EXISTS ipid SYNC' })
    await clickhouse.client.command({ query: 'CREATE DATABASE ipid' })
    await client.command({ query: MIGRATIONS_TABLE })
    for (const query of statements.slice(0, done)) await client.command({ query })
    await migrate(clickhouse.url, log)
    assert.deepEqual(await clickhouse.rows(TABLES), EXPECTED)
  }
  const applied = await clickhouse.rows('SELECT name FROM ipid.migrations ORDER BY name')
  assert.deepEqual(
    applied,
    migrations.map(({ name }) => ({ name })),
  )
})

test('a dropped table or view is made again, with an error; the others keep their rows', async (t) => {
  const clickhouse = await startTestClickHouse(t)
  const shape = 'SELECT name, create_table_query FROM system.tables WHERE database = currentDatabase() ORDER BY name'
  // Each copy has its own UUIDs.
  const shapes = async () => JSON.stringify(await clickhouse.rows(shape)).replaceAll(/UUID '[^']*'/g, '')
  const expected = await shapes()
  await clickhouse.client.command({ query: "INSERT INTO outcomes (source, tenant_id, events) VALUES ('s', 't', 7)" })
  for (const [dropped, statement] of [
    ['events', 'DROP TABLE events SYNC'],
    ['accounts, daily_visits', 'DROP VIEW accounts; DROP VIEW daily_visits'],
  ]) {
    for (const query of statement!.split('; ')) await clickhouse.client.command({ query })
    const lines: string[] = []
    await migrate(clickhouse.url, pino({ level: 'error' }, { write: (line: string) => lines.push(line) }))
    assert.equal(await shapes(), expected)
    assert.equal(lines.length, 1)
    assert.ok(lines[0]!.includes(`ClickHouse lacked ${dropped}: created again`), lines[0])
    await migrate(clickhouse.url, pino({ level: 'error' }, { write: (line: string) => assert.fail(line) }))
  }
  assert.deepEqual(await clickhouse.rows('SELECT sum(events) AS n FROM outcomes'), [{ n: 7 }])
})

test('a table or view that was detached is attached again with its rows', async (t) => {
  const clickhouse = await startTestClickHouse(t)
  await clickhouse.client.command({ query: "INSERT INTO outcomes (source, tenant_id, events) VALUES ('s', 't', 7)" })
  for (const detached of ['TABLE outcomes', 'TABLE outcomes PERMANENTLY', 'VIEW accounts', 'TABLE events']) {
    await clickhouse.client.command({ query: `DETACH ${detached}` })
    const lines: string[] = []
    await migrate(clickhouse.url, pino({ level: 'warn' }, { write: (line: string) => lines.push(line) }))
    assert.match(lines.join(), /^[^\n]*of ClickHouse had been detached: attached again[^\n]*\n$/)
    await clickhouse.rows('SELECT count() AS n FROM accounts')
    await clickhouse.rows('SELECT count() AS n FROM events')
    assert.deepEqual(await clickhouse.rows('SELECT sum(events) AS n FROM outcomes'), [{ n: 7 }])
  }
})

/** The schema as versions before 0003 left it, with a row as they stored it. */
async function startEarlierVersion(t: TestContext) {
  const clickhouse = await startTestClickHouse(t, { bare: true, external: true })
  await clickhouse.client.command({ query: 'CREATE DATABASE ipid' })
  const client = connectClickHouse(clickhouse.url, { application: 'test', database: 'ipid' })
  t.after(() => client.close())
  const [events, views] = await readMigrations()
  const key = [/ORDER BY \(.*\)\n/, 'ORDER BY (tenant_id, account_id)\n'] as const
  const marks = "INSERT INTO migrations (name) VALUES ('0001_events'), ('0002_account_views')"
  for (const sql of [MIGRATIONS_TABLE, events!.statements[0]!.replace(...key), ...views!.statements, marks]) {
    await client.command({ query: sql })
  }
  const insert = `INSERT INTO events (ip, tenant_id, event_id, received_at, timestamp, account_id, company_id, business_name, extra)
    SELECT concat('192.0.2.', toString(number % 5)), 'old', toString(number), '2025-11-20 12:00:00', '2025-11-19 12:00:00',
      'a', 'a', 'A', '{"url":"https://a.example/?utm_source=news"}' FROM numbers(100)`
  await client.command({ query: insert })
  return { clickhouse, client }
}

const OLD_ACCOUNT = {
  account_id: 'a',
  business_name: 'A',
  first_seen: '2025-11-19 12:00:00.000',
  last_seen: '2025-11-19 12:00:00.000',
  events: 100,
  visits: 5,
}
const OLD_ACCOUNTS =
  "SELECT account_id, business_name, first_seen, last_seen, events, visits FROM ipid.accounts WHERE tenant_id = 'old'"

/** Checks that accounts come from a projection. The sets of corrected companies come from none, so ClickHouse cannot force it. */
async function assertSums(clickhouse: TestClickHouse) {
  const plan = await clickhouse.rows<{ explain: string }>(`EXPLAIN projections = 1 ${OLD_ACCOUNTS}`)
  assert.ok(plan.some(({ explain }) => explain.includes('ReadFromMergeTree (account_sums)')))
}

const OLD_CAMPAIGNS =
  "SELECT utm_source, count() AS events FROM ipid.events WHERE tenant_id = 'old' GROUP BY ALL ORDER BY ALL"

test('an upgrade keeps every row, waits for no mutation, and has the sums of all rows', async (t) => {
  const { clickhouse, client } = await startEarlierVersion(t)
  await client.command({ query: 'SYSTEM STOP MERGES events' })
  // Mutations of existing rows cannot run: a migration that waited for one would not end.
  await migrate(clickhouse.url, log)
  await migrate(clickhouse.url, log)
  assert.deepEqual(await clickhouse.rows(OLD_ACCOUNTS), [OLD_ACCOUNT])
  const outcomes = 'SELECT day, lane, status, events FROM ipid.daily_outcomes'
  const stored = { day: '2025-11-20', lane: 'live', status: 'stored', events: 100 }
  assert.deepEqual(await clickhouse.rows(outcomes), [stored])
  const campaigns = [{ utm_source: 'news', events: 100 }]
  assert.deepEqual(await clickhouse.rows(OLD_CAMPAIGNS), campaigns, 'computed from rows of earlier versions')
  const inserter = new TableInserter(EVENTS, client, async () => {})
  await inserter.insert([eventRows([{ tenant_id: 'old', account_id: 'a', job_id: 'j', received_at: 1 }])], 'new')
  const unfinished = "SELECT count() AS n FROM system.mutations WHERE table = 'events' AND NOT is_done"
  assert.notDeepEqual(await clickhouse.rows(unfinished), [{ n: 0 }])

  await client.command({ query: 'SYSTEM START MERGES events' })
  await until(async () => (await clickhouse.rows<{ n: number }>(unfinished))[0]!.n === 0)
  await assertSums(clickhouse)
  await clickhouse.rows(`${outcomes} SETTINGS force_optimize_projection = 1`)
  assert.deepEqual(await clickhouse.rows(OLD_ACCOUNTS), [{ ...OLD_ACCOUNT, events: 101, visits: 6 }])
  await client.command({ query: 'OPTIMIZE TABLE events FINAL' })
  assert.deepEqual(await clickhouse.rows(OLD_CAMPAIGNS), [{ utm_source: '', events: 1 }, ...campaigns])
})

test('the statements of schemas/README.md give an older table the key of today', async (t) => {
  const { clickhouse, client } = await startEarlierVersion(t)
  await migrate(clickhouse.url, log)
  const readme = readFileSync(new URL('../../schemas/README.md', import.meta.url), 'utf8')
  const [, statements] = /```sql\n(CREATE TABLE events_new[\s\S]*?)```/.exec(readme)!
  for (const query of splitStatements(statements!)) await client.command({ query })
  const key = "SELECT sorting_key FROM system.tables WHERE database = 'ipid' AND name = 'events'"
  assert.deepEqual(await clickhouse.rows(key), [{ sorting_key: 'tenant_id, toDate32(timestamp), account_id' }])
  await migrate(clickhouse.url, log)
  assert.deepEqual(await clickhouse.rows(OLD_ACCOUNTS), [OLD_ACCOUNT])
  await assertSums(clickhouse)
  assert.deepEqual(await clickhouse.rows(OLD_CAMPAIGNS), [{ utm_source: 'news', events: 100 }])
  const settings = "SELECT create_table_query AS q FROM system.tables WHERE database = 'ipid' AND name = 'events'"
  const [{ q }] = (await clickhouse.rows<{ q: string }>(settings)) as [{ q: string }]
  assert.match(q, /non_replicated_deduplication_window = 10000/)
  assert.equal(q.match(/ COMMENT '/g)!.length > 20, true)
  assert.deepEqual(await clickhouse.rows(TABLES), EXPECTED)
})

test('every table, view and column has a comment', async (t) => {
  const clickhouse = await startTestClickHouse(t)
  const silent = (what: string) =>
    clickhouse.rows(`SELECT name FROM system.${what} WHERE database = 'ipid' AND comment = ''`)
  assert.deepEqual(await silent('tables'), [])
  assert.deepEqual(await silent('columns'), [])
  const pseudonyms =
    "SELECT table, name FROM system.columns WHERE database = 'ipid' AND comment LIKE '%do not keep addresses%'"
  assert.deepEqual(await clickhouse.rows(`${pseudonyms} ORDER BY ALL`), [
    { table: 'accounts', name: 'unique_ips' },
    { table: 'companies', name: 'unique_ips' },
    { table: 'events', name: 'hostname' },
    { table: 'events', name: 'ip' },
  ])
})

/** Tables that exist already, or changes of comments only. */
const REPEATABLE = /\bIF (?:NOT )?EXISTS\b|\bOR REPLACE\b|\bMODIFY (?:COLUMN|SETTING)\b|\bCOMMENT (?:COLUMN\b|')/

test('every statement can be run again', async () => {
  for (const { name, statements } of await readMigrations()) {
    assert.match(name, /^\d{4}_\w+$/)
    for (const statement of statements) assert.match(statement, REPEATABLE, name)
  }
})

test('statements end with a semicolon at the end of a line, and only there', () => {
  assert.deepEqual(splitStatements("-- a; b\nSELECT ';', 1;\n\nSELECT 2; \r\n-- end\n"), [
    "-- a; b\nSELECT ';', 1",
    'SELECT 2',
  ])
})

test('an invalid address is refused', () => {
  const connect = (url: string) => () => connectClickHouse(url, { application: 'test' })
  for (const url of ['', 'localhost:8123', 'tcp://localhost:9000', 'http://']) {
    assert.throws(connect(url), { name: 'InputError', message: /^CLICKHOUSE_URL: / })
  }
})
