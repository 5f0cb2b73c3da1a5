import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { ClickHouseCompanies } from '../../src/companies/companies.ts'
import { Segments } from '../../src/companies/segments/segments.ts'
import { ExportAdmin } from '../../src/exports/admin.ts'
import { Exporter } from '../../src/exports/exporter.ts'
import { exportKey, lastDue } from '../../src/exports/schedule.ts'
import { StoreErasableArchive } from '../../src/operations/erasure/erasable-archive.ts'
import { RedisTenantRemoval } from '../../src/operations/erasure/redis/tenant-removal.ts'
import { connectReading, QuestionReader } from '../../src/stores/clickhouse/reader.ts'
import { FolderStore } from '../../src/stores/objects/folder-store.ts'
import type { ObjectStore } from '../../src/stores/objects/object-store.ts'
import { S3Store } from '../../src/stores/objects/s3-store.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { Membership } from '../../src/stores/redis/membership.ts'
import { TenantCopies } from '../../src/tenants/redis/tenant-copies.ts'
import { RedisTenantStore } from '../../src/tenants/redis/tenant-store.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { runCommand } from '../support/command.ts'
import { eventInserter } from '../support/event-rows.ts'
import { quiet, silent } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'
import { S3_ENVIRONMENT, startTestS3 } from '../support/s3.ts'
import { handClock } from '../support/tenants.ts'
import { until } from '../support/until.ts'

Object.assign(process.env, S3_ENVIRONMENT)

const DAY_MS = 86_400_000
/** A Wednesday. */
const START = Date.UTC(2026, 10, 25, 5)
const SIX = Date.UTC(2026, 10, 25, 6)
const KEY = 'exports/acme/Daily/2026-11-25T06-00Z.csv'
const clickhouse = await startTestClickHouse()
const redis = await startTestRedis()
await eventInserter(clickhouse)(
  'acme',
  ['a.example', 'b.example', 'c.example'].map((id, i) => ({
    ...{ tenant_id: 'acme', event_id: id, company_id: id, account_id: id, domain: id, business_name: `Name, of ${id}` },
    ...{ country_code: i === 2 ? 'FR' : 'DE', received_at: START, timestamp: START - i * 1_000 },
  })),
)

/** Tenant acme with a segment of two companies, an empty store, and exporters. */
async function startExports(t: TestContext, given?: ObjectStore) {
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
    read: async (key: string) => text((await store.get(key))!),
    written: (id: string, dueMs: number) =>
      until(
        () => admin.exports.state(id),
        (state) => state.dueMs === dueMs,
      ),
  }
}

