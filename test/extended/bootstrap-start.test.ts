import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { SystemStatus } from '../../src/operations/status/system-status.ts'
import { isHeld } from '../../src/run/socket-lock.mjs'
import { fetchClickHouse } from '../support/fetch-clickhouse.ts'
import { takePort } from '../support/ports.ts'
import { isAlive } from '../support/processes.ts'
import { type ReadyFile, TestSite } from '../support/site.ts'
import { stepsOf } from '../support/steps.ts'
import { until } from '../support/until.ts'

async function ingest(url: string, key: string, event: object): Promise<number> {
  const headers = { 'x-api-key': key, 'content-type': 'application/json', connection: 'close' }
  const response = await fetch(`${url}/v1/ingest`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ events: [event] }),
  })
  await response.text()
  return response.status
}

async function countEvents(clickhouseUrl: string): Promise<string> {
  const response = await fetchClickHouse(clickhouseUrl, { database: 'ipid' }, { body: 'SELECT count() FROM events' })
  return (await response.text()).trim()
}

test('npm start: a signal ends all processes, and the next start finds its tenant', async (t) => {
  const step = stepsOf(t)
  const site = new TestSite(t)
  let ready: ReadyFile

  await step('the first start prints next steps, and they work', async () => {
    const first = site.start([], { npm: true })
    ready = await first.ready()
    assert.equal(ready.tenant_id, 'demo')
    assert.match(ready.api_key!, /^ipid_[0-9a-f]{64}$/)
    await until(() => first.stdout().includes('See the accounts'))
    assert.ok(first.stdout().includes(ready.url))
    // A pipe may end in a log: secrets are in private files that the output names.
    const [keyFile, linkFile] = [join(site.dir, 'first-api-key'), join(site.dir, 'run/sign-in-link')]
    for (const [file, secret] of [
      [keyFile, ready.api_key!],
      [linkFile, new URL(ready.dashboard_url!).searchParams.get('token')!],
    ] as const) {
      assert.ok(readFileSync(file, 'utf8').includes(secret))
      assert.equal(statSync(file).mode & 0o777, 0o600)
      assert.ok(first.stdout().includes(file), first.stdout())
      assert.ok(!first.stdout().includes(secret) && !first.stderr().includes(secret))
    }
    assert.equal(statSync(join(site.dir, 'run/instance.json')).mode & 0o777, 0o600)
    assert.equal(await ingest(ready.url, ready.api_key!, { ip: '198.51.100.1' }), 200)
    // The printed line works in sh unchanged.
    const line = /^ {2}(curl .*\/v1\/ingest.*)$/m.exec(first.stdout())![1]!
    const answer = JSON.parse(execFileSync('/bin/sh', ['-c', line], { encoding: 'utf8' })) as {
      results: { status: string }[]
    }
    assert.equal(answer.results[0]!.status, 'ok')
    await until(async () => (await countEvents(ready.tables_url)) === '1')

    first.child.kill('SIGTERM')
    assert.deepEqual(await first.ended, { code: 0, signal: null })
    assert.deepEqual(site.processes(), [])
  })

  await step('the next start finds the tenant, its key and its events', async (t) => {
    site.env.LOG_LEVEL = 'debug'
    const second = site.start()
    const again = await second.ready()
    assert.equal(again.api_key, undefined)
    assert.equal(again.tenant_id, undefined)
    assert.equal(await ingest(again.url, ready.api_key!, { ip: '81.2.69.142' }), 200)
    await until(async () => (await countEvents(again.tables_url)) === '2')
    await until(() => second.stdout().includes('./ipid key create demo'))

    await t.test('a second instance on the same DATA_DIR and a port in use are refused in one line', async (t) => {
      const other = await site.ipid('start')
      assert.equal(other.code, 1)
      assert.match(other.stderr, /^ipid: another ipid \(process \d+\) runs on .*\n$/)
      const elsewhere = new TestSite(t, { PORT: new URL(again.url).port })
      const taken = await elsewhere.ipid('start')
      assert.equal(taken.code, 1)
      assert.match(taken.stderr, /^ipid: PORT \d+: cannot listen on 127\.0\.0\.1:\d+ .*choose another port\n$/)
      assert.deepEqual(elsewhere.processes(), [])
    })

    second.child.kill('SIGINT')
    assert.deepEqual(await second.ended, { code: 0, signal: null })
    assert.deepEqual(site.processes(), [])
    assertOneFormat(second.stderr())
  })
})

