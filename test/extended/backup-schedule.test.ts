import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { watch } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { ingest } from '../../pipelines/ingest.ts'
import { BackupPlace } from '../../src/operations/backup/place.ts'
import { Progress } from '../../src/operations/backup/progress.ts'
import { backupInstance, readSchedule, type ScheduleState } from '../../src/operations/backup/redis/schedule-store.ts'
import { openBackup } from '../../src/operations/backup/restore.ts'
import { backupStatus } from '../../src/operations/backup/status.ts'
import { backupProblem } from '../../src/operations/status/words.ts'
import { UnavailableError } from '../../src/run/errors.ts'
import { FolderStore } from '../../src/stores/objects/folder-store.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { rewriteLease } from '../../src/stores/redis/rewrite-lease.ts'
import type { BackupProcess } from '../support/backup-process.ts'
import { runCommand } from '../support/command.ts'
import { quiet } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'
import { scheduledBackups } from '../support/scheduled-backups.ts'
import { handClock } from '../support/tenants.ts'
import { until } from '../support/until.ts'
import { withPuts } from '../support/with-puts.ts'

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
const THREE = Date.UTC(2026, 10, 25, 3)
const redis = await startTestRedis()

async function startBackups(t: TestContext) {
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop', timeoutMs: 5_000 }))
  const folder = await mkdtemp(join(tmpdir(), 'ipid-backups-'))
  t.after(async () => {
    client.disconnect()
    await rm(folder, { recursive: true, force: true })
  })
  await client.flushall()
  await mkdir(join(folder, 'backups'))
  const clock = handClock(THREE)
  const place = new BackupPlace({ folder: join(folder, 'backups') })
  return {
    ...{ client, clock, folder, place },
    async start(parts: Partial<Parameters<typeof scheduledBackups>[0]> = {}) {
      const backups = scheduledBackups({ client, folder, clock, ...parts })
      await backups.start()
      t.after(() => backups.stop())
      return backups
    },
    state: (accept: (state: ScheduleState) => boolean) =>
      until(async () => {
        const found = await readSchedule(client)
        return found !== undefined && accept(found) ? found : undefined
      }),
    /** The due times of the whole ones, as in their names. */
    whole: async () =>
      (await place.sets())
        .filter(({ isWhole }) => isWhole)
        .map(({ name }) => name.slice(0, '2026-11-25T03-00Z'.length)),
  }
}

const progress = new Progress(() => {})

test('the first backup is written at once, missed times once, and old ones go after a newer one', async (t) => {
  const { clock, start, state, whole, place, folder } = await startBackups(t)
  clock.nowMs = THREE + 5 * MINUTE_MS
  const backups = await start()
  const { last } = await state(({ dueMs }) => dueMs === THREE)
  assert.match(last!.name, /^2026-11-25T03-00Z-[0-9a-f]{8}$/)
  assert.equal(
    (await openBackup(join(folder, 'backups', last!.name), progress, ingest)).manifest.tables[0]!.file.lines,
    1,
  )
  const [set] = await place.sets()
  assert.equal(set!.bytes, last!.bytes)
  await backups.stop()
  // Five days without a process: one backup.
  clock.nowMs = THREE + 5 * DAY_MS + MINUTE_MS
  await start()
  await state(({ dueMs }) => dueMs === THREE + 5 * DAY_MS)
  assert.deepEqual(await whole(), ['2026-11-25T03-00Z', '2026-11-30T03-00Z'])
  clock.nowMs += DAY_MS
  await state(({ dueMs }) => dueMs === THREE + 6 * DAY_MS)
  await until(
    async () => (await readdir(join(folder, 'backups'))).filter((name) => name.startsWith('2026')).length === 2,
  )
  assert.deepEqual(await whole(), ['2026-11-30T03-00Z', '2026-12-01T03-00Z'])
  await until(async () => (await readdir(join(folder, 'spool'))).length === 0)
})

test('the first backup waits for the tables, which is no failure', async (t) => {
  const { clock, start, state, client } = await startBackups(t)
  let asked = 0
  await start({ areMigrated: async () => ++asked > 2 })
  await until(() => asked >= 2)
  const waiting = (await readSchedule(client))!
  assert.deepEqual([waiting.failures, waiting.attempt, waiting.error], [0, undefined, undefined])
  // A backup that never comes is still missed.
  assert.equal(backupStatus(waiting, clock.nowMs + MINUTE_MS)!.late_ms, MINUTE_MS)
  const { failures, last } = await state(({ dueMs }) => dueMs === THREE)
  assert.deepEqual([failures, last !== undefined], [0, true])
})