/** A store whose next puts are given to a function. */
function withPuts(store: ObjectStore, putFile: ObjectStore['putFile']): ObjectStore {
  return new Proxy(store, {
    get: (target, name) => {
      if (name === 'putFile') return putFile
      const value = Reflect.get(target, name) as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

test('the last due time of a day and of a week, and the key of a time', () => {
  const day = { every: 'day', at: '06:00' } as const
  assert.equal(lastDue(day, SIX - 1), SIX - DAY_MS)
  assert.equal(lastDue(day, SIX), SIX)
  const week = { every: 'week', at: '06:00' } as const
  const monday = Date.UTC(2026, 10, 23, 6)
  assert.equal(lastDue(week, SIX), monday)
  assert.equal(lastDue(week, monday), monday)
  assert.equal(lastDue(week, monday - 1), monday - 7 * DAY_MS)
  assert.equal(exportKey('acme', { name: 'Daily', format: 'csv' }, SIX), KEY)
})

test('a segment is written when it is due, missed times once, and old files go', async (t) => {
  const { create, clock, start, written, files, read, client } = await startExports(t)
  const daily = await create({ keep: 2 })
  const lines = await create({ name: 'Lines', format: 'ndjson' })
  const exporter = await start()
  clock.nowMs = SIX + 5_000
  for (const one of [daily, lines]) await written(one.id, SIX)
  const csv = (await read(KEY)).split('\r\n')
  assert.match(csv[0]!, /^Company,Events,Visits,/)
  assert.match(csv[1]!, /^"Name, of a\.example",1,1,/)
  assert.deepEqual([csv.length, csv[3]], [4, ''])
  const rows = (await read(KEY.replace('Daily', 'Lines').replace('csv', 'ndjson'))).trimEnd().split('\n')
  assert.deepEqual(
    rows.map((row) => JSON.parse(row).company_id),
    ['a.example', 'b.example'],
  )
  assert.equal(await client.exists(keys.exportAttempt()), 0)
  await exporter.stop()
  // Five days without a process: one file.
  clock.nowMs = SIX + 5 * DAY_MS + 1
  await start()
  await written(daily.id, SIX + 5 * DAY_MS)
  clock.nowMs += DAY_MS
  await written(daily.id, SIX + 6 * DAY_MS)
  assert.deepEqual(
    (await files()).filter((key) => key.includes('Daily')),
    ['exports/acme/Daily/2026-11-30T06-00Z.csv', 'exports/acme/Daily/2026-12-01T06-00Z.csv'],
  )
})

test('two processes write one file, and a killed one is replaced under the same key', async (t) => {
  const { create, clock, start, written, files, client, admin, folder, store } = await startExports(t)
  const daily = await create()
  const puts: string[] = []
  const counting = withPuts(store, async (key, ...rest) => {
    puts.push(key)
    await store.putFile(key, ...rest)
  })
  await Promise.all([start({ store: counting }), start({ store: counting })])
  clock.nowMs = SIX
  await written(daily.id, SIX)
  assert.deepEqual(puts, [KEY])
  // As a process leaves it that is killed after the file and before its state.
  await client.del(keys.exportState(daily.id))
  await client.set(keys.exportAttempt(), JSON.stringify({ tenantId: 'acme', exportId: daily.id, key: KEY }))
  await written(daily.id, SIX)
  assert.deepEqual(await files(), [KEY])
  assert.deepEqual(puts, [KEY, KEY])
  assert.deepEqual(await readdir(join(folder, 'spool')), [])
  assert.equal((await admin.exports.state(daily.id)).last?.rows, 2)
})

test('a store that refuses delays only its export, with its reason, and the file comes later', async (t) => {
  const { create, clock, start, written, files, admin, store } = await startExports(t)
  const [daily, other] = [await create(), await create({ name: 'Other' })]
  let refuses = true
  const refusing = withPuts(store, async (key, ...rest) => {
    if (refuses && key === KEY) throw new Error('s3://bucket: AccessDenied')
    await store.putFile(key, ...rest)
  })
  await start({ store: refusing })
  clock.nowMs = SIX
  await written(other.id, SIX)
  const state = await until(
    () => admin.exports.state(daily.id),
    ({ failures }) => failures > 0,
  )
  assert.deepEqual([state.error?.message, state.failures, state.dueMs], ['s3://bucket: AccessDenied', 1, 0])
  assert.equal(state.retryAtMs, SIX + 60_000)
  refuses = false
  clock.nowMs = state.retryAtMs
  assert.equal((await written(daily.id, SIX)).error, undefined)
  assert.equal((await files()).length, 2)
})

test('a bucket gets the same files', async (t) => {
  const { bucket, endpoint } = await startTestS3(t)
  const s3 = new S3Store({ bucket, endpoint, prefix: 'raw', region: undefined, deadlineMs: 5_000 })
  t.after(() => s3.close())
  const { create, clock, start, written, files, read } = await startExports(t, s3)
  const daily = await create()
  await start()
  clock.nowMs = SIX
  const { last } = await written(daily.id, SIX)
  assert.deepEqual(await files(), [KEY])
  await assert.rejects(
    new S3Store({ bucket: 'missing', endpoint, prefix: '', region: undefined }).putFile('a', import.meta.filename, {
      ...{ bytes: 1, md5: '', contentType: 'text/csv' },
    }),
    /s3:\/\/missing/,
  )
  assert.equal(Buffer.byteLength(await read(KEY)), last?.bytes)
})

test('pausing, copies, and the deletion of a tenant with its files', async (t) => {
  const { create, clock, start, written, files, client, admin, store, tenants } = await startExports(t)
  const daily = await create()
  const exporter = await start()
  clock.nowMs = SIX
  await written(daily.id, SIX)
  await admin.pause(daily)
  clock.nowMs += DAY_MS
  const asked = await admin.run(daily)
  await until(
    () => admin.exports.state(daily.id),
    (state) => state.askedMs === asked,
  )
  const resumed = await admin.resume(daily)
  clock.nowMs += DAY_MS - 1
  for await (const copy of new TenantCopies(client, clock).all()) {
    assert.equal(copy.exports![daily.id]!.active_since, resumed.active_since)
    await client.del(keys.exportsOf('acme'), keys.exportingTenants())
    await new TenantCopies(client, clock).add(copy)
  }
  assert.equal((await admin.named('acme', 'Daily')).active_since, new Date(clock.nowMs).toISOString())
  assert.deepEqual(await admin.exports.tenants(), ['acme'])
  await exporter.stop()
  // A request at a time when the schedule has nothing to do.
  assert.equal((await admin.exports.state(daily.id)).dueMs, SIX)
  assert.equal((await files()).length, 2)
  const removal = new RedisTenantRemoval(client)
  await removal.mark('acme')
  const scope = { tenantId: 'acme', selector: undefined, beforeMs: clock.nowMs }
  assert.equal(await new StoreErasableArchive(store).removeTenant(scope), 2)
  // As a process leaves it that is killed after its file came too late.
  await store.put(KEY, Buffer.from('late'))
  await client.set(keys.exportAttempt(), JSON.stringify({ tenantId: 'acme', exportId: daily.id, key: KEY }))
  await start()
  await until(files, (found) => found.length === 0)
  await removal.removeKeys('acme')
  await removal.removeRecord('acme')
  assert.equal(await tenants.getTenant('acme'), undefined)
  assert.equal(await client.exists(keys.exportsOf('acme'), keys.exportState(daily.id), keys.exportRequest(daily.id)), 0)
  assert.deepEqual(await admin.exports.tenants(), [])
})

test('exports are made, shown, run and removed by commands', async (t) => {
  const { clock, start, folder } = await startExports(t)
  clock.nowMs = Date.now()
  const env = { REDIS_URL: redis.url, ARCHIVE_URL: `file://${join(folder, 'archive')}` }
  const run = (...args: string[]) => runCommand(args, { env })
  const json = async (...args: string[]) => JSON.parse((await run(...args, '--json')).stdout)
  const refused = async (...args: string[]) => {
    const { code, stderr } = await run(...args)
    assert.equal(code, 2, stderr)
    return stderr
  }
  await start()
  const of = ['--segment', 'Keen', '--every', 'day'] as const
  const made = await json('export', 'create', 'acme', 'Mine', ...of, '--format', 'ndjson')
  assert.deepEqual([made.at, made.keep, made.folder, made.segment], ['06:00', 30, 'exports/acme/Mine/', 'Keen'])
  assert.match(await refused('export', 'create', 'acme', 'mine', ...of), /has an export named/)
  assert.match(await refused('export', 'create', 'acme', 'a b', ...of), /letters, digits/)
  assert.match(await refused('export', 'create', 'acme', 'B', ...of, '--at', '6'), /HH:MM/)
  assert.match(await refused('export', 'create', 'acme', 'B', '--every', 'day', '--segment', 'X'), /no segment/)
  assert.match(await refused('segment', 'remove', 'acme', 'Keen'), /the export Mine needs segment Keen/)
  assert.equal((await json('export', 'pause', 'acme', 'Mine')).paused.by, 'person')
  const { last } = await json('export', 'run', 'acme', 'Mine', '--wait', '20')
  assert.deepEqual([last.rows, last.key.startsWith('exports/acme/Mine/')], [2, true])
  assert.equal((await readFile(join(folder, 'archive', last.key), 'utf8')).split('\n').length, 3)
  assert.equal((await json('export', 'resume', 'acme', 'Mine')).paused, null)
  assert.deepEqual((await json('export', 'list', 'acme'))[0].last, last)
  assert.match((await run('export', 'list', 'acme')).stdout, /every day at 06:00 UTC/)
  await json('export', 'remove', 'acme', 'Mine')
  assert.deepEqual(await json('export', 'list', 'acme'), [])
  assert.equal((await run('segment', 'remove', 'acme', 'Keen')).code, 0)
})
