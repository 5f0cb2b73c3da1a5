import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BackupRefusedError, type TableShape } from '../../src/operations/backup/ports.ts'
import { ClickHouseTables } from '../../src/operations/backup/table-copies.ts'
import { connectClickHouse, DATABASE } from '../../src/stores/clickhouse/client.ts'
import { migrate } from '../../src/stores/clickhouse/migrate.ts'
import { readMigrations } from '../../src/stores/clickhouse/schema.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { silent } from '../support/pipeline.ts'

/** A table that a user made beside ours, with values that text could corrupt. */
const OWN_TABLE = `
  CREATE TABLE ipid.own
  (
    text String, fixed FixedString(4), small Enum8('a' = 1, 'tab\\t' = 2), flag Bool, id UUID,
    real Float64, part Float32, price Decimal(38, 9), day Date32, local DateTime, fine DateTime64(9),
    list Array(Nullable(String)), map Map(String, Int64), pair Tuple(a Int8, b String), address IPv6,
    low LowCardinality(Nullable(String)), state AggregateFunction(uniqExact, UInt64),
    made String MATERIALIZED upper(text), other String ALIAS lower(text), full String DEFAULT 'x',
    INDEX finder (text, full) TYPE bloom_filter(0.01), PROJECTION sums (SELECT day, count() GROUP BY day)
  )
  ENGINE = MergeTree ORDER BY text SETTINGS non_replicated_deduplication_window = 100`

const OWN_ROWS = `
  INSERT INTO ipid.own
  SELECT
    ['tab\\t', 'line\\n\\r\\0', '\\\\N', '', unhex('FF00FE')][number % 5 + 1], 'a\\0\\t', number % 2 + 1, number % 2, generateUUIDv4(),
    [0.1, 1/3, nan, inf, -0., 1e-310][number % 6 + 1], 1/7, '12345678901234567890123456789.123456789', '1900-01-01',
    number, toDateTime64('1969-12-31 23:59:59.999999999', 9), [NULL, '\\\\N', '\\'', 'é'], map('k\\'', -1), (1, '\\t'), '::ffff:1.2.3.4',
    [NULL, 'a'][number % 2 + 1], initializeAggregation('uniqExactState', number), 'y'
  FROM numbers(1000)`

/** More partitions than ClickHouse accepts in one insert by default. */
const MANY_PARTS = 'CREATE TABLE ipid.parts (n UInt8) ENGINE = MergeTree PARTITION BY n ORDER BY n'
const MANY_ROWS = 'INSERT INTO ipid.parts SELECT number FROM numbers(101) SETTINGS max_partitions_per_insert_block = 0'

const EVENTS = `
  INSERT INTO ipid.events (ip, tenant_id, event_id, received_at, timestamp, session_id, properties, extra)
  SELECT '17.0.0.1', 't', toString(number), toDateTime64('2015-01-01 00:00:00', 3, 'UTC') + INTERVAL number MONTH,
    toDateTime64('1900-01-01 00:00:00.001', 3, 'UTC') + INTERVAL number * 44 YEAR, if(number % 2, NULL, -number), '\\\\N\\t',
    concat('{"url":"https://example.com/?utm_source=', toString(number), '"}')
  FROM numbers(9)`

const ROWS: Readonly<Record<string, number>> = {
  outcomes: 0,
  company_corrections: 0,
  hidden_changes: 0,
  hidden_events: 0,
  events: 9,
  own: 1_000,
  parts: 101,
}

async function gather<T>(values: AsyncIterable<T>): Promise<T[]> {
  const gathered: T[] = []
  for await (const value of values) gathered.push(value)
  return gathered
}

