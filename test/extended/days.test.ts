import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BUILD_SQL } from '../../src/days/day-tables.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { someEvents, TestDays } from '../support/days.ts'
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
