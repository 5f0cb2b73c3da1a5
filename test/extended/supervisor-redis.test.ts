import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { getPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import { type DataDir, makeDataDir } from '../../src/embedded/processes/data-dir.ts'
import type { RunningProcess } from '../../src/embedded/processes/running-process.ts'
import { findRedisServer } from '../../src/embedded/redis/binary.ts'
import { probeRedis, startEmbeddedRedis } from '../../src/embedded/redis/server.ts'
import { holdLeash } from '../../src/run/leash.mjs'
import { appendOnlyLink } from '../../src/stores/redis/durability/append-only-file.ts'
import { atEnd } from '../support/at-end.ts'
import { isAlive } from '../support/processes.ts'
import { onPath } from '../support/programs.ts'
import { until } from '../support/until.ts'

const log = pino({ level: 'silent' })
const onLinux = process.platform === 'linux' ? {} : { skip: 'no other system tells the children of a process' }

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'ipid-redis-'))
  atEnd(t, () => rmSync(path, { recursive: true, force: true }))
  return path
}

async function start(t: TestContext, dir: DataDir, binary = 'redis-server'): Promise<RunningProcess> {
  const redis = await startEmbeddedRedis({
    binary,
    dir: dir.redis,
    socket: dir.redisSocket,
    fsync: 'always',
    maxMemoryBytes: 64 * 2 ** 20,
    env: { ...process.env, REDIS_SECRET: 'secret' },
    log,
    signal: new AbortController().signal,
  })
  atEnd(t, () => {
    redis.kill()
    return redis.exited
  })
  return redis
}

async function withClient<T>(dir: DataDir, use: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis({ path: dir.redisSocket })
  try {
    return await use(client)
  } finally {
    client.disconnect()
  }
}

test('the private server is bounded, listens on no port, and makes clients wait for its disk', async (t) => {
  const dir = makeDataDir(folder(t))
  await start(t, dir)
  const settings = await withClient(dir, async (client) =>
    Object.fromEntries(
      await Promise.all(
        ['port', 'appendonly', 'appendfsync', 'maxmemory-policy', 'maxmemory', 'save', 'hz'].map(async (name) => [
          name,
          ((await client.config('GET', name)) as string[])[1],
        ]),
      ),
    ),
  )
  assert.deepEqual(settings, {
    port: '0',
    appendonly: 'yes',
    appendfsync: 'no',
    'maxmemory-policy': 'noeviction',
    maxmemory: '67108864',
    save: '',
    hz: '4',
  })
  assert.deepEqual(readdirSync(appendOnlyLink(dir.redisSocket)).sort(), [
    'appendonly.aof.1.base.rdb',
    'appendonly.aof.1.incr.aof',
    'appendonly.aof.manifest',
  ])
})

test('the private server has no secrets of ours in its environment', async (t) => {
  const path = folder(t)
  const [binary, variables] = [join(path, 'server'), join(path, 'variables')]
  // The server overwrites its environment in /proc.
  writeFileSync(binary, `#!/bin/sh\nenv > '${variables}'\nexec redis-server "$@"\n`, { mode: 0o700 })
  await start(t, makeDataDir(join(path, 'data')), binary)
  const names = Array.from(readFileSync(variables, 'utf8').matchAll(/^(\w+)=/gm), (found) => found[1]!)
  const ofShell = ['PWD', 'OLDPWD', 'SHLVL', '_']
  assert.ok(names.includes('PATH'))
  assert.deepEqual(
    names.filter((name) => !['PATH', 'LANG', 'LC_ALL', 'TZ', ...ofShell].includes(name)),
    [],
  )
})

test('an answered write survives kill -9 of the server', async (t) => {
  const dir = makeDataDir(folder(t))
  const first = await start(t, dir)
  await withClient(dir, (client) => client.set('written', 'yes'))
  first.kill()
  assert.equal(await first.exited, 'signal SIGKILL')
  await start(t, dir)
  assert.equal(await withClient(dir, (client) => client.get('written')), 'yes')
})

test('the rewrite of the append-only file has a lower priority than the server', onLinux, async (t) => {
  const dir = makeDataDir(folder(t))
  const { pid } = await start(t, dir)
  const children = () =>
    readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
  await withClient(dir, async (client) => {
    for (let i = 0; i < 100; i++) await client.set(`key:${i}`, i)
    // Long enough to be inspected.
    await client.config('SET', 'rdb-key-save-delay', 20_000)
    for (const rewrite of ['first', 'second']) {
      await client.bgrewriteaof()
      const child = await until(async () => children()[0])
      await until(async () => getPriority(child) === 15)
      assert.equal(getPriority(pid), 0, rewrite)
      await until(async () => children().length === 0)
    }
  })
})

test('a server left by a killed instance is shut down, and its data taken over', async (t) => {
  const dir = makeDataDir(folder(t))
  const leftover = await start(t, dir)
  await withClient(dir, (client) => client.set('written', 'yes'))
  const next = await start(t, dir)
  await leftover.exited
  assert.notEqual(next.pid, leftover.pid)
  assert.equal(await withClient(dir, (client) => client.get('written')), 'yes')
})

