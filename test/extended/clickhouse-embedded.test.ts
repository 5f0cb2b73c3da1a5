import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { getPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { createClient } from '@clickhouse/client'
import { pino } from 'pino'
import { keptPasswords } from '../../src/embedded/clickhouse/passwords.ts'
import { type EmbeddedClickHouseOptions, startEmbeddedClickHouse } from '../../src/embedded/clickhouse/start.ts'
import { diskStateOf } from '../../src/stores/clickhouse/failed-writes.ts'
import { atEnd } from '../support/at-end.ts'
import { runSql } from '../support/fetch-clickhouse.ts'
import { takePort } from '../support/ports.ts'
import { processesNaming } from '../support/processes.ts'
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

const sql = (url: string, query: string, database = 'default') => runSql(url, query, { database })

/** Resolves when the port is closed. */
async function gone(url: string): Promise<void> {
  await until(() =>
    fetch(`${new URL(url).origin}/ping`).then(
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
  await sql(first.url, TABLE, 'd')
  await sql(first.url, 'INSERT INTO t VALUES (1)', 'd')
  await sql(first.url, `INSERT INTO t FORMAT TSV\n${'1\n'.repeat(200_000)}`, 'd')
  assert.equal(
    await sql(first.url, "SELECT getMergeTreeSetting('old_parts_lifetime')"),
    '480\n',
    'merged parts stay until the result is on disk',
  )
  await first.stop()
  await first.stop()
  const second = await start(t, path)
  assert.equal(await sql(second.url, 'SELECT sum(a) FROM t', 'd'), '200001\n')
})

test('after kill -9 the folder opens again, and onExit has been called', async (t) => {
  const path = await folder(t)
  let tell: (reason: string) => void = () => {}
  const reported = new Promise<string>((resolve) => {
    tell = resolve
  })
  const first = await start(t, path, { onExit: tell })
  await sql(first.url, 'CREATE DATABASE d')
  await sql(first.url, TABLE, 'd')
  await sql(first.url, 'INSERT INTO t VALUES (1)', 'd')
  process.kill(first.pid, 'SIGKILL')
  assert.equal(await reported, 'signal SIGKILL')
  const second = await start(t, path)
  assert.equal(await sql(second.url, 'SELECT a FROM t', 'd'), '1\n')
})

test('a stop waits for running statements', async (t) => {
  const server = await start(t, await folder(t))
  const slow = sql(server.url, 'SELECT sleep(1.5)')
  const running = "SELECT count() FROM system.processes WHERE query LIKE 'SELECT sleep(1.5)%'"
  await until(async () => (await sql(server.url, running)) !== '0\n')
  await server.stop()
  assert.equal(await slow, '0\n')
})

test('a slow statement does not delay a stop', async (t) => {
  const server = await start(t, await folder(t))
  const slow = sql(server.url, 'SELECT max(sipHash64(number)) FROM numbers(100000000000)').catch(() => 'ended')
  const running = "SELECT count() FROM system.processes WHERE query LIKE '%sipHash%'"
  await until(async () => (await sql(server.url, running)) === '2\n')
  await server.stop()
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
  await assert.rejects(start(t, path), { name: 'StartupError', message: /already running/ })
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
    message: new RegExp(`CLICKHOUSE_PORT ${port}: .*another program listens there`),
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

test('each start has a name of its own, by which inserts notice another one', async (t) => {
  const path = await folder(t)
  const stateOf = async () => {
    const server = await start(t, path)
    const client = createClient({ url: server.url, log: { level: 127 } })
    t.after(() => client.close())
    const states = [await diskStateOf(client), await diskStateOf(client)]
    await server.stop()
    return states
  }
  const [first, same] = await stateOf()
  const [second] = await stateOf()
  assert.ok(first!.start.length > 10 && first!.free > 0, JSON.stringify(first))
  assert.deepEqual([same!.start, same!.failed], [first!.start, 0])
  assert.notEqual(second!.start, first!.start)
})

test('passwords are kept, and only their owner can read them', async (t) => {
  const file = join(await folder(t), 'passwords.json')
  const made = keptPasswords(file)
  assert.deepEqual(keptPasswords(file), made)
  assert.notEqual(made.own, made.analyst)
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  for (const content of ['{"own":"short","analyst":"short"}', '[]', 'null']) {
    await writeFile(file, content)
    assert.throws(() => keptPasswords(file), { name: 'StartupError', message: /Remove it/ }, content)
  }
})

test('the protocol of ClickHouse itself has a port only when one is named', async (t) => {
  const [tcpPort, path] = [takePort(), await folder(t)]
  const connects = async (port: number) => {
    const socket = connect(port, '127.0.0.1')
    return await once(socket, 'connect')
      .then(
        () => true,
        () => false,
      )
      .finally(() => socket.destroy())
  }
  const closed = await start(t, path)
  assert.equal(await connects(tcpPort), false)
  await closed.stop()
  await start(t, path, { tcpPort })
  assert.equal(await connects(tcpPort), true)
})
