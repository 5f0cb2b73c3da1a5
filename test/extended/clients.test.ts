import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { Ipid, type VisitorEvent } from '../../src/client/typescript/index.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { keysLike } from '../../src/stores/redis/nodes.ts'
import {
  CLIENTS,
  type Ends,
  PYTHON,
  type RunningDriver,
  runPython,
  type TestedClient,
} from '../support/clients/clients.ts'
import type { DriverTask } from '../support/clients/task.ts'
import { runCommand } from '../support/command.ts'
import { type FaultyProxy, startFaultyProxy } from '../support/faulty-proxy.ts'
import { startInstance, type TestInstance } from '../support/instance.ts'
import { stepsOf } from '../support/steps.ts'
import { until } from '../support/until.ts'

/* What the clients report as delivered is stored once, whatever breaks; what is not stored was reported as failed. */

const EVENTS = 6_000

function eventsOf(name: string, count: number): VisitorEvent[] {
  return Array.from({ length: count }, (_, n) => ({ ip: `17.0.${n % 50}.1`, event_id: `${name}-${n}` }))
}

/** The ids of stored events whose id begins with a name, one for each row. */
async function storedIds(instance: TestInstance, name: string): Promise<string[]> {
  const printed = await instance.query(`SELECT event_id FROM events WHERE startsWith(event_id, '${name}-')`)
  return printed === '' ? [] : printed.split('\n')
}

/** Each delivered event has one row, no row is of another event, and each event ended. */
async function assertOnce(instance: TestInstance, name: string, ends: Ends, count: number): Promise<void> {
  const { delivered, failed } = ends
  assert.equal(new Set(delivered).size, delivered.length, 'an event is reported as delivered once')
  assert.equal(new Set([...delivered, ...failed.map(({ id }) => id)]).size, count, 'every event ended')
  assert.equal(delivered.length + failed.length, count)
  await until(async () => {
    const stored = new Set(await storedIds(instance, name))
    return delivered.every((id) => stored.has(id))
  })
  const stored = await storedIds(instance, name)
  assert.equal(new Set(stored).size, stored.length, 'no event has two rows')
  const mayBeStored = new Set([...delivered, ...failed.filter((end) => end.mayBeStored).map(({ id }) => id)])
  assert.deepEqual(
    stored.filter((id) => !mayBeStored.has(id)),
    [],
  )
}

test('what the clients report as delivered is stored once', async (t) => {
  const step = stepsOf(t)
  const instance = await startInstance(t)
  const proxy = await startFaultyProxy(t, instance.ready.url)
  for (const client of CLIENTS) {
    const named = (title: string, work: (context: Context) => Promise<void>) =>
      step(`${client.name}: ${title}`, async (t) => {
        if (client.skip !== undefined) return t.skip(client.skip)
        await work({ client, instance, proxy, t })
      })
    await named('under kills of ingress and Redis, 503, silence and cut answers', broken)
    await named('with a plan of 5 requests a second', limited)
    await named('when the process ends without close', idle)
    await named('when the process exits, and is killed', ended)
  }
  await step('a compressed file is uploaded while it is read, and stored once', (t) => uploaded(t, instance))
  await step('a bulk lookup becomes one job, and its results are those of the same addresses at once', (t) =>
    bulkJob(t, instance, proxy),
  )
  await step('an unknown key is told before a large file is sent', (t) => refused(t, instance))
  assert.equal(await instance.stop(), 0)
})

interface Context {
  readonly client: TestedClient
  readonly instance: TestInstance
  readonly proxy: FaultyProxy
  readonly t: TestContext
}

function taskOf({ instance, proxy }: Context, task: Partial<DriverTask> & Pick<DriverTask, 'events'>): DriverTask {
  const usual = {
    key: instance.apiKey,
    url: proxy.url,
    options: {},
    pauseEvery: 0,
    end: 'close',
    closeMs: 90_000,
  } as const
  return { ...usual, ...task }
}

