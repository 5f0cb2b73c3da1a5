import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { AgedArchive } from '../../src/operations/retention/aged-archive.ts'
import { ClickHouseAgedTables } from '../../src/operations/retention/aged-tables.ts'
import type { AgedStore } from '../../src/operations/retention/ports.ts'
import { RedisRetentionRecords, readRetention } from '../../src/operations/retention/redis/records.ts'
import { Retention } from '../../src/operations/retention/service.ts'
import { indexKey, partKey } from '../../src/pipeline/sinks/archive/layout.ts'
import { FolderStore } from '../../src/stores/objects/folder-store.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { RedisTenantStore } from '../../src/tenants/redis/tenant-store.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { quiet, silent } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'
import { stepsOf } from '../support/steps.ts'
import { handClock } from '../support/tenants.ts'
import { until } from '../support/until.ts'

const TODAY = Date.parse('2026-11-22T12:00:00Z')
const DAYS = ['2026-07-31', '2026-08-31', '2026-10-22', '2026-10-23', '2026-11-20', '2026-11-21', '2026-11-22']
const TENANTS = { plain: undefined, short: 1, keeper: 0 }
const VIEWS = ['accounts', 'companies', 'daily_visits', 'daily_outcomes']

test('tables and archive drop events by age, and the views are right for the rest', async (t) => {
  const step = stepsOf(t)
  const clickhouse = await startTestClickHouse(t)
  const redis = await startTestRedis(t)
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  const folder = mkdtempSync(join(tmpdir(), 'ipid-retention-'))
  t.after(() => {
    client.disconnect()
    rmSync(folder, { recursive: true, force: true })
  })
  const archive = new FolderStore(folder)
  const tenants = new RedisTenantStore(client)
  const clock = handClock(TODAY)
  const start = async (store: AgedStore, defaultDays: number | undefined) => {
    await client.del(keys.retentionTurn(store.name), keys.retention())
    const records = new RedisRetentionRecords(client, defaultDays)
    const service = new Retention({ store, records, clock, log: silent })
    await service.start()
    return service
  }
  /** One check of a store, and its result. */
  const look = async (store: AgedStore, defaultDays: number | undefined) => {
    const service = await start(store, defaultDays)
    const [note] = await until(
      () => readRetention(client),
      (notes) => notes.length === 1,
    )
    await service.stop()
    return note!.removed
  }
  const tables = () => new ClickHouseAgedTables({ url: clickhouse.url })
  const stored = async (table: 'events' | 'outcomes') => {
    const day = table === 'events' ? 'toDate32(received_at)' : 'day'
    const query = `SELECT tenant_id, arraySort(groupUniqArray(toString(${day}))) AS days FROM ${table} GROUP BY tenant_id`
    const rows = await clickhouse.rows<{ tenant_id: string; days: string[] }>(query)
    return Object.fromEntries(rows.map((row) => [row.tenant_id, row.days]))
  }
  const insert = async (tenant: string, day: string) => {
    // Several visitors of several accounts, some on all days, and dropped events.
    await clickhouse.client.command({
      query: `
        INSERT INTO events (ip, tenant_id, event_id, received_at, timestamp, account_id, company_id, business_name, quality)
        SELECT '17.0.0.' || toString(number % 3 + toDayOfMonth(toDate('${day}')) % 2), '${tenant}', '${day}/' || toString(number),
          '${day} 00:00:00.000', '${day} 00:00:00.000', 'a' || toString(number % 2), 'c', '${day}', number
        FROM numbers(6)`,
    })
    await clickhouse.client.command({
      query: `INSERT INTO outcomes VALUES ('${tenant}${day}', '${tenant}', '${day}', '', 'filtered', '', 'isp', 3, '')`,
    })
  }
  for (const [id, days] of Object.entries(TENANTS)) {
    const retention = days === undefined ? {} : { retentionDays: days }
    await tenants.createTenant({
      id,
      plan: 'custom',
      archive: true,
      addresses: 'full',
      createdAt: '2026-01-01T00:00:00.000Z',
      ...retention,
    })
    for (const day of DAYS) {
      await insert(id, day)
      for (const source of ['ingest', 'batch'] as const) {
        const location = { tenantId: id, day, source, run: `${day}T01`, name: 'part-1-000000-p0' }
        for (const key of [indexKey(location), partKey(location)]) await archive.put(key, Buffer.from('x'))
      }
    }
  }
  const kept = { plain: DAYS.slice(3), short: DAYS.slice(5), keeper: DAYS }

  await step('by default everything is kept, and no store is read', async () => {
    await tenants.changeTenant('short', { retention_days: 0 })
    const away = { name: 'tables', removeAged: () => assert.fail('was looked at'), close: async () => {} } as const
    const records = new RedisRetentionRecords(client, undefined)
    let asked = 0
    const policy = async () => {
      const found = await records.policy()
      asked++
      return found
    }
    const spied = { policy, take: () => assert.fail('took a turn'), giveBack: records.giveBack, note: records.note }
    const service = new Retention({ store: away, records: spied, clock, log: silent })
    await service.start()
    await until(() => asked > 0)
    await service.stop()
    assert.deepEqual(await readRetention(client), [])
    await tenants.changeTenant('short', { retention_days: 1 })
  })

  await step('rows are removed by whole days of receipt, and sums with them', async () => {
    const removed = await look(tables(), 30)
    assert.equal(removed, (3 + 5) * 7, 'six rows of events and one of outcomes a day')
    await until(
      () => stored('events'),
      (days) => JSON.stringify(days.plain) === JSON.stringify(kept.plain),
    )
    assert.deepEqual(
      await until(
        () => stored('events'),
        (days) => days.short!.length === 2,
      ),
      kept,
    )
    assert.deepEqual(
      await until(
        () => stored('outcomes'),
        (days) => days.short!.length === 2,
      ),
      kept,
    )
    const sums = (plain: boolean) => {
      const settings = `SETTINGS optimize_use_projections = ${plain ? 0 : 1}`
      return Promise.all(VIEWS.map((view) => clickhouse.rows(`SELECT * FROM ${view} ORDER BY ALL ${settings}`)))
    }
    assert.deepEqual(await sums(false), await sums(true))
    const [accounts] = await sums(false)
    const first = (accounts as { tenant_id: string; first_seen: string; events: number }[])[2]!
    assert.deepEqual([first.tenant_id, first.first_seen, first.events], ['plain', '2026-10-23 00:00:00.000', 12])
    assert.equal(await look(tables(), 30), 0, 'nothing more is due')
  })

  await step('months that no tenant keeps are dropped as a whole', async () => {
    await tenants.changeTenant('keeper', { retention_days: 60 })
    await insert('of-nobody', '2026-07-31')
    // A table with a running removal is left alone, until a moment after its rows are gone.
    await until(
      () => clickhouse.rows('SELECT mutation_id FROM system.mutations WHERE NOT is_done'),
      (open) => open.length === 0,
    )
    assert.equal(await look(tables(), 30), 2 * 7 + 7)
    const parts = await clickhouse.rows(
      "SELECT DISTINCT partition_id FROM system.parts WHERE active AND table = 'events' ORDER BY 1",
    )
    assert.deepEqual(
      parts.map((row) => row.partition_id),
      ['202610', '202611'],
    )
    assert.deepEqual((await stored('events')).keeper, DAYS.slice(2))
    await tenants.changeTenant('keeper', { retention_days: 0 })
  })

  await step('objects are removed by their day, parts and indexes', async () => {
    const aged = () => new AgedArchive(archive, async () => Object.keys(TENANTS))
    assert.equal(await look(aged(), 30), (3 + 5) * 4)
    const left: string[] = []
    for await (const { key } of archive.list('')) left.push(key)
    assert.equal(left.length, (4 + 2 + 7) * 4)
    for (const [tenant, days] of Object.entries(kept)) {
      const found = left
        .filter((key) => key.startsWith(`index/tenant=${tenant}/`))
        .map((key) => key.split('/')[2]!.slice(4))
      assert.deepEqual([...new Set(found)], days)
    }
    assert.equal(await look(aged(), 30), 0)
  })

  await step('one of several processes takes the turn; a failed turn is repeated', async () => {
    const records = new RedisRetentionRecords(client, 30)
    await client.del(keys.retentionTurn('tables'))
    const turns = await Promise.all(Array.from({ length: 5 }, () => records.take('tables', 60_000)))
    assert.equal(turns.filter(Boolean).length, 1)
    let tries = 0
    const failing: AgedStore = {
      name: 'tables',
      removeAged: async () => {
        tries++
        throw new Error('down')
      },
      close: async () => {},
    }
    const service = await start(failing, 30)
    await until(() => tries > 0)
    await until(async () => (await client.exists(keys.retentionTurn('tables'))) === 0)
    await service.stop()
  })
})
