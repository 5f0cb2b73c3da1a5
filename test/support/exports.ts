import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { ClickHouseCompanies } from '../../src/companies/companies.ts'
import { Segments } from '../../src/companies/segments/segments.ts'
import { ExportAdmin } from '../../src/exports/admin.ts'
import { Exporter } from '../../src/exports/exporter.ts'
import { connectReading, QuestionReader } from '../../src/stores/clickhouse/reader.ts'
import { FolderStore } from '../../src/stores/objects/folder-store.ts'
import type { ObjectStore } from '../../src/stores/objects/object-store.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { Membership } from '../../src/stores/redis/membership.ts'
import { RedisTenantStore } from '../../src/tenants/redis/tenant-store.ts'
import { startTestClickHouse } from './clickhouse.ts'
import { eventInserter } from './event-rows.ts'
import { quiet, silent } from './pipeline.ts'
import { startTestRedis } from './redis.ts'
import { handClock } from './tenants.ts'
import { until } from './until.ts'

/** A Wednesday. */
export const START = Date.UTC(2026, 10, 25, 5)
/** The first due time. */
export const SIX = Date.UTC(2026, 10, 25, 6)
/** Its file. */
export const KEY = 'exports/acme/Daily/2026-11-25T06-00Z.csv'
export const clickhouse = await startTestClickHouse()
export const redis = await startTestRedis()
await eventInserter(clickhouse)(
  'acme',
  ['a.example', 'b.example', 'c.example'].map((id, i) => ({
    ...{ tenant_id: 'acme', event_id: id, company_id: id, account_id: id, domain: id, business_name: `Name, of ${id}` },
    ...{ country_code: i === 2 ? 'FR' : 'DE', received_at: START, timestamp: START - i * 1_000 },
  })),
)

/** Tenant acme with a segment of two companies, an empty store, and exporters. */
export async function startExports(t: TestContext, given?: ObjectStore) {
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop', timeoutMs: 5_000 }))
  const folder = await mkdtemp(join(tmpdir(), 'ipid-exports-'))
  const reading = connectReading(clickhouse.url, 'test')
  t.after(async () => {
    await reading.close()
    client.disconnect()
    await rm(folder, { recursive: true, force: true })
  })
  await client.flushall()
  const clock = handClock(START)
  const tenants = new RedisTenantStore(client)
  const [createdAt, plan] = ['2026-01-01T00:00:00.000Z', 'starter']
  await tenants.createTenant({ id: 'acme', plan, archive: false, addresses: 'full', createdAt })
  await new Segments(client, clock).create('acme', 'Keen', 'country=DE')
  const companies = new ClickHouseCompanies(new QuestionReader(reading), clock)
  const admin = new ExportAdmin(client, clock)
  const store = given ?? new FolderStore(join(folder, 'archive'))
  const start = async (options: { store?: ObjectStore } = {}) => {
    const exporter = new Exporter({
      lease: new Membership({ client, name: 'exports' }).share(0),
      ...{ exports: admin.exports, segments: new Segments(client, clock), clock, log: silent, store, ...options },
      rows: (tenantId, filter, left) => companies.rows(tenantId, filter, left),
      ownColumns: (tenantId) => companies.ownColumns(tenantId),
      spoolDir: join(folder, 'spool'),
      getTenant: (id) => tenants.getTenant(id),
    })
    await exporter.start()
    t.after(() => exporter.stop())
    return exporter
  }
  return {
    ...{ admin, client, clock, folder, start, store, tenants },
    create: (given: Partial<Parameters<ExportAdmin['create']>[1]> = {}) =>
      admin.create('acme', {
        name: 'Daily',
        segment: 'Keen',
        every: 'day',
        at: '06:00',
        format: 'csv',
        keep: 30,
        ...given,
      }),
    async files(): Promise<string[]> {
      const found: string[] = []
      for await (const { key } of store.list('exports/')) found.push(key)
      return found
    },
    read: async (key: string) => (await buffer((await store.get(key))!)).toString(),
    written: (id: string, dueMs: number) =>
      until(
        () => admin.exports.state(id),
        (state) => state.dueMs === dueMs,
      ),
  }
}