async function untilDelivered({ ends }: RunningDriver, count: number): Promise<void> {
  await until(() => ends.delivered.length >= count)
}

async function broken(context: Context): Promise<void> {
  const { client, instance, proxy } = context
  const name = `broken${client.name}`
  const options = { requestTimeoutMs: 2_000 }
  const events = eventsOf(name, EVENTS)
  const driver = client.start(taskOf(context, { events, options, pauseEvery: 40 }))
  proxy.faults.push(
    'busy',
    { cutAnswerAfterBytes: 0 },
    'silent',
    { cutAfterBytes: 5_000 },
    { cutAnswerAfterBytes: 900 },
  )
  for (const [share, victim] of [
    [0.1, 'redis-server'],
    [0.3, 'ipid ingress'],
    [0.5, 'redis-server'],
    [0.7, 'ipid ingress'],
  ] as const) {
    await untilDelivered(driver, EVENTS * share)
    // Of the connections that begin after the kill.
    if (victim === 'ipid ingress') proxy.faults.push({ cutAnswerAfterBytes: 0 }, 'busy', { cutAnswerAfterBytes: 300 })
    // One that was killed a moment ago may not be back yet.
    await until(() => [instance.kill(victim)], Boolean)
  }
  assert.equal(await driver.ended, 0)
  assert.deepEqual(driver.ends.failed, [])
  assert.deepEqual(proxy.faults, [], 'every fault happened')
  await assertOnce(instance, name, driver.ends, EVENTS)
}

async function limited(context: Context): Promise<void> {
  const { client, instance } = context
  const name = `limited${client.name}`
  const tenant = name.toLowerCase()
  const env = { DATA_DIR: instance.dataDir }
  assert.equal((await runCommand(['tenant', 'create', tenant, '--plan', 'starter'], { env })).code, 0)
  const { key } = JSON.parse((await runCommand(['key', 'create', tenant, '--json'], { env })).stdout)
  // The burst of the plan is 20 requests.
  const count = 2_600
  const { ends, ended } = client.start(taskOf(context, { key, events: eventsOf(name, count) }))
  assert.equal(await ended, 0)
  assert.deepEqual(ends.failed, [])
  await assertOnce(instance, name, ends, count)
}

async function idle(context: Context): Promise<void> {
  const name = `idle${context.client.name}`
  const { ends, ended } = context.client.start(taskOf(context, { events: eventsOf(name, 550), end: 'idle' }))
  assert.equal(await ended, 0)
  assert.deepEqual(ends.failed, [])
  await assertOnce(context.instance, name, ends, 550)
}

async function ended(context: Context): Promise<void> {
  const { client, instance } = context
  const name = `exit${client.name}`
  const exited = client.start(taskOf(context, { events: eventsOf(name, 1_000), end: 'exit' }))
  assert.equal(await exited.ended, 0)
  // The end of the interpreter can wait, `process.exit` cannot: what is left is reported.
  assert.deepEqual(
    new Set(exited.ends.failed.map(({ code }) => code)),
    new Set(client.name === 'TypeScript' ? ['not_delivered_in_time'] : []),
  )
  await assertOnce(instance, name, exited.ends, 1_000)

  const killed = client.start(taskOf(context, { events: eventsOf(`kill${client.name}`, EVENTS), pauseEvery: 40 }))
  await untilDelivered(killed, 1_000)
  killed.child.kill('SIGKILL')
  await killed.ended
  const { delivered, failed } = killed.ends
  assert.ok(delivered.length < EVENTS)
  assert.deepEqual(failed, [])
  const stored = await until(
    () => storedIds(instance, `kill${client.name}`),
    (ids) => delivered.every((id) => ids.includes(id)),
  )
  assert.equal(new Set(stored).size, stored.length)
}

