import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { DayTables } from '../../src/days/day-tables.ts'
import { removeStaleBuilds } from '../../src/days/remove-builds.ts'
import { HostConnections } from '../../src/stores/clickhouse/hosts.ts'
import { migrate } from '../../src/stores/clickhouse/migrate.ts'
import { DAY_TABLES } from '../../src/stores/clickhouse/tables.ts'
import { startTestCluster } from '../support/cluster.ts'
import { EXACTNESS, type Exactness, someEvents } from '../support/days.ts'
import { until } from '../support/until.ts'

test('days of a cluster are built from the events of all shards, and each build is on one', async (t) => {
  const cluster = await startTestCluster(t)
  const { shards, url, hosts } = cluster
  await migrate(url, pino({ level: 'silent' }), { cluster: 'both' })
  const tables = new DayTables({ url, cluster: 'both', hosts })
  const connections = new HostConnections({ url, cluster: 'both', hosts }, { application: 'test' })
  t.after(() => Promise.all([tables.close(), connections.close()]))
  for (const [index, { client }] of shards.entries())
    await client.command({ query: someEvents(2_000, index).replace('INTO events', 'INTO ipid.events_local') })
  /** The comparison, with the same answer from any host. */
  const exactness = async () => {
    const found = await Promise.all(
      shards.map(async ({ client }) => {
        const query = EXACTNESS.replace(
          /\b(FROM|JOIN) (events|entity_days|page_days|valid_days|valid_page_days)\b/g,
          '$1 ipid.$2',
        )
        const result = await client.query({
          query: query.replace(/ (NOT )?IN \(SELECT/g, ' GLOBAL $1IN (SELECT'),
          format: 'JSONEachRow',
          clickhouse_settings: { output_format_json_quote_64bit_integers: 0 },
        })
        const [row] = await result.json<Exactness>()
        return row!
      }),
    )
    assert.deepEqual(found[0], found[1])
    return found[0]!
  }
  const build = async () => {
    for (const day of (await tables.stale('2299-01-01', new Map([['acme', 'Europe/Berlin']]))).newest)
      await tables.build(day, Date.now())
  }
  assert.deepEqual(await tables.openMutations(), [])
  assert.deepEqual(await exactness(), { entities: 1, pages: 1, entity_days: 0, page_days: 0 })
  await build()
  assert.deepEqual(await exactness(), { entities: 1, pages: 1, entity_days: 5, page_days: 5 })
  for (const table of DAY_TABLES) {
    const builds = await Promise.all(shards.map(({ rows }) => rows(`SELECT DISTINCT day FROM ipid.${table}_local`)))
    assert.deepEqual(
      builds.map((days) => days.length > 0),
      [true, true],
    )
    assert.equal(builds.flat().length, 5)
  }
  await shards[1].client.command({ query: someEvents(50, 7).replace('INTO events', 'INTO ipid.events_local') })
  assert.deepEqual(await exactness(), { entities: 1, pages: 1, entity_days: 0, page_days: 0 })
  await build()
  for (const table of DAY_TABLES) {
    const { builds, share } = await tables.replaced(table)
    assert.equal(builds.length, 5)
    assert.ok(share > 0.4 && share < 0.6)
    await tables.condemn(table, builds)
    await tables.remove(table, builds)
    await until(async () => !(await tables.isRemoving(table)))
    assert.deepEqual((await tables.replaced(table)).builds, [])
  }
  assert.deepEqual(await exactness(), { entities: 1, pages: 1, entity_days: 5, page_days: 5 })
  // An erasure.
  for (const { client } of shards)
    await client.command({
      query: "ALTER TABLE ipid.events_local DELETE WHERE ip LIKE '10.5.%'",
      clickhouse_settings: { mutations_sync: '2' },
    })
  await removeStaleBuilds(await connections.find(), 'acme', performance.now() + 60_000)
  for (const { rows } of shards)
    for (const table of DAY_TABLES)
      assert.deepEqual(await rows(`SELECT count() AS n FROM ipid.${table}_local`), [{ n: 0 }])
  await build()
  assert.deepEqual(await exactness(), { entities: 1, pages: 1, entity_days: 5, page_days: 5 })
})
