import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { pino } from 'pino'
import { readConfig } from '../../src/config/config.ts'
import { makeDataDir } from '../../src/embedded/processes/data-dir.ts'
import type { RunningProcess } from '../../src/embedded/processes/running-process.ts'
import { Supervisor, type SupervisorOptions } from '../../src/embedded/processes/supervisor.ts'
import { startEmbeddedRedis } from '../../src/embedded/redis/server.ts'
import { takePort } from '../support/ports.ts'
import { isAlive } from '../support/processes.ts'
import { until } from '../support/until.ts'

const script = fileURLToPath(new URL('../support/built-role.mjs', import.meta.url))
const module = new URL('../support/fixture-roles.mjs', import.meta.url).href
const log = pino({ level: 'silent' })

interface Shown {
  readonly pid: number
  readonly redisUrl: string
  readonly roles: readonly string[]
  /** A slow request has arrived. */
  readonly waiting: boolean
}

function setUp(t: TestContext, changes: Partial<SupervisorOptions> = {}) {
  const dir = makeDataDir(mkdtempSync(join(tmpdir(), 'ipid-supervisor-')))
  const config = readConfig({ PORT: String(takePort()), DATA_DIR: dir.path, LOG_LEVEL: 'silent' })
  const redisProcesses: RunningProcess[] = []
  const supervisor = new Supervisor({
    redis: {
      launch: async (signal) => {
        const redis = await startEmbeddedRedis({
          binary: 'redis-server',
          dir: dir.redis,
          socket: dir.redisSocket,
          fsync: 'always',
          maxMemoryBytes: 64 * 2 ** 20,
          env: process.env,
          log,
          signal,
        })
        redisProcesses.push(redis)
        return redis
      },
    },
    clickhouse: { url: 'http://127.0.0.1:1' },
    roleScript: { script, args: ['role', module] },
    ingressRoles: ['ingress'],
    ingressProcesses: 1,
    dashboardRoles: [],
    workerRoles: ['process', 'sink'],
    configFor: (_roles, port) => ({ ...config, port: port ?? config.port }),
    log,
    ...changes,
  })
  t.after(async () => {
    supervisor.kill()
    await supervisor.stop()
    rmSync(dir.path, { recursive: true, force: true })
  })
  return { supervisor, config, redisProcesses }
}

async function show(url: string): Promise<Shown | undefined> {
  try {
    return (await (await fetch(url, { headers: { connection: 'close' } })).json()) as Shown
  } catch {
    return undefined
  }
}

test('stores and roles start, killed ones restart at the same address, and nothing is left', async (t) => {
  const restarts: string[] = []
  const { supervisor, redisProcesses } = setUp(t, { onRestart: (name) => restarts.push(name) })
  const { url, redisUrl } = await supervisor.start()
  const first = await show(url!)
  assert.deepEqual(first!.roles, ['ingress'])
  assert.equal(first!.redisUrl, redisUrl)
  const [firstRedis] = redisProcesses
  assert.ok(isAlive(firstRedis!.pid))

  process.kill(first!.pid, 'SIGKILL')
  const second = await until(() => show(url!))
  assert.notEqual(second.pid, first!.pid)
  process.kill(firstRedis!.pid, 'SIGKILL')
  const secondRedis = await until(() => redisProcesses[1])
  assert.equal(secondRedis.url, redisUrl)
  await until(() => restarts.length === 2)
  assert.deepEqual(restarts.sort(), ['ingress', 'redis'])

  await supervisor.stop()
  assert.deepEqual([second.pid, secondRedis.pid].filter(isAlive), [])
  await supervisor.stop()
})

test('children that do not run, or do not answer, are named', async (t) => {
  const { supervisor } = setUp(t)
  assert.deepEqual(await supervisor.problems(), [
    'ingress does not run',
    'process+sink does not run',
    'redis does not run',
  ])
  const { url } = await supervisor.start()
  assert.deepEqual(await supervisor.problems(), [])
  const { pid } = (await show(url!))!
  process.kill(pid, 'SIGSTOP')
  assert.deepEqual(await supervisor.problems(), ['ingress does not answer'])
  process.kill(pid, 'SIGCONT')
  await until(async () => (await supervisor.problems()).length === 0)
})

test('a request in flight is answered before its process ends', async (t) => {
  const { supervisor } = setUp(t)
  const { url } = await supervisor.start()
  const slow = fetch(url!, { method: 'PUT', headers: { connection: 'close' } })
  const { pid } = await until(async () => ((await show(url!))?.waiting ? await show(url!) : undefined))
  await supervisor.stop()
  assert.equal((await slow).status, 200)
  assert.ok(!isAlive(pid))
})

test('roles start before a store whose address is known, and the start waits for it', async (t) => {
  let isUp = () => {}
  const up = new Promise<void>((resolve) => {
    isUp = resolve
  })
  const address = 'http://127.0.0.1:1'
  const launch = async () => {
    await up
    let end = (_reason: string) => {}
    const exited = new Promise<string>((resolve) => {
      end = resolve
    })
    return { pid: process.pid, url: address, exited, stop: async () => end('asked'), kill: () => end('killed') }
  }
  const { supervisor, config } = setUp(t, { clickhouse: { address, launch } })
  let isStarted = false
  const started = supervisor.start().then(() => {
    isStarted = true
  })
  await until(
    () => show(`http://127.0.0.1:${config.port}`),
    (shown) => shown !== undefined,
  )
  assert.equal(isStarted, false)
  isUp()
  await started
})

test('the metrics of every role process are collected', async (t) => {
  const { supervisor } = setUp(t)
  await supervisor.start()
  const sets = await supervisor.metrics()
  const starts = sets.flat().filter(({ name }) => name === 'fixture_starts_total')
  const processes = starts.map(({ values }) => values[0]!.labels.process)
  assert.deepEqual(processes.sort(), ['ingress', 'process+sink'])
})

test('a role that cannot start ends the start with its reason', async (t) => {
  const { config } = setUp(t)
  const { supervisor, redisProcesses } = setUp(t, {
    configFor: () => ({ ...config, plans: new Map([...config.plans, ['broken', config.plans.get('starter')!]]) }),
  })
  await assert.rejects(supervisor.start(), { name: 'StartupError', message: 'the plan is broken' })
  await supervisor.stop()
  assert.ok(!isAlive(redisProcesses[0]!.pid))
})

test('stop during the start ends the start and everything it began', async (t) => {
  let signal: AbortSignal | undefined
  const { supervisor } = setUp(t, {
    redis: {
      launch: async (given) => {
        signal = given
        return await new Promise((_, reject) => given.addEventListener('abort', () => reject(new Error('aborted'))))
      },
    },
  })
  const start = supervisor.start()
  const rejected = assert.rejects(start)
  await until(() => signal)
  await supervisor.stop()
  await rejected
  await assert.rejects(supervisor.start())
})