async function uploaded(t: TestContext, instance: TestInstance): Promise<void> {
  const key = instance.apiKey
  const { url } = instance.ready
  const count = 50_000
  const fileOf = (name: string) => {
    const path = join(instance.dir, `${name}.ndjson.gz`)
    writeFileSync(
      path,
      gzipSync(
        eventsOf(name, count)
          .map((event) => `${JSON.stringify(event)}\n`)
          .join(''),
      ),
    )
    return path
  }
  const ipid = new Ipid({ key, url })
  const accepted = await ipid.uploadFile(fileOf('typescript'))
  assert.equal(accepted.received, count)
  const seen: number[] = []
  const job = await ipid.waitForJob(accepted.job_id, { onProgress: ({ progress_pct: pct }) => seen.push(pct) })
  assert.deepEqual([job.status, job.result_summary?.processed, seen.at(-1)], ['completed', count, 100])
  await ipid.close()
  const names = ['typescript']
  if (PYTHON !== undefined) {
    const lines = `upload = client.upload_file(${JSON.stringify(fileOf('python'))})
job = client.wait_for_job(upload["job_id"])
print(upload["received"], job["status"], job["result_summary"]["processed"])`
    const { stdout } = await runPython({ key, url, dir: instance.dir }, lines)
    assert.equal(stdout, `${count} completed ${count}\n`)
    names.push('python')
  } else t.diagnostic('there is no python3')
  for (const name of names) {
    const stored = await storedIds(instance, name)
    assert.deepEqual([stored.length, new Set(stored).size], [count, count])
  }
}

async function bulkJob(t: TestContext, instance: TestInstance, proxy: FaultyProxy): Promise<void> {
  if (PYTHON === undefined) return t.diagnostic('there is no python3')
  const key = instance.apiKey
  // The first attempt makes the job, and its answer is lost.
  proxy.faults.push({ cutAnswerAfterBytes: 0 })
  const lines = `ips = ["17.0.0.1", "nonsense"]
accepted = client.bulk(ips, mode="async", label="crm", fields=["business_name"])
job = client.bulk_job(accepted["job_id"])
while job["status"] not in ("completed", "failed"):
    time.sleep(0.05)
    job = client.bulk_job(accepted["job_id"])
print(accepted["status"], job["status"], job["label"], job["progress_total"])
print(job["results"] == client.bulk(ips, fields=["business_name"]), len(job["results"]))
try:
    client.bulk(ips, label="crm")
except ValueError as error:
    print(error)`
  const { stdout } = await runPython({ key, url: proxy.url, dir: instance.dir }, `import time\n${lines}`)
  assert.equal(stdout, 'queued completed crm 2\nTrue 2\nlabel and idempotency_key are for mode="async"\n')
  assert.deepEqual(proxy.faults, [], 'the fault happened')
  const redis = connectRedis(instance.ready.redis_url, { name: 'test', kind: 'request' })
  t.after(() => redis.disconnect())
  await until(
    () => redis.ping(),
    (answer) => answer === 'PONG',
  )
  let jobs = 0
  for await (const _ of keysLike(redis, keys.bulkJobPattern())) jobs++
  assert.equal(jobs, 1, 'the repeat made no second job')
}

async function refused(t: TestContext, instance: TestInstance): Promise<void> {
  const key = `ipid_${'0'.repeat(64)}`
  const { url } = instance.ready
  const file = join(instance.dir, 'large.ndjson')
  writeFileSync(file, '{"ip":"17.0.0.1"}\n'.repeat(3_000_000))
  const ipid = new Ipid({ key, url })
  await assert.rejects(ipid.uploadFile(file), { code: 'unknown_key', status: 401, mayBeStored: false })
  if (PYTHON === undefined) return t.diagnostic('there is no python3')
  const lines = `try:
    client.upload_file(${JSON.stringify(file)})
except ipid.IpidError as error:
    print(error.code, error.may_be_stored)`
  assert.equal((await runPython({ key, url, dir: instance.dir }, lines)).stdout, 'unknown_key False\n')
}
