import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BUILD_SQL } from '../../src/days/day-tables.ts'
import { UTC_DAY_TABLES } from '../../src/stores/clickhouse/tables.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { someEvents, TestDays } from '../support/days.ts'
import { stepsOf } from '../support/steps.ts'
import { until } from '../support/until.ts'

/** A build of many blocks, each of which becomes a part. */
const IN_BLOCKS = {
  group_by_two_level_threshold: '1',
  max_block_size: '50',
  max_insert_block_size: '50',
  min_insert_block_size_rows: '50',
  min_insert_block_size_bytes: '1',
  max_threads: 1,
} as const

/* At each step, stored days that count and live days together must equal the result from events. */
test('stored and live days are exact in every state of the tables', async (t) => {
  const step = stepsOf(t)
  const clickhouse = await startTestClickHouse(t)
  const days = new TestDays(clickhouse)
  t.after(() => days.tables.close())
  const { client, rows } = clickhouse
  const insert = (query: string, token: string) =>
    client.command({ query, clickhouse_settings: { insert_deduplicate: 1, insert_deduplication_token: token } })
  const change = (query: string) =>
    client.command({ query, clickhouse_settings: { mutations_sync: '2', alter_sync: '2' } })
  /** @param entityDays number of days that count in entity_days */
  const assertExact = async (entityDays: number, pageDays = entityDays) =>
    assert.deepEqual(await days.exactness(), {
      ...{ entities: 1, pages: 1, entity_days: entityDays, page_days: pageDays },
    })
  /** A build that stops after some of its parts, in both tables. */
  const partOfBuild = async (day: string, built: number) => {
    for (const [table, visits, number] of [
      ['entity_days', 'length(part.3)', 'entity % 101'],
      ['page_days', 'uniqExact(visitor)', 'company % 101'],
    ] as const) {
      const query = BUILD_SQL[table].replace(visits, `${visits} + throwIf(${number} = 7, 'broken')`)
      assert.notEqual(query, BUILD_SQL[table])
      await assert.rejects(
        client.command({ query, query_params: { tenant: 'acme', day, built }, clickhouse_settings: IN_BLOCKS }),
        /broken/,
      )
    }
  }

  await step('nothing is built', async () => {
    await insert(someEvents(20_000, 1), 'a')
    await assertExact(0)
    assert.deepEqual(
      (await days.stale()).map(({ day, tables, builtMs }) => [day, tables, builtMs]),
      ['05', '04', '03', '02', '01'].map((day) => [`2026-11-${day}`, [...UTC_DAY_TABLES], 0]),
    )
  })
  await step('all days are built, and only closed ones', async () => {
    assert.deepEqual(
      (await days.tables.stale('2026-11-03')).newest.map(({ day }) => day),
      ['2026-11-02', '2026-11-01'],
    )
    await days.build()
    await assertExact(5)
    assert.deepEqual(await days.stale(), [])
    const kinds = await rows('SELECT kind, sum(events) AS events FROM entity_days GROUP BY kind ORDER BY kind')
    const events = Object.fromEntries(kinds.map(({ kind, events }) => [kind, events]))
    assert.equal(Number(events.both) + Number(events.company), 20_000)
    assert.equal(Number(events.both) + Number(events.account), 20_000)
  })
  await step('a repeated insert changes nothing', async () => {
    await insert(someEvents(20_000, 1), 'a')
    await assertExact(5)
  })
  await step('late events make their days stale', async () => {
    await insert(someEvents(50, 2), 'b')
    await assertExact(0)
  })
  await step('two of five days are built again', async () => {
    await days.build((await days.stale()).slice(0, 2))
    await assertExact(2)
  })
  await step('all are built again', async () => {
    await days.build()
    await assertExact(5)
  })
  await step('a build that fails in the middle counts nothing, and the one before it stays valid', async () => {
    const before = await rows('SELECT count() AS n FROM entity_days')
    await partOfBuild('2026-11-04', Date.now() + 60_000)
    assert.notDeepEqual(await rows('SELECT count() AS n FROM entity_days'), before, 'parts of the build are stored')
    await assertExact(5)
  })
  await step('the largest part of each table is lost', async () => {
    for (const table of UTC_DAY_TABLES) {
      const [part] = await rows<{ name: string }>(
        `SELECT name FROM system.parts WHERE database = 'ipid' AND table = '${table}' AND active ORDER BY rows DESC LIMIT 1`,
      )
      await change(`ALTER TABLE ${table} DROP PART '${part!.name}'`)
    }
    const { entity_days: left } = await days.exactness()
    assert.ok(left < 5)
    await assertExact(left, (await days.exactness()).page_days)
    await days.build()
    await assertExact(5)
  })
  await step('a merge keeps all builds', async () => {
    for (const table of UTC_DAY_TABLES) await change(`OPTIMIZE TABLE ${table} FINAL`)
    await change('OPTIMIZE TABLE events FINAL')
    await assertExact(5)
  })
  await step('a mutation erases events', async () => {
    await change("ALTER TABLE events DELETE WHERE ip LIKE '10.5.%'")
    await assertExact(0)
    await days.build()
    await assertExact(5)
    for (const table of UTC_DAY_TABLES) await change(`OPTIMIZE TABLE ${table} FINAL`)
    await assertExact(5)
  })
  await step('a re-enrichment removes events, and inserts them under another company', async () => {
    await change('CREATE TABLE staged AS events')
    const [columns] = await rows<{ names: string }>(
      `SELECT arrayStringConcat(groupArray(name), ', ') AS names FROM system.columns
       WHERE database = 'ipid' AND table = 'events' AND default_kind IN ('', 'DEFAULT')`,
    )
    const { names } = columns!
    const other = names.replace(' company_id,', " 'other.example' AS company_id,")
    await change(`INSERT INTO staged (${names}) SELECT ${other} FROM events WHERE events.company_id = 'c7.example'`)
    await change("ALTER TABLE events DELETE WHERE company_id = 'c7.example'")
    await assertExact(0)
    await change(`INSERT INTO events (${names}) SELECT ${names} FROM staged`)
    await assertExact(0)
    await days.build()
    await assertExact(5)
    await change('DROP TABLE staged SYNC')
  })
  await step('days without any event are not valid, and other days stay so', async () => {
    await change("ALTER TABLE events DELETE WHERE toDate32(timestamp) = '2026-11-05'")
    await assertExact(4)
    assert.deepEqual(await days.stale(), [])
  })
  await step('a day on which all pages are gone is proved by no rows', async () => {
    await change("ALTER TABLE events DELETE WHERE toDate32(timestamp) = '2026-11-04' AND page != ''")
    await assertExact(3, 4)
    await days.build()
    await assertExact(4)
  })
  await step('each event belongs to its tenant alone', async () => {
    await insert(someEvents(500, 1, 'other'), 'o')
    await assertExact(4)
    await days.build()
    await assertExact(9)
  })
  await step('a change of any column that a build reads makes its day stale', async () => {
    // Columns that ClickHouse computes follow these.
    const changes = {
      account_id: "'other'",
      company_id: "'other.example'",
      ip: "'192.0.2.77'",
      timestamp: 'timestamp + toIntervalMillisecond(if(toHour(timestamp) < 12, 1, -1))',
      extra: `'{"url":"https://a.example/other"}'`,
    }
    const of = "tenant_id = 'other' AND page != '' AND company_id != ''"
    const found = await rows<{ id: string }>(
      `SELECT any(event_id) AS id FROM events WHERE ${of} GROUP BY toDate32(timestamp) ORDER BY toDate32(timestamp)`,
    )
    assert.equal(found.length, Object.keys(changes).length, 'an event on a day of its own for each column')
    for (const [i, [column, value]] of Object.entries(changes).entries()) {
      const { id } = found[i]!
      const one = `tenant_id = 'other' AND event_id = '${id}'`
      await insert(
        `INSERT INTO events SELECT * REPLACE (${value} AS ${column}, '${id}-' AS event_id) FROM (SELECT * FROM events WHERE ${one})`,
        id,
      )
    }
    await change(
      `ALTER TABLE events DELETE WHERE event_id IN (${found.map(({ id }) => `'${id}'`).join()}) AND tenant_id = 'other'`,
    )
    const tenants = await rows("SELECT count() AS n FROM events WHERE tenant_id = 'other'")
    assert.deepEqual(tenants, [{ n: 500 }])
    assert.equal((await days.stale()).length, found.length)
    await assertExact(4)
    await days.build()
    await assertExact(9)
  })
})

