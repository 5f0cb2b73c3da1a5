import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { DayTables } from '../../src/days/day-tables.ts'
import { TableInserter } from '../../src/pipeline/sinks/clickhouse/inserter.ts'
import { connectClickHouse } from '../../src/stores/clickhouse/client.ts'
import { migrate } from '../../src/stores/clickhouse/migrate.ts'
import { readSchema, type Schema, splitStatements } from '../../src/stores/clickhouse/schema.ts'
import { EVENTS } from '../../src/stores/clickhouse/tables.ts'
import { startTestClickHouse, type TestClickHouse } from '../support/clickhouse.ts'
import { eventRows } from '../support/event-rows.ts'
import { partsOf } from '../support/fetch-clickhouse.ts'
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
  'company_numbers',
  'corrected_companies',
  'daily_outcomes',
  'daily_visits',
  'day_builds',
  'entity_days',
  'events',
  'heat_weights',
  'hidden_changes',
  'hidden_events',
  'intent_pages',
  'merged_companies',
  'migrations',
  'outcomes',
  'page_days',
  'read_intent_pages',
  'sessions',
  'valid_days',
  'valid_page_days',
  'valid_zone_days',
  'valid_zone_page_days',
  'visit_days',
  'zone_day_builds',
  'zone_days',
  'zone_page_days',
]
const EXPECTED = NAMES.map((name) => ({ name }))
/** Every n-th moment of a long upgrade at which a test kills it. */
const KILLED_EVERY = 11

/** Definitions of all tables and views. Of new tables, ClickHouse writes its own settings last. */
async function shapesOf(clickhouse: TestClickHouse): Promise<string[]> {
  const query = "SELECT create_table_query AS q FROM system.tables WHERE database = 'ipid' ORDER BY name"
  const sorted = (settings: string) => settings.split(', ').sort().join(', ')
  return (await clickhouse.rows<{ q: string }>(query)).map(({ q }) =>
    // Each copy has its own UUIDs.
    q.replace(/UUID '[^']*'/, '').replace(/(?<= SETTINGS ).*?(?= COMMENT '[^']*'$|$)/, sorted),
  )
}

async function emptyDatabase(clickhouse: TestClickHouse): Promise<void> {
  await clickhouse.client.command({ query: 'DROP DATABASE IF EXISTS ipid SYNC' })
}

/** The way of a process to ClickHouse, which ends after a number of changes, as if it had been killed. */
async function startWay(t: TestContext, clickhouse: TestClickHouse) {
  const { origin, headers } = partsOf(clickhouse.url)
  const way = { url: '', changesLeft: Number.POSITIVE_INFINITY, changes: [] as string[] }
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray())
    const [change] = /^(?:CREATE|ALTER|INSERT) .*/m.exec(body.toString().trimStart()) ?? []
    if (change !== undefined && --way.changesLeft < 0) return void request.socket.destroy()
    if (change !== undefined) way.changes.push(change)
    const answer = await fetch(new URL(request.url!, origin), { method: 'POST', headers, body })
    const sent = [...answer.headers].filter(([name]) => /^(?:content-type|x-clickhouse)/.test(name))
    response.writeHead(answer.status, Object.fromEntries(sent)).end(Buffer.from(await answer.arrayBuffer()))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const url = new URL(clickhouse.url)
  url.port = String((server.address() as AddressInfo).port)
  way.url = url.href
  return way
}

/** Runs `start` until it ends by itself, killed after 0, 1, 2, … changes. `next` runs after each. */
async function killedAtEach(
  way: Awaited<ReturnType<typeof startWay>>,
  { start, next, every = 1 }: { start: () => Promise<void>; next: () => Promise<void>; every?: number },
): Promise<number> {
  for (let changes = 0, moments = 0; ; changes += every, moments++) {
    way.changesLeft = changes
    const isKilled = await start().then(
      () => false,
      () => true,
    )
    way.changesLeft = Number.POSITIVE_INFINITY
    await next()
    if (!isKilled) return moments
  }
}

