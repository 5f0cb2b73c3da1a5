import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { SystemStatus } from '../../src/operations/status/system-status.ts'
import { runCommand } from '../support/command.ts'
import { startInstance } from '../support/instance.ts'
import { isAlive } from '../support/processes.ts'
import { stepsOf } from '../support/steps.ts'
import { until } from '../support/until.ts'

const commandLine = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, 'latin1')

test('stores hang: no event is lost, and all continues by itself', async (t) => {
  const step = stepsOf(t)
  const instance = await startInstance(t, { SINK_LINGER_MS: '100', STALL_MS: '1000' })

  await step('Redis hangs: requests are refused in time with retry-after, and are served later', async () => {
    const { redis } = instance.pids()
    assert.equal((await instance.post('/v1/ingest', { events: [{ ip: '17.0.0.1', event_id: 'before' }] })).status, 200)
    for (const pid of redis) process.kill(pid, 'SIGSTOP')
    const answers = await Promise.all(
      Array.from({ length: 5 }, async (_, i) => {
        const startedAt = performance.now()
        const answer = await instance.post('/v1/ingest', { events: [{ ip: '17.0.0.1', event_id: `during${i}` }] })
        return { answer, body: (await answer.json()) as { detail: string }, ms: performance.now() - startedAt }
      }),
    )
    for (const { answer, body, ms } of answers) {
      assert.equal(answer.status, 500)
      assert.ok(Number(answer.headers.get('retry-after')) >= 1)
      assert.equal(typeof body.detail, 'string')
      assert.ok(ms < 2_500, 'the promise is 2 s; the rest is for a busy machine')
    }
    assert.equal((await fetch(`${instance.ready.url}/healthz`)).status, 200)
    assert.equal((await fetch(`${instance.ready.url}/readyz`)).status, 503)
    for (const pid of redis) process.kill(pid, 'SIGCONT')
    await until(async () => {
      const answer = await instance.post('/v1/ingest', { events: [{ ip: '17.0.0.1', event_id: 'after' }] })
      return answer.status === 200
    })
    await until(async () => (await instance.query("SELECT count() FROM events WHERE event_id = 'after'")) === '1')
    assert.equal(await instance.query("SELECT count() FROM events WHERE event_id = 'before'"), '1')
    assert.equal(await instance.query('SELECT count() = uniqExact(event_id) FROM events'), '1')
  })

  await step('ClickHouse hangs: ingest continues, an alarm is raised, and it catches up by itself', async () => {
    const readyz = async () => {
      const answer = await fetch(`${instance.ready.url}/readyz`)
      return [answer.status, await answer.text()] as const
    }
    await until(readyz, ([status]) => status === 200)
    const clickhouse = instance.pids().others.filter((pid) => commandLine(pid).includes('clickhouse'))
    assert.equal(clickhouse.length, 1)
    process.kill(clickhouse[0]!, 'SIGSTOP')
    for (let request = 0; request < 40; request++) {
      const events = Array.from({ length: 50 }, (_, i) => ({ ip: `18.0.0.${i}`, event_id: `e${request}-${i}` }))
      const answer = await instance.post('/v1/ingest', { events })
      assert.equal(answer.status, 200)
      await answer.arrayBuffer()
    }
    // The command knows STALL_MS of the instance.
    const status = async () => {
      const { stdout } = await runCommand(['status', '--json'], { env: { DATA_DIR: instance.dataDir } })
      return JSON.parse(stdout) as SystemStatus
    }
    // Processes report their work every few seconds.
    const { verdict, oldest, unknown } = await until(
      status,
      (now) => now.last_minute.live_events > 0 && now.verdict.level === 'stalled',
    )
    const { status: progress, text } = await until(
      async () => {
        const answer = await fetch(new URL('/progress', instance.ready.metrics_url))
        return { status: answer.status, text: await answer.text() }
      },
      (answer) => answer.status === 503,
    )
    assert.match(text, /^stalled: the oldest unfinished event has waited for clickhouse, live lane for /)
    assert.equal(progress, 503)
    assert.equal((await readyz())[0], 200, 'events are taken and kept')
    assert.match(
      verdict.text,
      /^stalled: the oldest unfinished event has waited for clickhouse, live lane for .*ClickHouse/,
    )
    assert.equal(oldest?.where, 'clickhouse, live lane')
    assert.match(unknown.join(), /^ClickHouse: /)
    process.kill(clickhouse[0]!, 'SIGCONT')
    await until(status, (now) => now.verdict.level !== 'stalled')
    const sent = "FROM events WHERE event_id LIKE 'e%-%'"
    await until(async () => Number(await instance.query(`SELECT count() ${sent}`)) >= 2_000)
    assert.equal(await instance.query(`SELECT count(), uniqExact(event_id) ${sent}`), '2000\t2000')
    assert.equal(
      await instance.query("SELECT events, visits FROM accounts WHERE business_name = 'Example School'"),
      '2000\t50',
    )
  })

  await step('the next start ends a ClickHouse that hung when its instance was killed', async () => {
    await instance.post('/v1/ingest', { events: [{ ip: '17.0.0.1', event_id: 'last' }] })
    await until(async () => (await instance.query("SELECT count() FROM events WHERE event_id = 'last'")) === '1')
    const [leftover] = instance.pids().others.filter((pid) => commandLine(pid).includes('clickhouse'))
    process.kill(leftover!, 'SIGSTOP')
    await instance.restart()
    assert.ok(!isAlive(leftover!))
    await until(async () => (await instance.query("SELECT count() FROM events WHERE event_id = 'last'")) === '1')
  })
})