test('two processes write one backup', async (t) => {
  const { clock, start, state, whole } = await startBackups(t)
  await Promise.all([start(), start()])
  await state(({ dueMs }) => dueMs === THREE)
  clock.nowMs += DAY_MS
  await state(({ dueMs }) => dueMs === THREE + DAY_MS)
  assert.deepEqual(await whole(), ['2026-11-25T03-00Z', '2026-11-26T03-00Z'])
})

test('a backup that fails removes no old one, leaves nothing, and is tried again', async (t) => {
  const { clock, start, state, whole, place, folder } = await startBackups(t)
  let fails = false
  const folderStore = new FolderStore(join(folder, 'backups'))
  const store = withPuts(folderStore, async (key, ...rest) => {
    if (fails && key.endsWith('manifest.json')) throw new Error('no space left')
    await folderStore.putFile(key, rest[0])
  })
  await start({ store, schedule: { keep: 1 } })
  await state(({ dueMs }) => dueMs === THREE)
  fails = true
  clock.nowMs = THREE + DAY_MS
  const failed = await state(({ failures }) => failures === 1)
  assert.deepEqual([failed.error?.message, failed.retryAtMs], ['no space left', clock.nowMs + MINUTE_MS])
  assert.deepEqual(await whole(), ['2026-11-25T03-00Z'])
  assert.equal((await place.sets()).length, 1)
  const status = backupStatus(failed, clock.nowMs + 2 * MINUTE_MS)!
  assert.deepEqual([status.missing_since, status.late_ms], ['2026-11-26T03:00:00.000Z', 2 * MINUTE_MS])
  clock.nowMs += MINUTE_MS
  const again = await state(({ failures }) => failures === 2)
  assert.equal(again.retryAtMs, clock.nowMs + 2 * MINUTE_MS)
  fails = false
  clock.nowMs += 2 * MINUTE_MS
  const done = await state(({ dueMs }) => dueMs === THREE + DAY_MS)
  assert.deepEqual([done.failures, done.error], [0, undefined])
  await until(async () => (await place.sets()).length === 1)
  assert.deepEqual(await whole(), ['2026-11-26T03-00Z'])
})

test('foreign files in the place neither disturb nor are removed', async (t) => {
  const { client, clock, start, state, whole, folder } = await startBackups(t)
  const backups = join(folder, 'backups')
  // Like `lost+found` of a disk, which only root may read.
  for (const name of ['lost+found', 'photos']) {
    await mkdir(join(backups, name), { recursive: true })
    await writeFile(join(backups, name, 'x'), '')
  }
  await writeFile(join(backups, '.DS_Store'), '')
  const first = await start({ schedule: { keep: 1 } })
  const { last } = await state(({ dueMs }) => dueMs === THREE)
  for (const name of ['READ ME.txt', 'notes.txt']) await writeFile(join(backups, last!.name, name), '')
  clock.nowMs += DAY_MS
  const { attempt: _, ...before } = await state(({ dueMs }) => dueMs === THREE + DAY_MS)
  await until(async () => (await readdir(join(backups, last!.name))).sort().join() === 'READ ME.txt,notes.txt')
  assert.equal((await whole()).length, 1)
  assert.deepEqual((await readdir(backups)).filter((name) => !name.startsWith('2026')).sort(), [
    '.DS_Store',
    '.partial',
    'lost+found',
    'owner.json',
    'photos',
  ])
  await first.stop()
  // A process was killed amid a backup: the next one looks at the place first.
  const attempt = { name: '2026-11-27T03-00Z-00000000', dueMs: THREE + 2 * DAY_MS, beganMs: clock.nowMs }
  await client.set('{lease:backups}:schedule', JSON.stringify({ ...before, attempt }))
  clock.nowMs += DAY_MS
  await start({ schedule: { keep: 1 } })
  await state(({ failures }) => failures === 1)
  clock.nowMs += MINUTE_MS
  await state(({ dueMs }) => dueMs === THREE + 2 * DAY_MS)
})

