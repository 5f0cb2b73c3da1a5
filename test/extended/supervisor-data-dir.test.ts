import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { dataDirAt, makeDataDir, trustedDataDir } from '../../src/embedded/processes/data-dir.ts'
import { isHeld, takeLock, untilReleased } from '../../src/run/socket-lock.mjs'
import { until } from '../support/until.ts'

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'ipid-dir-'))
  t.after(() => rmSync(path, { recursive: true, force: true }))
  return path
}

const LOCKER = `
const { takeLock } = await import(${JSON.stringify(new URL('../../src/run/socket-lock.mjs', import.meta.url).href)})
process.on('message', async (path) => process.send((await takeLock(path)) === undefined ? 'held' : 'taken'))
process.send('here')`

/** A process that takes a lock on request. */
async function locker(t: TestContext) {
  const dir = folder(t)
  const script = join(dir, 'locker.mjs')
  writeFileSync(script, LOCKER)
  const child = fork(script)
  t.after(() => child.kill('SIGKILL'))
  await once(child, 'message')
  return {
    child,
    take: async (path: string) => {
      child.send(path)
      return ((await once(child, 'message')) as [string])[0]
    },
  }
}

test('one process holds the lock until it ends, by kill -9 too', async (t) => {
  const path = join(folder(t), 'lock.sock')
  const [first, second] = await Promise.all([locker(t), locker(t)])
  assert.equal(await isHeld(path), false)
  assert.equal(await first.take(path), 'taken')
  assert.equal(await second.take(path), 'held')
  const released = untilReleased(path)
  first.child.kill('SIGKILL')
  await released
  assert.ok(existsSync(path))
  // The end of a process may close a connection before the listener that accepted it.
  await until(async () => !(await isHeld(path)))
  assert.equal(await second.take(path), 'taken')
})

test('of several processes that find a lock free or stale, one gets it', async (t) => {
  const dir = folder(t)
  const rivals = await Promise.all([locker(t), locker(t), locker(t)])
  const stale = join(dir, 'stale.sock')
  const victim = await locker(t)
  await victim.take(stale)
  const gone = once(victim.child, 'exit')
  victim.child.kill('SIGKILL')
  await gone
  for (const path of [join(dir, 'free.sock'), stale]) {
    const answers = await Promise.all(rivals.map((rival) => rival.take(path)))
    assert.deepEqual(answers.sort(), ['held', 'held', 'taken'])
  }
})

test('a released lock can be taken at once, and leaves no file', async (t) => {
  const path = join(folder(t), 'lock.sock')
  const lock = await takeLock(path)
  assert.ok(await isHeld(path))
  await lock!.release()
  assert.ok(!existsSync(path))
  await (await takeLock(path))!.release()
})

test('folders are for this user only, and the same by every path', (t) => {
  const base = folder(t)
  const dir = makeDataDir(join(base, 'data'))
  for (const path of [dir.run, dir.redis, dir.clickhouse]) assert.equal(statSync(path).mode & 0o777, 0o700)
  symlinkSync(join(base, 'data'), join(base, 'link'))
  assert.deepEqual(dataDirAt(join(base, 'link')), dir)
})

test('sockets move to a short folder when the path of DATA_DIR is long', async (t) => {
  const base = folder(t)
  const dir = makeDataDir(join(base, 'long'.repeat(30)))
  t.after(() => rmSync(dirname(dir.lock), { recursive: true, force: true }))
  assert.ok(Buffer.byteLength(dir.redisSocket) < 100)
  assert.equal(statSync(dirname(dir.lock)).mode & 0o777, 0o700)
  assert.deepEqual(dataDirAt(dir.path), dir)
  const lock = await takeLock(dir.lock)
  await lock!.release()
})

test('an impossible DATA_DIR is refused with its path', (t) => {
  const base = folder(t)
  const file = join(base, 'file')
  writeFileSync(file, '')
  const message = `${file} is not a folder: set DATA_DIR to a folder`
  for (const use of [makeDataDir, trustedDataDir]) assert.throws(() => use(file), { name: 'StartupError', message })
  mkdirSync(join(base, 'elsewhere'))
  mkdirSync(join(base, 'data'))
  symlinkSync(join(base, 'elsewhere'), join(base, 'data/run'))
  assert.throws(() => makeDataDir(join(base, 'data')), { name: 'StartupError', message: /belongs to another user/ })
})

test('a DATA_DIR that others can write to is refused by each start and by trusting commands', (t) => {
  const base = folder(t)
  const path = join(base, 'data')
  makeDataDir(path)
  assert.deepEqual(trustedDataDir(path), dataDirAt(path))
  assert.deepEqual(trustedDataDir(join(base, 'none')), dataDirAt(join(base, 'none')))
  chmodSync(path, 0o777)
  const message = /every user can write to .*data: chmod 700 it, or choose another DATA_DIR/
  for (const use of [makeDataDir, trustedDataDir]) assert.throws(() => use(path), { name: 'StartupError', message })
  chmodSync(path, 0o700)
  assert.deepEqual(makeDataDir(path), trustedDataDir(path))
})

test('a DATA_DIR of another user in a shared place is refused', { skip: process.getuid?.() !== 0 }, (t) => {
  const base = folder(t)
  const path = join(base, 'data')
  const { run, redis, clickhouse } = makeDataDir(path)
  const refused = (of: string) => ({ name: 'StartupError', message: new RegExp(`${of} belongs to another user`) })
  chmodSync(base, 0o1777)
  chownSync(path, 12_345, 12_345)
  for (const use of [makeDataDir, trustedDataDir]) assert.throws(() => use(path), refused('data'))
  // Where only root creates folders, root has given it to that user: a volume of a container.
  chmodSync(base, 0o755)
  assert.equal(trustedDataDir(path).path, makeDataDir(path).path)
  chownSync(path, 0, 0)
  // A volume mounted by root, for a service that runs as another user.
  const user = t.mock.method(process as { getuid(): number }, 'getuid', () => 12_345)
  for (const made of [run, redis, clickhouse]) chownSync(made, 12_345, 12_345)
  assert.equal(trustedDataDir(path).path, makeDataDir(path).path)
  // Docker creates some volumes this way, and this user cannot change it.
  chmodSync(path, 0o777)
  const command = `chown 12345:\\d+ ${path} && chmod 700 ${path}`
  const message = new RegExp(
    `^every user can write to ${path}, which root owns: as root, run "${command}" \\(for a Docker volume: docker run .* -v VOLUME:${path} IMAGE -c '${command}'\\), or choose`,
  )
  for (const use of [makeDataDir, trustedDataDir]) assert.throws(() => use(path), { name: 'StartupError', message })
  chmodSync(path, 0o755)
  user.mock.restore()
  for (const use of [makeDataDir, trustedDataDir]) assert.throws(() => use(path), refused('run'))
})