test('a server that cannot start says why, and leaves nothing', async (t) => {
  const dir = makeDataDir(folder(t))
  mkdirSync(join(dir.redis, 'appendonlydir'))
  writeFileSync(join(dir.redis, 'appendonlydir/appendonly.aof.manifest'), 'nonsense\n')
  await assert.rejects(start(t, dir), { name: 'StartupError', message: /^the Redis server ended \(exit code 1\): \S/ })
  assert.equal(await probeRedis(dir.redisSocket), 'absent')
})

test('the leash ends a child only when its parent was killed', async (t) => {
  const dir = folder(t)
  const script = `import { spawn } from 'node:child_process'
    const { holdLeash } = await import(${JSON.stringify(new URL('../../src/run/leash.mjs', import.meta.url).href)})
    const child = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' })
    holdLeash(child.pid)
    process.stdout.write(child.pid + '\\n')
    setInterval(() => {}, 1000)`
  const parent = spawn(process.execPath, ['--input-type=module', '-e', script], { cwd: dir })
  const [line] = (await once(parent.stdout, 'data')) as [Buffer]
  const child = Number(line.toString())
  assert.ok(isAlive(child))
  parent.kill('SIGKILL')
  await until(() => !isAlive(child))

  const free = spawn('sleep', ['600'], { stdio: 'ignore' })
  holdLeash(free.pid!).release()
  // The watcher of another child comes and goes meanwhile.
  const other = spawn('sleep', ['0'], { stdio: 'ignore' })
  await once(other, 'exit')
  assert.ok(isAlive(free.pid!))
  free.kill('SIGKILL')
})

/** A folder whose programs are these shell scripts. */
function programs(t: TestContext, scripts: Record<string, string>): string {
  const dir = folder(t)
  for (const [name, script] of Object.entries(scripts)) {
    writeFileSync(join(dir, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  }
  return dir
}

const version = (text: string) => `echo "Redis server v=${text} sha=0"`
const quiet = { info: () => {}, warn: () => {} }

function find(path: string, linkDir: string, moreFolders: readonly string[] = []) {
  return findRedisServer({ path, linkDir, moreFolders, log: quiet })
}

test('redis-server, valkey-server, and the binary of redis-tools are found', async (t) => {
  const redis = programs(t, { 'redis-server': version('7.2.4'), 'valkey-server': version('8.0.1') })
  assert.deepEqual(await find(redis, redis), { path: join(redis, 'redis-server'), version: '7.2.4' })
  const valkey = programs(t, { 'valkey-server': version('8.0.1') })
  assert.equal((await find(valkey, valkey)).version, '8.0.1')
  // The server acts as the program of its name.
  const tools = folder(t)
  copyFileSync(onPath(['redis-server'])!, join(tools, 'redis-check-rdb'))
  const linkDir = join(tools, 'bin')
  const found = await find(tools, linkDir)
  assert.equal(found.path, join(linkDir, 'redis-server'))
  assert.match(execFileSync(found.path, ['--version'], { encoding: 'utf8' }), new RegExp(` v=${found.version} `))
})

test('a server that is new enough is preferred, wherever it is', async (t) => {
  const old = programs(t, { 'redis-server': version('6.0.16') })
  const fresh = programs(t, { 'redis-server': version('7.0.0') })
  assert.equal((await find(`${old}:${fresh}`, old)).path, join(fresh, 'redis-server'))
})

test('a server is installed when a package manager can do that without a question', async (t) => {
  const bin = programs(t, {})
  const install = `[ "$1" = --version ] && exit 0
case "$*" in *redis-tools*) [ -e ${bin}/updated ] || exit 100
printf '#!/bin/sh\\n%s\\n' '${version('7.0.15')}' > ${bin}/redis-server; chmod 755 ${bin}/redis-server;;
update*) : > ${bin}/updated;; esac`
  writeFileSync(join(bin, 'apt-get'), `#!/bin/sh\n${install}\n`, { mode: 0o755 })
  writeFileSync(join(bin, 'sudo'), '#!/bin/sh\nshift\nexec "$@"\n', { mode: 0o755 })
  writeFileSync(join(bin, 'env'), '#!/bin/sh\nexec /usr/bin/env "$@"\n', { mode: 0o755 })
  writeFileSync(join(bin, 'chmod'), '#!/bin/sh\nexec /bin/chmod "$@"\n', { mode: 0o755 })
  assert.equal((await find(bin, bin)).version, '7.0.15')
})

test('with no server, or only an old one, the error names the package to install', async (t) => {
  const none = programs(t, {})
  await assert.rejects(find(none, none), {
    name: 'StartupError',
    message: /^No redis-server or valkey-server.*apt-get install redis-tools/,
  })
  const old = programs(t, { 'redis-server': version('6.0.16') })
  await assert.rejects(find(old, old), { message: /redis-server \(version 6\.0\.16\) is too old: install Redis 7\.0/ })
})