test('a clock that was ahead delays no backup, and none of that time takes the place of a later one', async (t) => {
  const { clock, start, state, whole, folder, place } = await startBackups(t)
  const ahead = THREE + 365 * DAY_MS
  clock.nowMs = ahead
  let isFull = false
  const folderStore = new FolderStore(join(folder, 'backups'))
  const store = withPuts(folderStore, async (key, ...rest) => {
    if (isFull) throw new Error('no space left')
    await folderStore.putFile(key, rest[0])
  })
  await start({ store, schedule: { keep: 1 } })
  await state(({ dueMs }) => dueMs === ahead)
  isFull = true
  clock.nowMs = ahead + DAY_MS
  await state(({ failures }) => failures === 1)
  isFull = false
  for (const day of [0, 1]) {
    clock.nowMs = THREE + day * DAY_MS
    const { last, sinceMs } = await state(({ dueMs }) => dueMs === clock.nowMs)
    assert.ok(sinceMs <= clock.nowMs)
    await until(async () => (await whole()).length === 2)
    assert.deepEqual(await whole(), [`2026-11-${25 + day}T03-00Z`, '2027-11-25T03-00Z'])
    assert.equal(await place.newest(clock.nowMs), last!.name)
  }
})

test('an old backup that cannot be removed keeps no other one', async (t) => {
  const { clock, start, state, whole, folder } = await startBackups(t)
  const folderStore = new FolderStore(join(folder, 'backups'))
  let stuck = ''
  const store = new Proxy(folderStore, {
    get: (target, name) => {
      if (name === 'delete') {
        return (key: string) => {
          if (stuck !== '' && key.startsWith(stuck)) throw new Error('no rights')
          return target.delete(key)
        }
      }
      const value = Reflect.get(target, name) as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  await start({ store, schedule: { keep: 1 } })
  stuck = (await state(({ dueMs }) => dueMs === THREE)).last!.name
  for (const day of [1, 2]) {
    clock.nowMs = THREE + day * DAY_MS
    await state(({ dueMs }) => dueMs === clock.nowMs)
  }
  await until(async () => (await whole()).join() === '2026-11-25T03-00Z,2026-11-27T03-00Z')
})

test('a backup that would fill the disk ends, and leaves nothing', async (t) => {
  const { clock, start, state, folder, place } = await startBackups(t)
  let isFull = true
  const refused = () => {
    if (isFull) throw new UnavailableError('the disk is nearly full')
  }
  await start({
    assertRoom: refused,
    onRow: async () => assert.equal((await readdir(join(folder, 'spool'))).length, 1),
  })
  assert.equal((await state(({ failures }) => failures === 1)).error?.message, 'the disk is nearly full')
  assert.deepEqual([await readdir(join(folder, 'spool')), await place.sets()], [[], []])
  isFull = false
  clock.nowMs += MINUTE_MS
  await state(({ dueMs }) => dueMs === THREE)
})

test('an attempt that cannot write its first object leaves no folder', async (t) => {
  const { start, state, folder } = await startBackups(t)
  const full = Object.assign(new Error('ENOSPC: no space left on device, copyfile'), { code: 'ENOSPC' })
  const store = withPuts(new FolderStore(join(folder, 'backups')), async (key) => {
    await mkdir(join(folder, 'backups', dirname(key)), { recursive: true })
    throw full
  })
  await start({ store })
  await state(({ failures }) => failures === 1)
  assert.deepEqual((await readdir(join(folder, 'backups'))).sort(), ['.partial', 'owner.json'])
})

test('a start removes the leftovers of a killed process in the spool, and nothing else', async (t) => {
  const { start, state, folder } = await startBackups(t)
  const spool = join(folder, 'spool')
  for (const name of ['2026-11-24T03-00Z-0123abcd', '2026-11-24T03-00Z-0123abcd.17.part', 'lost+found']) {
    await mkdir(join(spool, name), { recursive: true })
  }
  await start()
  await state(({ dueMs }) => dueMs === THREE)
  await until(async () => (await readdir(spool)).join() === 'lost+found')
})

test('a backup waits while another command changes stored events', async (t) => {
  const { client, start, state, whole, clock } = await startBackups(t)
  const lease = rewriteLease({ client })
  assert.ok(await lease.acquire(AbortSignal.timeout(5_000)))
  await start()
  const { error } = await state(({ failures }) => failures === 1)
  assert.match(error!.message, /^another command or job changes stored events$/)
  await lease.release()
  clock.nowMs += MINUTE_MS
  await state(({ dueMs }) => dueMs === THREE)
  assert.deepEqual(await whole(), ['2026-11-25T03-00Z'])
})

test('another place begins anew, and without a place the schedule is forgotten', async (t) => {
  const { client, clock, start, state, folder } = await startBackups(t)
  const first = await start()
  await state(({ dueMs }) => dueMs === THREE)
  await first.stop()
  const other = new FolderStore(join(folder, 'other'))
  clock.nowMs += MINUTE_MS
  const second = await start({ store: other })
  const { last, sinceMs } = await state(({ place, dueMs }) => place === other.location && dueMs === THREE)
  assert.deepEqual([sinceMs, last?.atMs], [clock.nowMs, clock.nowMs])
  // It waits for the process that has a place.
  const off = await start({ on: false })
  assert.ok(await readSchedule(client))
  await second.stop()
  await until(async () => (await readSchedule(client)) === undefined)
  await off.stop()
})

test('a second ipid writes and removes nothing in the place of another one, until it takes over', async (t) => {
  const { client, clock, start, state, whole, place } = await startBackups(t)
  const first = await start()
  await state(({ dueMs }) => dueMs === THREE)
  await first.stop()
  const owner = (await place.owner())!
  // Another Redis, so another instance.
  await client.flushall()
  clock.nowMs += DAY_MS
  const second = await start({ schedule: { keep: 1 } })
  const { error } = await state(({ failures }) => failures === 1)
  assert.match(
    error!.message,
    new RegExp(`/backups has the backups of another ipid: ${owner.instance} on .*--take-over"$`),
  )
  assert.deepEqual(await whole(), ['2026-11-25T03-00Z'])
  await place.take(await backupInstance(client), clock.nowMs)
  clock.nowMs += MINUTE_MS
  await state(({ dueMs }) => dueMs === THREE + DAY_MS)
  await until(async () => (await whole()).join() === '2026-11-26T03-00Z')
  await second.stop()
})

test('an ipid whose place is taken over while it copies a backup leaves no complete one', async (t) => {
  const { clock, start, state, whole, place, folder } = await startBackups(t)
  const folderStore = new FolderStore(join(folder, 'backups'))
  let isTaken = false
  const store = withPuts(folderStore, async (key, ...rest) => {
    await folderStore.putFile(key, rest[0])
    if (isTaken) await place.take('another', clock.nowMs)
  })
  await start({ store, schedule: { keep: 1 } })
  await state(({ dueMs }) => dueMs === THREE)
  isTaken = true
  clock.nowMs += DAY_MS
  assert.match((await state(({ failures }) => failures === 1)).error!.message, /has the backups of another ipid/)
  assert.deepEqual(await whole(), ['2026-11-25T03-00Z'])
})

test('where the disk of backups is not mounted, none is written, and the status says so', async (t) => {
  const { clock, start, state, whole, folder } = await startBackups(t)
  const [backups, away] = [join(folder, 'backups'), join(folder, 'away')]
  await rename(backups, away)
  await start()
  const missing = await state(({ failures }) => failures === 1)
  assert.match(missing.error!.message, /\/backups is no folder: mount the disk of backups, or make the folder/)
  await rename(away, backups)
  clock.nowMs += MINUTE_MS
  await state(({ dueMs }) => dueMs === THREE)
  // A mount point without its disk is an empty folder.
  await rename(backups, away)
  await mkdir(backups)
  clock.nowMs = THREE + DAY_MS
  const unmounted = await state(({ failures }) => failures === 1)
  assert.match(
    unmounted.error!.message,
    /has neither owner\.json nor the last backup, 2026-11-25.*is its disk mounted\?/,
  )
  assert.match(backupProblem(backupStatus(unmounted, clock.nowMs)!)!, /is its disk mounted/)
  assert.deepEqual(await readdir(backups), [])
  await rm(backups, { recursive: true })
  await rename(away, backups)
  clock.nowMs += MINUTE_MS
  await state(({ dueMs }) => dueMs === THREE + DAY_MS)
  assert.deepEqual(await whole(), ['2026-11-25T03-00Z', '2026-11-26T03-00Z'])
})

test('a place with backups of version 0.2.0, which knew no owners, stays in use', async (t) => {
  const { clock, start, state, whole, place, folder } = await startBackups(t)
  const first = await start()
  await state(({ dueMs }) => dueMs === THREE)
  await first.stop()
  await rm(join(folder, 'backups', 'owner.json'))
  clock.nowMs += DAY_MS
  await start()
  await state(({ dueMs }) => dueMs === THREE + DAY_MS)
  assert.ok(await place.owner())
  assert.deepEqual(await whole(), ['2026-11-25T03-00Z', '2026-11-26T03-00Z'])
})

test('"backup --take-over" makes the instance the owner of BACKUP_URL', async (t) => {
  const { client, place, folder } = await startBackups(t)
  await place.take('another', THREE)
  const env = { REDIS_URL: redis.url, DATA_DIR: folder, BACKUP_URL: `file://${join(folder, 'backups')}` }
  const { code, stdout, stderr } = await runCommand(['backup', '--take-over', '--json'], { env })
  assert.equal(code, 0, stderr)
  const { instance, before } = JSON.parse(stdout)
  assert.deepEqual([before.instance, instance], ['another', await backupInstance(client)])
  assert.equal((await place.owner())!.instance, instance)
  for (const args of [['backup'], ['backup', 'x', '--take-over']]) {
    const { code, stderr } = await runCommand(args, { env })
    assert.deepEqual([code, stderr], [2, 'ipid: give either a new folder or --take-over\n'])
  }
})

/** A process that writes backups until it is killed. */
function backingUp(t: TestContext, options: Omit<BackupProcess, 'redisUrl'>) {
  const script = fileURLToPath(new URL('../support/backup-process.ts', import.meta.url))
  const given = JSON.stringify({ redisUrl: redis.url, ...options } satisfies BackupProcess)
  const child = spawn(process.execPath, ['--import', 'tsx', script, given], { stdio: ['pipe', 'pipe', 'inherit'] })
  const gone = once(child, 'exit')
  const kill = async () => {
    child.kill('SIGKILL')
    await gone
  }
  t.after(kill)
  return { child, kill }
}

test('a URL is no folder: "backup" writes into none of that name', async () => {
  for (const url of ['s3://bucket/ipid', 'file:///mnt/backups']) {
    const { code, stderr } = await runCommand(['backup', url], { env: { REDIS_URL: redis.url } })
    const remedy = 'give a folder, and copy it; BACKUP_URL names the place of scheduled backups'
    assert.deepEqual([code, stderr], [2, `ipid: "${url}" is a URL: ${remedy}\n`])
  }
})

test('a process that is killed amid a backup leaves none that could be taken for a whole one', async (t) => {
  const { client, clock, start, state, whole, folder, place } = await startBackups(t)
  const nowMs = THREE
  const reading = backingUp(t, { folder, nowMs, hangsWhileReading: true })
  await once(reading.child.stdout, 'data')
  await reading.kill()
  assert.deepEqual(await place.sets(), [])
  assert.ok((await readSchedule(client))?.attempt)
  await client.del(keys.backupSchedule())

  // Large, so that it is killed amid the copy into the place.
  const partial = join(folder, 'backups', '.partial')
  await mkdir(partial, { recursive: true })
  const watcher = watch(partial)
  t.after(() => watcher.close())
  const copying = once(watcher, 'change')
  const writing = backingUp(t, { folder, nowMs, rowBytes: 20_000_000 })
  await copying
  await writing.kill()
  for (const { isWhole, name } of await place.sets()) {
    if (isWhole) await openBackup(join(folder, 'backups', name), progress, ingest)
  }
  const killed = (await place.sets()).filter(({ isWhole }) => !isWhole)

  await start()
  const { error } = await state(({ failures }) => failures === 1)
  assert.match(error!.message, /^the process ended while it wrote a backup$/)
  clock.nowMs += MINUTE_MS
  const { last } = await state(({ dueMs }) => dueMs === THREE)
  assert.deepEqual(await whole(), ['2026-11-25T03-00Z'])
  await openBackup(join(folder, 'backups', last!.name), progress, ingest)
  // Its files go with the backup of the next day: the process might have been only paused.
  clock.nowMs += DAY_MS
  await state(({ dueMs }) => dueMs === THREE + DAY_MS)
  await until(async () => (await place.sets()).every(({ name }) => killed.every((left) => left.name !== name)))
  assert.deepEqual(await whole(), ['2026-11-25T03-00Z', '2026-11-26T03-00Z'])
})

test('a process that is killed after the last object, and before it notes that, has written the backup', async (t) => {
  const { client, clock, start, state, whole } = await startBackups(t)
  const first = await start()
  const { last, ...before } = await state(({ dueMs }) => dueMs === THREE)
  await first.stop()
  const attempt = { name: last!.name, dueMs: THREE, beganMs: THREE }
  const killed = { ...before, dueMs: 0, attempt } satisfies ScheduleState
  await client.set('{lease:backups}:schedule', JSON.stringify(killed))
  clock.nowMs += MINUTE_MS
  await start()
  const found = await state(({ dueMs }) => dueMs === THREE)
  assert.deepEqual([found.last?.name, found.attempt], [last!.name, undefined])
  assert.deepEqual(await whole(), ['2026-11-25T03-00Z'])
})