test('days are exact after a kill in a build and in an insert, and after both are repeated', async (t) => {
  const clickhouse = await startTestClickHouse(t)
  const days = new TestDays(clickhouse)
  t.after(() => days.tables.close())
  const { client, rows } = clickhouse
  const insert = (query: string, token: string) =>
    client.command({ query, clickhouse_settings: { insert_deduplicate: 1, insert_deduplication_token: token } })
  await insert(someEvents(20_000, 1), 'a')
  await days.build()
  await insert(someEvents(3_000, 5), 'c')
  const built = Date.now() + 120_000
  const build = client
    .command({
      query: BUILD_SQL.entity_days.replace('length(part.3)', 'length(part.3) + sleepEachRow(0.003)'),
      query_params: { tenant: 'acme', day: '2026-11-02', built },
      clickhouse_settings: IN_BLOCKS,
    })
    .catch(() => 'ended')
  const events = client
    .command({
      query: someEvents(30_000, 6).replace("'page_view'", "concat('page_view', toString(sleepEachRow(0.001)))"),
      clickhouse_settings: { ...IN_BLOCKS, insert_deduplicate: 1, insert_deduplication_token: 'd' },
    })
    .catch(() => 'ended')
  await until(async () => (await rows(`SELECT 1 FROM entity_days WHERE built = ${built}`)).length > 0)
  await clickhouse.kill()
  assert.deepEqual(await Promise.all([build, events]), ['ended', 'ended'])
  await clickhouse.restart()
  const left = await days.exactness()
  assert.deepEqual([left.entities, left.pages], [1, 1])
  await insert(someEvents(30_000, 6), 'd')
  assert.deepEqual(await days.exactness(), { entities: 1, pages: 1, entity_days: 0, page_days: 0 })
  await days.build()
  assert.deepEqual(await days.exactness(), { entities: 1, pages: 1, entity_days: 5, page_days: 5 })
})