/** Every line of every process has the same first keys, each key once, and an ISO 8601 time. */
function assertOneFormat(text: string): void {
  const lines = text.trimEnd().split('\n')
  const names = new Set<string>()
  for (const line of lines) {
    const facts = JSON.parse(line) as { time: string; name: string }
    assert.equal(JSON.stringify(facts), line, 'a key that comes twice')
    assert.deepEqual(Object.keys(facts).slice(0, 4), ['level', 'time', 'pid', 'name'], line)
    assert.equal(Object.keys(facts).at(-1), 'msg', line)
    assert.equal(new Date(facts.time).toISOString(), facts.time)
    names.add(facts.name)
  }
  assert.deepEqual([...names].sort(), ['dashboard', 'ingress', 'ipid', 'process+sink+batch+archive'])
  assert.match(text, /"records":\d+,"seconds":[\d.]+,"msg":"enrichment file loaded"/)
  assert.match(text, /"seconds":[\d.]+,"msg":"ready"/)
}

test('after kill -9 the instance comes back with everything acknowledged', async (t) => {
  const step = stepsOf(t)
  const site = new TestSite(t, { ADMIN_PORT: String(takePort()) })
  const first = site.start()
  const ready = await first.ready()

  await step('killed children come back, and are counted and reported', async () => {
    const count = async (metric: RegExp) => Number(metric.exec(await (await fetch(ready.metrics_url)).text())?.[1])
    const restarts = /^ipid_process_restarts_total\{process="ingress"\} (\d+)$/m
    for (const metric of [
      restarts,
      /^ipid_process_restarts_total\{process="redis"\} (\d+)$/m,
      /^ipid_insert_failures_total\{group="clickhouse",.*\} (\d+)$/m,
      /^ipid_http_refused_total\{limit="rate",.*\} (\d+)$/m,
    ]) {
      assert.equal(await count(metric), 0, `a counter that appears with its first event hides it: ${metric}`)
    }
    const others = site.processes().filter((pid) => pid !== ready.pid)
    for (const pid of others) if (isAlive(pid)) process.kill(pid, 'SIGKILL')
    await until(async () => {
      const status = await ingest(ready.url, ready.api_key!, { ip: '81.2.69.142', event_id: 'one' }).catch(() => 0)
      return status === 200
    })
    await until(async () => (await countEvents(ready.tables_url).catch(() => '')) === '1')
    assert.equal(await count(restarts), 1)
    const status = await until(
      async () => JSON.parse((await site.ipid('status', '--json')).stdout) as SystemStatus,
      ({ errors }) => errors.some(({ message }) => message.startsWith('process ingress ended')),
    )
    const crash = status.errors.find(({ message }) => message.startsWith('process ingress ended'))
    assert.deepEqual([crash?.process, crash?.level], ['supervisor', 'error'])
    assert.match(crash!.message, /^process ingress ended \(.*SIGKILL.*\); restarting$/)
    // Killed processes are listed for a while, but the supervisor never is.
    assert.ok(status.processes.length >= 3 && status.processes.every(({ pid }) => pid !== ready.pid))
  })

  await step('a killed instance leaves nothing, and the next start has its ports and all events', async () => {
    for (let n = 0; n < 20; n++) {
      assert.equal(await ingest(ready.url, ready.api_key!, { ip: '81.2.69.142', event_id: `e${n}` }), 200)
    }
    process.kill(ready.pid, 'SIGKILL')
    await first.ended

    const second = site.start()
    const again = await second.ready()
    assert.deepEqual([again.url, again.tables_url], [ready.url, ready.tables_url])
    await until(async () => (await countEvents(again.tables_url)) === '21')
    process.kill(again.pid, 'SIGKILL')
    await site.untilNothingRuns()
  })
})

test('a signal during the start ends it in order', async (t) => {
  const site = new TestSite(t)
  const started = site.start()
  // The lock comes before everything else.
  await until(() => isHeld(join(site.dir, 'run/lock.sock')))
  started.child.kill('SIGTERM')
  assert.deepEqual(await started.ended, { code: 0, signal: null })
  assert.deepEqual(site.processes(), [])
})

test('an address that this machine lacks is named, not the port', async (t) => {
  for (const [env, stderr] of [
    [{ HOST: 'nope.invalid' }, /^ipid: HOST "nope\.invalid": .*this host.*\n$/],
    [{ HOST: '192.0.2.1', PORT: '65001' }, /^ipid: HOST "192\.0\.2\.1": this machine does not have this address\n$/],
    [{ DASHBOARD_HOST: '192.0.2.1' }, /^ipid: DASHBOARD_HOST "192\.0\.2\.1": this machine does not have .*\n$/],
    [{ ADMIN_HOST: '192.0.2.1' }, /^ipid: ADMIN_HOST "192\.0\.2\.1": this machine does not have this address\n$/],
  ] as const) {
    const site = new TestSite(t, env)
    const refused = await site.ipid('start')
    assert.match(refused.stderr, stderr)
    assert.equal(refused.code, 2)
    assert.deepEqual(site.processes(), [])
  }
})
