import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { getPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { type EmbeddedClickHouseOptions, startEmbeddedClickHouse } from '../../src/embedded/clickhouse/start.ts'
import { migrate } from '../../src/stores/clickhouse/migrate.ts'
import { atEnd } from '../support/at-end.ts'
import { processesNaming } from '../support/processes.ts'
import { copySchema } from '../support/schema-copy.ts'
import { until } from '../support/until.ts'

const log = pino({ level: 'silent' })

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'ipid-embedded-'))
  atEnd(t, () => rm(path, { recursive: true, force: true }))
  return path
}

async function start(t: TestContext, path: string, options: Partial<EmbeddedClickHouseOptions> = {}) {
  const server = await startEmbeddedClickHouse({ path, port: 0, log, ...options })
  atEnd(t, () => {
    server.kill()
    return server.exited
  })
  return server
}

async function sql(url: string, query: string): Promise<string> {
  const response = await fetch(url, { method: 'POST', body: query })
  const text = await response.text()
  assert.equal(response.status, 200, text)
  return text
}

/** Resolves when the port is closed. */
async function gone(url: string): Promise<void> {
  await until(() =>
    fetch(`${url}/ping`).then(
      () => false,
      () => true,
    ),
  )
}

const TABLE = 'CREATE TABLE IF NOT EXISTS t (a UInt32) ENGINE = MergeTree ORDER BY a'

test('it stops when asked, and the next one finds the stored rows', async (t) => {
  // The engine must not read the name of the folder as a pattern.
  const path = join(await folder(t), '{a,b}*?')
  const first = await start(t, path, { onExit: () => assert.fail('it was asked to end') })
  await sql(first.url, 'CREATE DATABASE d')
  await sql(`${first.url}/?database=d`, TABLE)
  await sql(`${first.url}/?database=d`, 'INSERT INTO t VALUES (1)')
  await sql(`${first.url}/?database=d`, `INSERT INTO t FORMAT TSV\n${'1\n'.repeat(200_000)}`)
  assert.equal(
    await sql(first.url, "SELECT getMergeTreeSetting('old_parts_lifetime')"),
    '480\n',
    'merged parts stay until the result is on disk',
  )
  await first.stop()
  await first.stop()
  assert.equal(await first.exited, 'exit code 0')
  const second = await start(t, path)
  assert.equal(await sql(`${second.url}/?database=d`, 'SELECT sum(a) FROM t'), '200001\n')
})

test('after kill -9 the folder opens again, and onExit has been called', async (t) => {
  const path = await folder(t)
  let tell: (reason: string) => void = () => {}
  const told = new Promise<string>((resolve) => {
    tell = resolve
  })
  const first = await start(t, path, { onExit: tell })
  await sql(first.url, 'CREATE DATABASE d')
  await sql(`${first.url}/?database=d`, TABLE)
  await sql(`${first.url}/?database=d`, 'INSERT INTO t VALUES (1)')
  process.kill(first.pid, 'SIGKILL')
  assert.equal(await told, 'signal SIGKILL')
  const second = await start(t, path)
  assert.equal(await sql(`${second.url}/?database=d`, 'SELECT a FROM t'), '1\n')
})

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`${signal} lets statements finish and ends it with code 0`, async (t) => {
    const server = await start(t, await folder(t))
    const slow = sql(server.url, 'SELECT sleep(2.5)')
    const running = "SELECT count() FROM system.processes WHERE query LIKE 'SELECT sleep(2.5)%'"
    await until(async () => (await sql(server.url, running)) !== '0\n')
    process.kill(server.pid, signal)
    assert.equal(await slow, '0\n')
    assert.equal(await server.exited, 'exit code 0')
  })
}

test('a slow statement does not delay a stop', async (t) => {
  const server = await start(t, await folder(t))
  const slow = sql(server.url, 'SELECT max(sipHash64(number)) FROM numbers(100000000000)').catch(() => 'ended')
  const running = "SELECT count() FROM system.processes WHERE query LIKE '%sipHash%'"
  await until(async () => (await sql(server.url, running)) === '2\n')
  await server.stop()
  assert.equal(await server.exited, 'exit code 0')
  assert.equal(await slow, 'ended')
})

test('it ends when its parent is killed', async (t) => {
  const path = await folder(t)
  const module = new URL('../../src/embedded/clickhouse/start.ts', import.meta.url)
  const code = `
    import { startEmbeddedClickHouse } from ${JSON.stringify(module.href)}
    import { pino } from 'pino'
    const { url } = await startEmbeddedClickHouse({ path: ${JSON.stringify(path)}, port: 0, log: pino(pino.destination(2)) })
    console.log(url)
    setInterval(() => {}, 1e6)`
  const args = ['--import', import.meta.resolve('tsx'), '--input-type=module', '--eval', code]
  const parent = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] })
  t.after(() => parent.kill('SIGKILL'))
  const [url] = (await once(createInterface(parent.stdout), 'line')) as [string]
  assert.equal(await sql(url, 'SELECT 1'), '1\n')
  parent.kill('SIGKILL')
  await gone(url)
  const next = await start(t, path)
  assert.equal(await sql(next.url, 'SELECT 1'), '1\n')
})

