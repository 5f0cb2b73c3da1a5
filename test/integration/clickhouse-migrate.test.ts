import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { connectClickHouse } from '../../src/clickhouse/client.ts'
import { migrate, readMigrations, splitStatements } from '../../src/clickhouse/migrate.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'

const log = pino({ level: 'silent' })

const TABLES = "SELECT name FROM system.tables WHERE database = 'ipid' ORDER BY name"
const EXPECTED = ['accounts', 'companies', 'daily_visits', 'events', 'migrations'].map((name) => ({ name }))

test('several processes may bring an empty ClickHouse up to date at once', async (t) => {
  const clickhouse = await startTestClickHouse(t, { bare: true })
  await Promise.all([migrate(clickhouse.url, log), migrate(clickhouse.url, log), migrate(clickhouse.url, log)])
  assert.deepEqual(await clickhouse.rows(TABLES), EXPECTED)
})

test('what was left half-way is finished, and what is applied is left alone', async (t) => {
  const clickhouse = await startTestClickHouse(t, { bare: true })
  const client = connectClickHouse(clickhouse.url, { application: 'test', database: 'ipid' })
  t.after(() => client.close())
  const migrations = await readMigrations()
  const statements = migrations.flatMap((migration) => migration.statements)
  for (let done = 0; done <= statements.length; done++) {
    await clickhouse.client.command({ query: 'DROP DATABASE IF EXISTS ipid SYNC' })
    await clickhouse.client.command({ query: 'CREATE DATABASE ipid' })
    for (const query of statements.slice(0, done)) await client.command({ query })
    await migrate(clickhouse.url, log)
    assert.deepEqual(await clickhouse.rows(TABLES), EXPECTED)
  }
  await clickhouse.client.command({ query: 'DROP VIEW ipid.daily_visits' })
  await migrate(clickhouse.url, log)
  const applied = await clickhouse.rows('SELECT name FROM ipid.migrations ORDER BY name')
  assert.deepEqual(
    applied,
    migrations.map(({ name }) => ({ name })),
  )
  assert.equal((await clickhouse.rows(TABLES)).length, EXPECTED.length - 1)
})

test('every statement can be run again', async () => {
  for (const { name, statements } of await readMigrations()) {
    assert.match(name, /^\d{4}_\w+$/)
    for (const statement of statements) assert.match(statement, /\bIF NOT EXISTS\b/, name)
  }
})

test('statements end with a semicolon at the end of a line, and nowhere else', () => {
  assert.deepEqual(splitStatements("-- a; b\nSELECT ';', 1;\n\nSELECT 2; \r\n-- end\n"), [
    "-- a; b\nSELECT ';', 1",
    'SELECT 2',
  ])
})

test('an address that is none is refused', () => {
  const connect = (url: string) => () => connectClickHouse(url, { application: 'test' })
  for (const url of ['', 'localhost:8123', 'tcp://localhost:9000', 'http://']) {
    assert.throws(connect(url), { name: 'InputError', message: /^CLICKHOUSE_URL: / })
  }
})