const today = await readSchema()
/** Two views, because each one takes time. */
const small: Schema = { ...today, views: new Map([...today.views].slice(0, 2)) }
const [firstView, secondView] = [...small.views.keys()]
/** The same tables with other views. */
const renamed = (text: string) => text.replace(/\nCOMMENT '/, '$&Later: ')
const otherViews: Schema = { ...small, views: new Map([...small.views].map(([name, text]) => [name, renamed(text)])) }
/** A later version, with one more column, one more table and other views. */
const COLUMN = "later UInt8 DEFAULT 7 COMMENT 'Of a later version'"
const TABLE =
  "CREATE TABLE IF NOT EXISTS later\n(\n  a UInt8 COMMENT 'a'\n)\nENGINE = MergeTree\nORDER BY a\nCOMMENT 'Later'"
const later: Schema = {
  views: otherViews.views,
  tables: new Map([
    ...today.tables,
    ['events', today.tables.get('events')!.replace(/\n {2}lane /, `\n  ${COLUMN},$&`)],
    ['later', TABLE],
  ]),
  migrations: [
    ...today.migrations,
    {
      name: '9999_later',
      statements: [`ALTER TABLE events ADD COLUMN IF NOT EXISTS ${COLUMN} AFTER browser_key`, TABLE],
    },
  ],
}

test('several processes may bring an empty ClickHouse up to date at once', async (t) => {
  const clickhouse = await startTestClickHouse(t, { bare: true })
  await Promise.all([migrate(clickhouse.url, log), migrate(clickhouse.url, log), migrate(clickhouse.url, log)])
  assert.deepEqual(await clickhouse.rows(TABLES), EXPECTED)
})

test('a new database equals one that went through all migrations', async (t) => {
  const clickhouse = await startTestClickHouse(t, { bare: true })
  await migrate(clickhouse.url, log)
  const expected = await shapesOf(clickhouse)
  assert.equal(expected.length, NAMES.length)

  await emptyDatabase(clickhouse)
  await clickhouse.client.command({ query: 'CREATE DATABASE ipid' })
  const client = connectClickHouse(clickhouse.url, { application: 'test', database: 'ipid' })
  t.after(() => client.close())
  // The last one adds tables, which a start makes.
  const before = today.migrations.slice(0, -1)
  const statements = before.flatMap((migration) => migration.statements)
  for (const query of [MIGRATIONS_TABLE, ...statements]) await client.command({ query })
  const names = before.map(({ name }) => `('${name}')`).join()
  await client.command({ query: `INSERT INTO migrations (name) VALUES ${names}` })
  await migrate(clickhouse.url, pino({ level: 'error' }, { write: (line: string) => assert.fail(line) }))
  const days = new DayTables({ url: clickhouse.url })
  t.after(() => days.close())
  assert.equal(await days.materialize(), undefined)
  assert.deepEqual(await shapesOf(clickhouse), expected)
})

test('a start that was killed after any change is completed, by this version and by a later one', async (t) => {
  const clickhouse = await startTestClickHouse(t, { bare: true })
  const way = await startWay(t, clickhouse)
  for (const [schema, every] of [
    [small, 3],
    [later, 4],
  ] as const) {
    await emptyDatabase(clickhouse)
    await migrate(clickhouse.url, log, { schema })
    const expected = await shapesOf(clickhouse)
    await emptyDatabase(clickhouse)
    const moments = await killedAtEach(way, {
      every,
      start: () => migrate(way.url, log, { schema: small }),
      async next() {
        await migrate(clickhouse.url, log, { schema })
        assert.deepEqual(await shapesOf(clickhouse), expected)
        const names = await clickhouse.rows('SELECT DISTINCT name FROM ipid.migrations ORDER BY name')
        assert.deepEqual(
          names,
          schema.migrations.map(({ name }) => ({ name })),
        )
        await emptyDatabase(clickhouse)
      },
    })
    assert.ok(moments * every > small.tables.size + small.views.size + 3, String(moments))
  }
})

test('views are those of the last start, also if another version was killed in between, or starts at the same time', async (t) => {
  const clickhouse = await startTestClickHouse(t, { bare: true })
  const way = await startWay(t, clickhouse)
  const start = (schema: Schema, url = clickhouse.url) => migrate(url, log, { schema })
  await start(otherViews)
  const other = await shapesOf(clickhouse)
  await start(small)
  const expected = await shapesOf(clickhouse)
  assert.notDeepEqual(other, expected)
  const moments = await killedAtEach(way, {
    start: () => start(otherViews, way.url),
    async next() {
      await start(small)
      assert.deepEqual(await shapesOf(clickhouse), expected)
    },
  })
  assert.ok(moments >= small.views.size + 3, String(moments))

  way.changes.length = 0
  await start(small, way.url)
  assert.deepEqual(
    way.changes.filter((change) => !/^CREATE (?:DATABASE|TABLE) IF NOT EXISTS/.test(change)),
    [],
    'a start with the same views changes nothing',
  )

  // One version begins, the other does all its work, the first one ends: a mixture, of which no start is sure.
  const mark = async (views: string) =>
    clickhouse.client.command({
      query: `INSERT INTO ipid.migrations (name, views) SELECT '${today.migrations.at(-1)!.name}', '${views}'`,
    })
  const marks = "SELECT views FROM ipid.migrations WHERE views != '' ORDER BY applied_at DESC LIMIT 2"
  const [end, begin] = (await clickhouse.rows<{ views: string }>(marks)) as [{ views: string }, { views: string }]
  for (const mixed of [
    [begin, 'begun x', 'x', end],
    [begin, 'begun x', end],
    [begin, 'begun x', end, 'x'],
  ] as const) {
    for (const entry of mixed) await mark(typeof entry === 'string' ? entry : entry.views)
    for (const name of [firstView, secondView])
      await clickhouse.client.command({ query: `CREATE OR REPLACE VIEW ipid.${name} AS SELECT 1 AS mixed` })
    await start(small)
    assert.deepEqual(await shapesOf(clickhouse), expected)
  }
})

test('an upgrade that was killed is completed', async (t) => {
  const { clickhouse, prepare } = await startEarlierVersion(t)
  const way = await startWay(t, clickhouse)
  await migrate(clickhouse.url, log, { schema: small })
  const expected = await shapesOf(clickhouse)
  await prepare()
  const moments = await killedAtEach(way, {
    every: KILLED_EVERY,
    start: () => migrate(way.url, log, { schema: small }),
    async next() {
      await migrate(clickhouse.url, log, { schema: small })
      assert.deepEqual(await shapesOf(clickhouse), expected)
      await prepare()
    },
  })
  assert.ok(moments > 2, String(moments))
})

test('a dropped table or view is made again, with an error; the others keep their rows', async (t) => {
  const clickhouse = await startTestClickHouse(t)
  const expected = await shapesOf(clickhouse)
  await clickhouse.client.command({ query: "INSERT INTO outcomes (source, tenant_id, events) VALUES ('s', 't', 7)" })
  for (const [dropped, statement] of [
    ['events', 'DROP TABLE events SYNC'],
    ['accounts, daily_visits', 'DROP VIEW accounts; DROP VIEW daily_visits'],
  ]) {
    for (const query of statement!.split('; ')) await clickhouse.client.command({ query })
    const lines: string[] = []
    await migrate(clickhouse.url, pino({ level: 'error' }, { write: (line: string) => lines.push(line) }))
    assert.deepEqual(await shapesOf(clickhouse), expected)
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

/** The schema as versions before 0003 left it, with a row as they stored it. `prepare` makes it again. */
async function startEarlierVersion(t: TestContext) {
  const clickhouse = await startTestClickHouse(t, { bare: true, external: true })
  const client = connectClickHouse(clickhouse.url, { application: 'test', database: 'ipid' })
  t.after(() => client.close())
  const [events] = today.migrations
  const key = [/ORDER BY \(.*\)\n/, 'ORDER BY (tenant_id, account_id)\n'] as const
  const marks = "INSERT INTO migrations (name) VALUES ('0001_events'), ('0002_account_views')"
  const view = 'CREATE VIEW accounts AS SELECT tenant_id, account_id, count() AS events FROM events GROUP BY ALL'
  const insert = `INSERT INTO events (ip, tenant_id, event_id, received_at, timestamp, account_id, company_id, business_name, extra)
    SELECT concat('192.0.2.', toString(number % 5)), 'old', toString(number), '2025-11-20 12:00:00', '2025-11-19 12:00:00',
      'a', 'a', 'A', '{"url":"https://a.example/?utm_source=news"}' FROM numbers(100)`
  const prepare = async () => {
    await emptyDatabase(clickhouse)
    await clickhouse.client.command({ query: 'CREATE DATABASE ipid' })
    for (const query of [MIGRATIONS_TABLE, events!.statements[0]!.replace(...key), view, marks, insert])
      await client.command({ query })
  }
  await prepare()
  return { clickhouse, client, prepare }
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
  assert.ok(plan.some(({ explain }) => explain.includes('ReadFromMergeTree (company_sums)')))
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
  const days = new DayTables({ url: clickhouse.url })
  t.after(() => days.close())
  while ((await days.materialize()) !== undefined)
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
const REPEATABLE =
  /\bIF (?:NOT )?EXISTS\b|\bOR REPLACE\b|\bMATERIALIZE COLUMN\b|\bMODIFY (?:COLUMN|SETTING)\b|\bCOMMENT (?:COLUMN\b|')/

test('every statement can be run again, and every view declares its columns', async () => {
  for (const { name, statements } of today.migrations) {
    assert.match(name, /^\d{4}_\w+$/)
    for (const statement of statements) assert.match(statement, REPEATABLE, name)
  }
  for (const [name, statement] of today.tables)
    assert.match(statement, new RegExp(`^CREATE TABLE IF NOT EXISTS ${name}\n\\(`, 'm'))
  for (const [name, statement] of today.views)
    assert.match(statement, new RegExp(`^CREATE OR REPLACE VIEW ${name}\n\\(`, 'm'))
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
