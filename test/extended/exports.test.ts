import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { watch } from 'node:fs'
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { ingest } from '../../pipelines/ingest.ts'
import { exportKey, lastDue } from '../../src/exports/schedule.ts'
import { readExports } from '../../src/exports/status.ts'
import { StoreErasableArchive } from '../../src/operations/erasure/erasable-archive.ts'
import { RedisErasableRecords } from '../../src/operations/erasure/redis/erasable-records.ts'
import { RedisTenantRemoval } from '../../src/operations/erasure/redis/tenant-removal.ts'
import { withResolvers } from '../../src/run/with-resolvers.ts'
import { S3Store } from '../../src/stores/objects/s3-store.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { TenantCopies } from '../../src/tenants/redis/tenant-copies.ts'
import { runCommand } from '../support/command.ts'
import type { ExportProcess } from '../support/export-process.ts'
import { clickhouse, KEY, redis, SIX, startExports } from '../support/exports.ts'
import { silent } from '../support/pipeline.ts'
import { S3_ENVIRONMENT, startTestS3 } from '../support/s3.ts'
import { until } from '../support/until.ts'
import { withPuts } from '../support/with-puts.ts'

Object.assign(process.env, S3_ENVIRONMENT)

const DAY_MS = 86_400_000

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
  assert.match(csv[0]!, /^\ufeffCompany,Events,Visits,/)
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

/** A process that writes exports until it is killed. */
function exporting(t: TestContext, options: Omit<ExportProcess, 'redisUrl' | 'clickhouseUrl'>) {
  const given: ExportProcess = { redisUrl: redis.url, clickhouseUrl: clickhouse.url, ...options }
  const script = fileURLToPath(new URL('../support/export-process.ts', import.meta.url))
  const child = spawn(process.execPath, ['--import', 'tsx', script, JSON.stringify(given)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const gone = once(child, 'exit')
  const kill = async () => {
    child.kill('SIGKILL')
    await gone
  }
  t.after(kill)
  return { child, kill }
}

test('a process that is killed while it reads or writes leaves no part of a file, and its successor writes one', async (t) => {
  const { create, clock, start, written, files, read, client, folder, admin } = await startExports(t)
  const daily = await create()
  const nowMs = SIX
  const reading = exporting(t, { folder, nowMs, hangsWhileReading: true })
  await once(reading.child.stdout, 'data')
  assert.equal((await readdir(join(folder, 'spool'))).length, 1)
  await reading.kill()
  assert.deepEqual(await files(), [])
  assert.deepEqual(await admin.exports.attempt(), { tenantId: 'acme', exportId: daily.id, key: KEY })

  // About 40 MB, so that it is killed amid the copy into the store.
  const partial = join(folder, 'archive', '.partial')
  await mkdir(partial, { recursive: true })
  const watcher = watch(partial)
  t.after(() => watcher.close())
  const copying = once(watcher, 'change')
  const writing = exporting(t, { folder, nowMs, portions: 20 })
  await copying
  await writing.kill()
  for (const key of await files()) {
    assert.equal(key, KEY)
    assert.equal((await read(key)).trimEnd().split('\r\n').length, 1 + 20 * 20_000)
  }

  clock.nowMs = nowMs
  await start()
  const { last, runs } = await written(daily.id, SIX)
  assert.deepEqual(await files(), [KEY])
  assert.deepEqual([last?.rows, runs?.length], [2, 1])
  assert.equal(Buffer.byteLength(await read(KEY)), last?.bytes)
  assert.deepEqual(await readdir(join(folder, 'spool')), [])
  assert.equal(await client.exists(keys.exportAttempt()), 0)
})

test('the deletion of a tenant waits for its file that is being written, which then goes', async (t) => {
  const { create, clock, start, files, client, store, admin } = await startExports(t)
  const daily = await create()
  const [begun, released] = [withResolvers(), withResolvers()]
  const blocking = withPuts(store, async (key, ...rest) => {
    begun.resolve()
    await released.promise
    await store.putFile(key, ...rest)
  })
  await start({ store: blocking })
  clock.nowMs = SIX
  await begun.promise
  await new RedisTenantRemoval(client).mark('acme')
  let looks = 0
  const counting = new Proxy(client, {
    get(target, name) {
      const value = Reflect.get(target, name) as unknown
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        if (name === 'get' && args[0] === keys.exportAttempt()) looks++
        return value.apply(target, args)
      }
    },
  })
  const records = (deadlineMs: number) =>
    new RedisErasableRecords({
      ...{ client: counting, pipeline: ingest, partitions: 1, folder: undefined, log: silent },
    }).untilCancelled('acme', performance.now() + deadlineMs)
  await assert.rejects(records(1), /an export of this tenant did not end in time/)
  // Another tenant does not wait.
  await new RedisErasableRecords({
    ...{ client, pipeline: ingest, partitions: 1, folder: undefined, log: silent },
  }).untilCancelled('other', performance.now() + 60_000)
  looks = 0
  let hasEnded = false
  const waiting = records(60_000).then(() => {
    hasEnded = true
  })
  await until(() => looks > 3)
  assert.equal(hasEnded, false)
  released.resolve()
  await waiting
  assert.deepEqual([await files(), await admin.exports.attempt()], [[], undefined])
  assert.equal((await admin.exports.state(daily.id)).last, undefined)
})

test('the deletion of a tenant does not wait for the file of a killed process', async (t) => {
  const { create, client } = await startExports(t)
  const daily = await create()
  await client.set(keys.exportAttempt(), JSON.stringify({ tenantId: 'acme', exportId: daily.id, key: KEY }))
  const records = new RedisErasableRecords({
    ...{ client, pipeline: ingest, partitions: 1, folder: undefined, log: silent },
  })
  await records.untilCancelled('acme', performance.now() + 60_000)
})

test('a store that refuses delays only its export, with its reason, and the file comes later', async (t) => {
  const { create, clock, start, written, files, admin, store, client } = await startExports(t)
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
  const [open_since, error] = [new Date(SIX).toISOString(), 's3://bucket: AccessDenied']
  assert.deepEqual(await readExports(client, clock.nowMs), {
    ...{ count: 2, failed: 1, late: 0, worst: [{ tenant_id: 'acme', name: 'Daily', open_since, failures: 1, error }] },
  })
  refuses = false
  clock.nowMs = state.retryAtMs
  assert.equal((await written(daily.id, SIX)).error, undefined)
  assert.equal((await files()).length, 2)
  assert.deepEqual(await readExports(client, clock.nowMs), { count: 2, failed: 0, late: 0, worst: [] })
})

test('an export is late 15 minutes after its time or its request, unless it is paused', async (t) => {
  const { create, clock, client, admin } = await startExports(t)
  const daily = await create()
  const late = async (afterMs: number) => (await readExports(client, clock.nowMs + afterMs)).worst
  clock.nowMs = SIX
  assert.deepEqual(await late(900_000 - 1), [])
  const open_since = new Date(SIX).toISOString()
  const problem = { tenant_id: 'acme', name: 'Daily', open_since, failures: 0, error: null }
  assert.deepEqual(await late(900_000), [problem])
  await admin.pause(daily)
  assert.deepEqual(await late(900_000), [])
  await admin.run(daily)
  assert.deepEqual(await late(900_000), [problem])
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
