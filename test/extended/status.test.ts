import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import type { SystemStatus } from '../../src/operations/status/system-status.ts'
import { SmallDisk } from '../chaos/run/small-disk.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { startInstance } from '../support/instance.ts'
import { takePort } from '../support/ports.ts'
import { startTestRedis } from '../support/redis.ts'
import { stepsOf } from '../support/steps.ts'
import { until } from '../support/until.ts'

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** The program as a user runs it: loading its code takes longer than a refused connection. */
function ipid(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { env: { PATH: process.env.PATH, DATA_DIR: '/nonexistent', ...env } }
    execFile(process.execPath, ['src/ipid.mjs', ...args], options, (error, stdout, stderr) => {
      resolve({ code: Number(error?.code ?? 0), stdout, stderr })
    })
  })
}

test('status while ClickHouse refuses connections: its part is unknown, with the reason', async (t) => {
  const redis = await startTestRedis(t)
  const env = { REDIS_URL: redis.url, CLICKHOUSE_URL: `http://127.0.0.1:${takePort()}` }
  for (let times = 0; times < 3; times++) {
    const { stdout, stderr } = await ipid(['status', '--json'], env)
    assert.equal(stderr, '')
    const { unknown, verdict } = JSON.parse(stdout) as SystemStatus
    assert.match(unknown.join(), /\bClickHouse: .*ECONNREFUSED/)
    assert.match(verdict.text, /ClickHouse/)
  }
})

test('one verdict: status, its exit code, readiness and doctor say it, during faults and after', async (t) => {
  const step = stepsOf(t)
  const disk = await SmallDisk.mount({ after: (hook) => t.after(hook) }, 256)
  const [redis, clickhouse] = await Promise.all([startTestRedis(t, [], disk?.path), startTestClickHouse(t)])
  const stores = { REDIS_URL: redis.url, CLICKHOUSE_URL: clickhouse.url }
  const instance = await startInstance(t, stores)
  const env = { DATA_DIR: instance.dataDir, ...stores }
  const status = async () => {
    const { code, stdout, stderr } = await ipid(['status', '--json'], env)
    assert.equal(stderr, '')
    const { verdict } = JSON.parse(stdout) as SystemStatus
    assert.equal(code, { ok: 0, warning: 1, stalled: 2 }[verdict.level])
    return verdict
  }
  const doctorsProblems = async () => {
    const { stdout } = await ipid(['doctor', '--json'], env)
    const { findings } = JSON.parse(stdout) as { findings: { check: string; level: string; seen: string }[] }
    return findings.flatMap(({ check, level, seen }) => (level === 'problem' && check === 'work' ? [seen] : []))
  }
  const ready = async () => (await fetch(`${instance.ready.url}/readyz`, { headers: { connection: 'close' } })).status
  const well = () => until(status, ({ level }) => level === 'ok')
  const post = async (id: string) => {
    const answer = await instance.post('/v1/ingest', { events: [{ ip: '17.0.0.1', event_id: id }] })
    await answer.arrayBuffer()
    return answer.status
  }
  await well()

  await step('the disk of Redis is full', async (t) => {
    if (disk === undefined) return t.skip('no disk can be mounted')
    await disk.fill()
    for (let i = 0; (await post(`full${i}`)) === 200; i++);
    const { level, text } = await until(status, ({ facts }) => facts[0]?.name === 'redis-refuses-writes')
    assert.equal(level, 'stalled')
    assert.match(text, /^stalled: Redis refuses writes: the disk is full; requests are answered 500/)
    assert.equal(await ready(), 503)
    assert.deepEqual(await doctorsProblems(), ['Redis refuses writes: the disk is full; requests are answered 500'])
    await disk.empty()
    await until(async () => (await ready()) === 200)
    await well()
  })

  await step('Redis is down', async () => {
    await redis.kill()
    const { level, text } = await status()
    assert.match(text, /^stalled: Redis does not answer \(.+\): requests are answered 500$/)
    assert.equal(level, 'stalled')
    assert.equal(await ready(), 503)
    await redis.restart()
    await until(async () => (await ready()) === 200)
    await well()
  })

  await step('ClickHouse is down: events are taken, so the ingress is ready', async () => {
    await clickhouse.kill()
    const { level, text } = await until(status, ({ facts }) => facts.some(({ name }) => name === 'clickhouse-down'))
    assert.equal(level, 'warning')
    assert.match(text, /ClickHouse does not answer \(.*ECONNREFUSED.*\): accepted events wait in Redis/)
    assert.deepEqual([await post('waits'), await ready()], [200, 200])
    await clickhouse.restart()
    await well()
  })

  await step('the process of the workers hangs', async () => {
    const pid = instance.kill('ipid process,sink', 'SIGSTOP')
    const { level, text } = await until(status, ({ facts }) => facts.some(({ name }) => name === 'role-missing'))
    assert.equal(level, 'stalled')
    const named = text.replace(/ on \S+ \(process, sink[a-z, ]*\) has not reported for \d+\.\d s/, ' has not reported')
    const first = `no process has the role process: accepted events wait; process ${pid} has not reported`
    assert.equal(named, `stalled: ${first}; no process has the role sink: accepted events wait`)
    const { status: progress } = await fetch(new URL('/progress', instance.ready.metrics_url))
    assert.equal(progress, 503)
    process.kill(pid, 'SIGCONT')
    await well()
  })

  await step('all processes of ipid are killed', async () => {
    const gone = 'no process of ipid has reported in the last 20 s'
    const { main, others } = instance.pids()
    for (const pid of [main, ...others]) process.kill(pid, 'SIGKILL')
    const { level, text } = await until(status, ({ facts }) => facts.some(({ name }) => name === 'no-process'))
    assert.deepEqual([level, text], ['stalled', `stalled: ${gone}`])
    assert.deepEqual(await doctorsProblems(), [gone])
  })
})

test('status without an ipid to ask is no success', async () => {
  const { code, stdout, stderr } = await ipid(['status', '--json'], {})
  assert.deepEqual([code, stdout], [2, ''])
  assert.match(stderr, /^ipid: /)
})