test('it ends when its parent is killed while it starts', async (t) => {
  const path = await folder(t)
  const module = new URL('../../src/embedded/clickhouse/start.ts', import.meta.url)
  const code = `
    import { startEmbeddedClickHouse } from ${JSON.stringify(module.href)}
    import { pino } from 'pino'
    startEmbeddedClickHouse({ path: ${JSON.stringify(path)}, port: 0, log: pino({ level: 'silent' }) })
    console.log('launched')
    setInterval(() => {}, 1e6)`
  const args = ['--import', import.meta.resolve('tsx'), '--input-type=module', '--eval', code]
  const parent = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] })
  t.after(() => parent.kill('SIGKILL'))
  await once(createInterface(parent.stdout), 'line')
  parent.kill('SIGKILL')
  await once(parent, 'exit')
  t.after(() => {
    for (const pid of processesNaming(path)) process.kill(pid, 'SIGKILL')
  })
  await until(() => processesNaming(path).length === 0)
})

test('it has a lower priority than the processes that answer requests', {
  skip: process.platform !== 'linux' && 'no /proc',
}, async (t) => {
  const server = await start(t, await folder(t))
  assert.equal(getPriority(server.pid) - getPriority(), 5)
  const session = await readFile(`/proc/${server.pid}/autogroup`, 'utf8').catch(() => undefined)
  if (session !== undefined) assert.match(session, / nice 5$/m)
})

test('a second one in the same folder says why it cannot start', async (t) => {
  const path = await folder(t)
  const first = await start(t, path)
  await assert.rejects(start(t, path), { name: 'StartupError', message: /another process has it open/ })
  assert.equal(await sql(first.url, 'SELECT 1'), '1\n')
})

test('a port in use and a folder that cannot be made are reported', async (t) => {
  const path = await folder(t)
  const server = createServer()
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.after(() => server.close())
  const { port } = server.address() as { port: number }
  await assert.rejects(start(t, path, { port }), {
    name: 'StartupError',
    message: new RegExp(`port ${port}.*EADDRINUSE`),
  })
  await mkdir(join(path, 'sub'))
  await assert.rejects(start(t, '/dev/null/data'), { name: 'StartupError', message: /dev\/null\/data/ })
})

test('a start that is given up leaves nothing', async (t) => {
  const path = await folder(t)
  await assert.rejects(startEmbeddedClickHouse({ path, port: 0, log, signal: AbortSignal.abort() }))
  const giveUp = new AbortController()
  const starting = startEmbeddedClickHouse({ path, port: 0, log, signal: giveUp.signal })
  giveUp.abort()
  await assert.rejects(starting)
  await start(t, path)
})

test('statements beyond the limit wait for their turn', async (t) => {
  const server = await start(t, await folder(t))
  const answers = await Promise.all(Array.from({ length: 100 }, (_, i) => sql(server.url, `SELECT ${i}, sleep(0.02)`)))
  assert.deepEqual(
    answers,
    Array.from({ length: 100 }, (_, i) => `${i}\t0\n`),
  )
})

test('the start names stored definitions that are refused today, each with its DROP statement', async (t) => {
  const path = await folder(t)
  const isReady = await copySchema(path)
  const open = await start(t, path, { external: true })
  if (!isReady) await migrate(open.url, log)
  for (const statement of [
    'CREATE DATABASE `odd ``name`',
    "CREATE FUNCTION leak AS x -> file('/etc/hostname')",
    'CREATE FUNCTION harmless AS x -> x + 1',
    'CREATE TABLE t (a String) ENGINE = MergeTree ORDER BY a',
    "CREATE VIEW `odd ``name`.v AS SELECT * FROM file('/etc/hostname', 'LineAsString')",
    'CREATE VIEW harmless_view AS SELECT a FROM t',
    "CREATE MATERIALIZED VIEW m TO t AS SELECT file('/etc/hostname') AS a FROM t",
    "CREATE TABLE f (a String) ENGINE = File(TSV, '/etc/hostname')",
    "CREATE DICTIONARY d (a String) PRIMARY KEY a SOURCE(FILE(PATH '/etc/hostname' FORMAT TSV)) LAYOUT(COMPLEX_KEY_DIRECT())",
  ]) {
    await sql(open.url, statement)
  }
  await open.stop()

  const said: { msg: string; drop: string }[] = []
  const noting = pino({ level: 'warn' }, { write: (line) => void said.push(JSON.parse(line)) })
  const closed = await start(t, path, { log: noting })
  const drops = [
    ...['DROP DICTIONARY `default`.`d`', 'DROP TABLE `default`.`f`', 'DROP VIEW `default`.`m`'],
    ...['DROP VIEW `odd \\`name`.`v`', 'DROP FUNCTION `leak`'],
  ]
  await until(() => said.length >= drops.length)
  for (const drop of drops) await sql(closed.url, drop)
  await closed.stop()
  assert.deepEqual(
    said.map(({ drop }) => drop),
    drops,
  )
  for (const { msg, drop } of said) {
    assert.match(msg, /^the \S+ `.* (?:the kernel denies it any effect|it works until it is dropped): DROP /)
    assert.ok(msg.endsWith(drop))
  }
  said.length = 0
  const last = await start(t, path, { log: noting })
  // It ends after the check.
  await last.stop()
  assert.deepEqual(said, [])
})