test('tables are restored value for value, a user’s own too, however often they are filled', async (t) => {
  const { url } = await startTestClickHouse(t, { bare: true })
  const client = connectClickHouse(url, { application: 'test', database: DATABASE })
  const tables = new ClickHouseTables(url, silent)
  t.after(() => Promise.all([client.close(), tables.close()]))
  const digest = async (table: string) => {
    const query = `SELECT count(), sum(cityHash64(* EXCEPT state)), sum(cityHash64(*, finalizeAggregation(state))) FROM ${table}`
    const sql =
      table === 'events'
        ? `SELECT count(), sum(cityHash64(*, url, utm_source)), uniqExact(utm_source) FROM events`
        : query.replace('cityHash64(*,', 'cityHash64(made, other,')
    return await (await client.query({ query: sql, format: 'JSONCompact' })).json().then(({ data }) => data)
  }

  assert.equal(await tables.filledTable(), undefined, 'there is no database yet')
  assert.equal(await tables.areMigrated(), false)
  await migrate(url, silent)
  assert.equal(await tables.areMigrated(), true)
  assert.equal(await tables.filledTable(), undefined)
  for (const query of [OWN_TABLE, OWN_ROWS, MANY_PARTS, MANY_ROWS, EVENTS]) await client.command({ query })
  assert.equal(await tables.filledTable(), 'events')
  const before = [await digest('events'), await digest('own')]
  const shapes = await tables.tables()
  assert.deepEqual(
    shapes.map(({ table }) => table),
    ['events', 'company_corrections', 'hidden_changes', 'hidden_events', 'outcomes', 'own', 'parts'],
  )
  const copies: [TableShape, Buffer[]][] = []
  for (const shape of shapes) copies.push([shape, await gather(tables.rows(shape))])
  const migrations = await tables.migrations()
  assert.deepEqual(
    migrations,
    (await readMigrations()).map(({ name }) => name),
  )
  await assert.rejects(tables.assertKnown([...migrations, '9999_later'], '9.0.0'), {
    name: 'BackupRefusedError',
    message: /restore it with ipid 9\.0\.0$/,
  })

  const hostile = (table: string, create: string) => tables.assertTables([{ table, columns: ['a'], create }])
  await tables.assertTables(shapes)
  await assert.rejects(hostile('evil', "CREATE USER evil IDENTIFIED BY 'x'"), /cannot create table evil of the backup/)
  const fromFile = "(a String) ENGINE = MergeTree ORDER BY a AS SELECT * FROM file('/etc/passwd', LineAsString)"
  await assert.rejects(hostile('evil', `CREATE TABLE ipid.evil ${fromFile}`), BackupRefusedError)
  await assert.rejects(
    hostile('migrations', 'CREATE TABLE ipid.migrations (a String) ENGINE = Log'),
    /uses this name itself/,
  )

  await client.command({ query: 'DROP DATABASE ipid SYNC' })
  await tables.assertTables(shapes)
  const ours = { table: 'events', columns: ['a'], create: 'CREATE TABLE ipid.events (a String) ENGINE = Log' }
  await tables.migrate([])
  await assert.rejects(tables.clear(ours), /cannot create table events of the backup: it belongs to ipid/)
  // Rows of today fit once every column exists.
  const withColumns = migrations.filter((name) => name !== '0016_heat')
  await tables.migrate(withColumns)
  assert.deepEqual(await tables.migrations(), withColumns)
  assert.equal(await tables.areMigrated(), false)
  for (const attempt of [1, 2]) {
    for (const [shape, rows] of copies) {
      await tables.clear(shape)
      await tables.insert(shape, rows)
      assert.equal(await tables.count(shape), ROWS[shape.table], `attempt ${attempt}`)
    }
  }
  const [own, ownRows] = copies.find(([{ table }]) => table === 'own')!
  await tables.insert(own, ownRows)
  assert.equal(await tables.count(own), 2_000, 'portions that are equal are no repeats')
  await tables.clear(own)
  await tables.insert(own, ownRows)
  await tables.migrate()
  assert.deepEqual([await digest('events'), await digest('own')], before)

  const since = (await gather(tables.eventsSince(Date.UTC(2015, 5)))).flat().map(({ eventId }) => eventId)
  assert.deepEqual(since.sort(), ['5', '6', '7', '8'])
  const asked = [
    { tenantId: 't', eventId: "no'\\" },
    { tenantId: 't', eventId: '7' },
    { tenantId: 'u', eventId: '7' },
  ]
  assert.deepEqual([...(await tables.storedAmong(asked))], [1])
})