/** Rounds of inserts, beside which days are built and read. */
const INSERTS = 60

test('readers beside inserts and builds never see too few or too many events', async (t) => {
  const clickhouse = await startTestClickHouse(t)
  const days = new TestDays(clickhouse)
  t.after(() => days.tables.close())
  const { client, rows } = clickhouse
  const insert = (query: string, token: string) =>
    client.command({ query, clickhouse_settings: { insert_deduplicate: 1, insert_deduplication_token: token } })
  await insert(someEvents(5_000, 1), 'a')
  let isOver = false
  const inserts = async () => {
    for (let i = 0; i < INSERTS; i++) await insert(someEvents(30, 100 + i), `q${i}`)
    isOver = true
  }
  const builds = async () => {
    while (!isOver) await days.build()
  }
  const countOf = async (query: string) => Number((await rows<{ n: number }>(query))[0]?.n ?? 0)
  const ofEvents = 'SELECT count() AS n FROM events'
  const ofPages = "SELECT countIf(page != '' AND company_id != '') AS n FROM events"
  let withDays = 0
  /** As pages do: the valid days are asked once, and passed to the second query. */
  const reader = async (table: string, view: string, all: string, condition: string) => {
    while (!isOver) {
      const low = await countOf(all)
      const valid = await rows<{ day: string; built: number }>(`SELECT toString(day) AS day, built FROM ${view}`)
      const builds = valid.map(({ day, built }) => `('${day}', ${built})`).join()
      const closed = valid.map(({ day }) => `'${day}'`).join()
      const stored = `SELECT sum(events) AS n FROM ${table} WHERE ${condition.replace('events.', '')}`
      const seen = await countOf(
        valid.length === 0
          ? all
          : `SELECT sum(n) AS n FROM (${stored} AND (day, built) IN (${builds}) UNION ALL ${all} WHERE toDate32(timestamp) NOT IN (${closed}))`,
      )
      const high = await countOf(all)
      assert.ok(seen >= low && seen <= high, `${table}: ${seen} is not from ${low} to ${high}`)
      if (valid.length > 0) withDays++
    }
  }
  await Promise.all([
    inserts(),
    builds(),
    reader('entity_days', 'valid_days', ofEvents, "kind != 'account'"),
    reader('page_days', 'valid_page_days', ofPages, '1'),
  ])
  assert.ok(withDays > 0)
  await days.build()
  assert.deepEqual(await days.exactness(), { entities: 1, pages: 1, entity_days: 5, page_days: 5 })
})
