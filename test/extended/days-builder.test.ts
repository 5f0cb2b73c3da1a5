import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { type BuilderTimes, DaysBuilder } from '../../src/days/builder.ts'
import type { TenantZones } from '../../src/days/day-tables.ts'
import { RedisDaysRecords } from '../../src/days/redis/records.ts'
import { daysStatus } from '../../src/days/status.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { Membership } from '../../src/stores/redis/membership.ts'
import { startTestClickHouse, type TestClickHouse } from '../support/clickhouse.ts'
import { someEvents, TestDays } from '../support/days.ts'
import { startTestRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

const HOUR_MS = 3_600_000
/** Days of the events are closed. */
const START = Date.parse('2026-11-22T12:00:00Z')
const TIMES: Partial<BuilderTimes> = { lookEveryMs: 20, quietMs: 0, restlessMs: 0, lookShare: 1 }

/** Builders of a server, with a lease in a real Redis and a clock that a test sets. */
class Builders {
  nowMs = START
  /** Of tenants that are not in UTC. */
  zones: TenantZones = new Map()
  readonly clickhouse: TestClickHouse
  readonly days: TestDays
  readonly records: RedisDaysRecords
  readonly #redis: ReturnType<typeof connectRedis>
  readonly #running: DaysBuilder[] = []

  private constructor(t: TestContext, clickhouse: TestClickHouse, url: string) {
    this.clickhouse = clickhouse
    this.days = new TestDays(clickhouse)
    this.#redis = connectRedis(url, { name: 'test', kind: 'loop' })
    this.#redis.on('error', () => {})
    this.records = new RedisDaysRecords(this.#redis)
    t.after(async () => {
      await Promise.all(this.#running.map((builder) => builder.stop()))
      this.#redis.disconnect()
      await this.days.tables.close()
    })
  }

  static async start(t: TestContext): Promise<Builders> {
    return new Builders(t, await startTestClickHouse(t), (await startTestRedis(t)).url)
  }

  async add(times = TIMES): Promise<DaysBuilder> {
    const log = pino({ level: 'silent' })
    const builder = new DaysBuilder({
      lease: new Membership({ client: this.#redis, name: 'days', processName: `p${this.#running.length}`, log }).share(
        0,
      ),
      ...{ tables: this.days.tables, records: this.records, clock: { now: () => this.nowMs }, log, times },
      zones: async () => this.zones,
    })
    this.#running.push(builder)
    await builder.start()
    return builder
  }

  async status() {
    return daysStatus(await this.records.read(), this.nowMs)
  }

  /** Waits until a builder has looked at the time of now, and at a later one, so that it is done with the first. */
  async look(): Promise<void> {
    for (const atMs of [this.nowMs, this.nowMs + 0.1]) {
      this.nowMs = atMs
      await until(async () => (await this.records.read())?.atMs === atMs)
    }
  }

  async insert(events: number, seed: number): Promise<void> {
    await this.clickhouse.client.command({
      query: someEvents(events, seed),
      clickhouse_settings: { insert_deduplicate: 1, insert_deduplication_token: `${seed}` },
    })
  }
}

test('one of two builders builds all closed days, and the status says how many are stale', async (t) => {
  const builders = await Builders.start(t)
  await builders.insert(2_000, 1)
  assert.equal(await builders.status(), null)
  const [first] = [await builders.add({ ...TIMES, quietMs: HOUR_MS, restlessMs: HOUR_MS }), await builders.add(TIMES)]
  await until(async () => (await builders.status())?.stale === 5)
  assert.equal((await builders.status())?.oldest_since, new Date(START).toISOString())
  assert.equal((await builders.days.exactness()).entity_days, 0)
  await first.stop()
  await until(async () => (await builders.status())?.stale === 0)
  assert.deepEqual(await builders.days.exactness(), { entities: 1, pages: 1, entity_days: 5, page_days: 5 })
  const builds = await builders.clickhouse.rows('SELECT uniqExact(day, built) AS n FROM entity_days')
  assert.deepEqual(builds, [{ n: 5 }])
})

test('a query that chose a build still reads it for 15 minutes after it was replaced', async (t) => {
  const builders = await Builders.start(t)
  const { clickhouse, days } = builders
  await builders.insert(2_000, 1)
  // Without any wait but that of the cleaner.
  await builders.add({ ...TIMES, cleanEveryMs: 0 })
  await until(async () => (await builders.status())?.stale === 0)
  const chosen = await clickhouse.rows<{ day: string; built: number }>(
    'SELECT toString(day) AS day, built FROM valid_days',
  )
  const list = chosen.map(({ day, built }) => `('${day}', ${built})`).join()
  const read = async () => {
    const query = `SELECT sum(events) AS n FROM entity_days WHERE kind != 'account' AND (day, built) IN (${list})`
    return (await clickhouse.rows<{ n: number }>(query))[0]!.n
  }
  assert.equal(await read(), 2_000)
  builders.nowMs += HOUR_MS
  await builders.insert(50, 2)
  await until(async () => (await days.exactness()).entity_days === 5)
  /** Rows that count nothing make a build invalid for good. */
  const condemned = async () =>
    (await clickhouse.rows<{ n: number }>(`SELECT uniqExact(built) AS n FROM entity_days WHERE events = 0`))[0]!.n
  // Until the cleaner looks again.
  await until(async () => {
    if ((await condemned()) > 0) return true
    builders.nowMs += 900_000
    return false
  })
  const since = builders.nowMs
  assert.equal(await read(), 2_000)
  builders.nowMs = since + 899_999
  await builders.look()
  assert.equal(await read(), 2_000)
  builders.nowMs = since + 900_000
  await until(async () => (await read()) === 0)
  assert.deepEqual(await days.exactness(), { entities: 1, pages: 1, entity_days: 5, page_days: 5 })
})

test('days that were cut for a zone are removed when their workspace returns to UTC', async (t) => {
  const builders = await Builders.start(t)
  const cuts = async () => {
    const query = 'SELECT (SELECT count() FROM zone_days) AS days, (SELECT count() FROM zone_page_days) AS pages'
    return (await builders.clickhouse.rows<{ days: number; pages: number }>(query))[0]!
  }
  builders.zones = new Map([['acme', 'Europe/Berlin']])
  await builders.insert(2_000, 1)
  await builders.add({ ...TIMES, cleanEveryMs: 0 })
  await until(async () => (await builders.status())?.stale === 0)
  const stored = await cuts()
  assert.ok(stored.days > 0 && stored.pages > 0)
  builders.nowMs += HOUR_MS
  await builders.look()
  assert.deepEqual(await cuts(), stored)
  builders.zones = new Map()
  await until(async () => {
    builders.nowMs += 900_000
    const { days, pages } = await cuts()
    return days + pages === 0
  })
  assert.deepEqual(await builders.days.exactness(), { entities: 1, pages: 1, entity_days: 5, page_days: 5 })
})

test('a build that was condemned never counts again, even when its events come back', async (t) => {
  const { days, clickhouse } = await Builders.start(t)
  await clickhouse.client.command({ query: someEvents(2_000, 1) })
  await days.build()
  const rows = "tenant_id = 'acme' AND event_id = (SELECT min(event_id) FROM events)"
  await clickhouse.client.command({ query: `CREATE TABLE staged AS events` })
  await clickhouse.client.command({ query: `INSERT INTO staged SELECT * FROM events WHERE ${rows}` })
  const settings = { mutations_sync: '2' } as const
  await clickhouse.client.command({
    query: `ALTER TABLE events DELETE WHERE event_id IN (SELECT event_id FROM staged)`,
    clickhouse_settings: settings,
  })
  const { builds } = await days.tables.replaced('entity_days')
  assert.equal(builds.length, 1)
  await days.tables.condemn('entity_days', builds)
  await clickhouse.client.command({ query: 'INSERT INTO events SELECT * FROM staged' })
  assert.deepEqual(await days.exactness(), { entities: 1, pages: 1, entity_days: 4, page_days: 5 })
  await clickhouse.client.command({ query: 'DROP TABLE staged SYNC' })
})

test('stored events get their projections month by month, the newest first, before any day is built', async (t) => {
  const builders = await Builders.start(t)
  const { client, rows } = builders.clickhouse
  for (const month of ['09', '10', '11'])
    await client.command({ query: someEvents(100, Number(month)).replace('2026-11-01', `2026-${month}-01`) })
  const cleared = { mutations_sync: '2', alter_sync: '2' } as const
  for (const month of ['09', '10', '11'])
    for (const name of ['day_checks', 'page_names'])
      await client.command({
        query: `ALTER TABLE events CLEAR PROJECTION ${name} IN PARTITION ID '2026${month}'`,
        clickhouse_settings: cleared,
      })
  const have = `SELECT count() AS n FROM system.projection_parts
    WHERE database = 'ipid' AND table = 'events' AND active AND name IN ('day_checks', 'page_names')`
  assert.deepEqual(await rows(have), [{ n: 0 }])
  await builders.add()
  await until(async () => (await builders.status())?.stale === 0)
  assert.deepEqual(await rows(have), [{ n: 6 }])
  const commands = await rows<{ command: string }>(
    "SELECT command FROM system.mutations WHERE database = 'ipid' AND table = 'events' AND command LIKE '%MATERIALIZE%' ORDER BY create_time, mutation_id",
  )
  assert.deepEqual(
    commands.map(({ command }) => /(\w+) IN PARTITION ID '(\d+)'/.exec(command)!.slice(1).join(' ')),
    ['day_checks', 'page_names'].flatMap((name) => ['202611', '202610', '202609'].map((month) => `${name} ${month}`)),
  )
  assert.deepEqual(await builders.days.exactness(), { entities: 1, pages: 1, entity_days: 15, page_days: 15 })
})
