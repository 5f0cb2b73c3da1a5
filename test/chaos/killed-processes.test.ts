import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { Redis } from 'ioredis'
import type { BatchJob } from '../../schemas/api/batch.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { startInstance, type TestInstance, VICTIMS } from '../support/instance.ts'
import { stepsOf } from '../support/steps.ts'
import { until } from '../support/until.ts'

const LINES = 30_000

/** Lines of every kind; their expected counts are in `EXPECTED`. */
function lineOf(n: number): string {
  if (n % 100 === 1) return 'nonsense'
  if (n % 100 === 2) return '{"ip":"nowhere"}'
  if (n % 100 === 3) return `{"ip":"3.0.0.1","event_id":"cloud${n}"}`
  if (n % 100 === 4) return `{"ip":"17.0.0.1","event_id":"e${n - 4}"}`
  if (n % 100 === 5) return '{"ip":"17.0.0.2"}'
  return `{"ip":"${n % 2 === 0 ? 17 : 18}.0.${n % 50}.1","event_id":"e${n}","properties":{"n":${n}.0}}`
}

const HUNDREDS = LINES / 100
const STORED = LINES - 4 * HUNDREDS
const EXPECTED = {
  processed: LINES,
  valid_ips: LINES - 2 * HUNDREDS,
  identified_ips: LINES - 3 * HUNDREDS,
  rejected: HUNDREDS,
  filtered: HUNDREDS,
  filtered_reasons: { cloud: HUNDREDS },
  invalid_ip: HUNDREDS,
  duplicates: HUNDREDS,
}
const BATCH_OUTCOMES = [
  `duplicates\t\tbusiness\t${HUNDREDS}`,
  `filtered\t\tcloud\t${HUNDREDS}`,
  `invalid_ip\t\t\t${HUNDREDS}`,
  `rejected\tnot JSON\t\t${HUNDREDS}`,
  `stored\t\t\t${STORED}`,
].join('\n')

const REQUESTS = 150
const PER_REQUEST = 40
const EVENTS = REQUESTS * PER_REQUEST

interface Sent {
  readonly ip: string
  readonly event_id: string
}

/** Live event number `n`: of every ten, six are noise of two kinds, one has no address, and one repeats the one before. */
function eventOf(n: number): Sent {
  const kind = n % 10
  if (kind < 4) return { ip: `3.0.0.${kind}`, event_id: `cloud${n}` }
  if (kind < 6) return { ip: '10.0.0.1', event_id: `reserved${n}` }
  if (kind === 6) return { ip: 'nowhere', event_id: `invalid${n}` }
  if (kind === 7) return { ip: '17.0.0.1', event_id: `live${n}` }
  if (kind === 8) return { ip: '17.0.0.2', event_id: `live${n - 1}` }
  return { ip: '18.0.0.1', event_id: `live${n}` }
}

const TENTH = EVENTS / 10
const LIVE_OUTCOMES = [
  `duplicates\t\tbusiness\t${TENTH}`,
  `filtered\t\tcloud\t${4 * TENTH}`,
  `filtered\t\treserved\t${2 * TENTH}`,
  `invalid_ip\t\t\t${TENTH}`,
  `stored\t\tbusiness\t${TENTH}`,
  `stored\t\teducation\t${TENTH}`,
].join('\n')

async function sendAll(instance: TestInstance, progress: { sent: number }): Promise<void> {
  let next = 0
  const send = async () => {
    while (next < REQUESTS) {
      const first = next++ * PER_REQUEST
      const events = Array.from({ length: PER_REQUEST }, (_, i) => eventOf(first + i))
      const answer = await instance.post('/v1/ingest', { events })
      await answer.arrayBuffer()
      assert.equal(answer.status, 200)
      progress.sent += events.length
    }
  }
  await Promise.all([send(), send()])
}

const TOTAL = 'SELECT sum(events) FROM daily_outcomes'

function outcomesOf(lane: 'live' | 'batch'): string {
  return `SELECT status, reason, if(status = 'stored' AND lane = 'batch', '', classification), sum(events) FROM daily_outcomes
    WHERE tenant_id = 'demo' AND lane = '${lane}' GROUP BY ALL ORDER BY ALL`
}

async function readJob(instance: TestInstance, jobId: string): Promise<BatchJob | undefined> {
  const headers = { 'x-api-key': instance.apiKey }
  const answer = await fetch(`${instance.ready.url}/v1/ingest/batch/${jobId}`, { headers }).catch(() => undefined)
  if (answer?.status !== 200) {
    await answer?.arrayBuffer()
    return undefined
  }
  return (await answer.json()) as BatchJob
}

test('after kills of all processes every event and every line is stored and counted once', async (t) => {
  const step = stepsOf(t)
  const instance = await startInstance(t, { BATCH_QUEUE_LIMIT: '1' })
  // One that was killed a moment ago may not be back yet.
  const kill = (victim: (typeof VICTIMS)[number]) => until(() => [instance.kill(victim)], Boolean)

  await step('worker and ClickHouse are killed during requests: daily_outcomes matches the sent events', async () => {
    const progress = { sent: 0 }
    const sending = sendAll(instance, progress)
    for (const [share, victim] of [
      [0.1, 'ipid process,sink'],
      [0.3, 'embedded/clickhouse'],
      [0.5, 'ipid process,sink'],
      [0.8, 'embedded/clickhouse'],
      [0.9, 'ipid process,sink'],
    ] as const) {
      await until(() => progress.sent >= EVENTS * share)
      await kill(victim)
    }
    await sending
    await until(async () => Number(await instance.query(TOTAL)) >= EVENTS)
    assert.equal(await instance.query(outcomesOf('live')), LIVE_OUTCOMES)
    assert.equal(await instance.query(TOTAL), String(EVENTS))
  })

  const ended: string[] = []
  await step('every process is killed during a job: it completes with exact counts', async () => {
    const body = Array.from({ length: LINES }, (_, n) => lineOf(n)).join('\n')
    const upload = await instance.post('/v1/ingest/batch', body)
    assert.equal(upload.status, 202)
    const { job_id: jobId, received } = (await upload.json()) as { job_id: string; received: number }
    ended.push(jobId)
    assert.equal(received, LINES)
    let current = 0
    const look = async () => {
      const job = await readJob(instance, jobId)
      if (job === undefined) return undefined
      assert.ok(job.progress_current >= current, `progress went back from ${current} to ${job.progress_current}`)
      assert.ok(job.progress_current <= job.progress_total)
      current = job.progress_current
      return job
    }
    let target = 0
    for (const victim of VICTIMS) {
      target += LINES / 10
      await until(async () => (await look()) && (current >= target || current === LINES))
      instance.kill(victim)
    }
    await until(async () => (await look()) && current >= target)
    await instance.restart()
    const job = await until(async () => {
      const found = await look()
      return found?.status === 'completed' ? found : undefined
    })
    const { errors, rejected_reasons: reasons, ...counts } = job.result_summary!
    assert.deepEqual(counts, EXPECTED)
    // Each line once; only chunks that were fed twice would add more.
    assert.equal(
      reasons!.reduce((sum, { count }) => sum + count, 0),
      EXPECTED.rejected,
    )
    assert.equal(errors.length, 100)
    assert.deepEqual(errors[0]!.line, 2)
    // Completed means that every event can be queried.
    const ofJob = `FROM events WHERE job_id = '${jobId}'`
    assert.equal(
      await instance.query(`SELECT count(), uniqExact(event_id), any(lane) ${ofJob}`),
      `${STORED}\t${STORED}\tbatch`,
    )
    const stored = STORED + 2 * TENTH
    assert.equal(await instance.query('SELECT count(), uniqExact(event_id) FROM events'), `${stored}\t${stored}`)
    assert.equal(await instance.query('SELECT sum(events) FROM accounts'), String(stored))
    assert.equal(await instance.query(`SELECT properties ${ofJob} AND event_id = 'e6'`), '{"n":6.0}')
    await until(async () => Number(await instance.query(TOTAL)) >= EVENTS + LINES)
    assert.equal(await instance.query(outcomesOf('batch')), BATCH_OUTCOMES)
    assert.equal(await instance.query(outcomesOf('live')), LIVE_OUTCOMES)
    assert.equal(await instance.query(TOTAL), String(EVENTS + LINES))
  })

  await step('an interrupted upload, or one that loses its ingress, leaves no key and frees its place', async (t) => {
    await brokenUploads(t, instance, ended)
  })
  assert.equal(await instance.stop(), 0)
})

async function brokenUploads(t: TestContext, instance: TestInstance, ended: string[]): Promise<void> {
  const redis = new Redis({ path: instance.ready.redis_url.replace('unix://', ''), retryStrategy: () => 50 })
  redis.on('error', () => {})
  t.after(() => redis.disconnect())
  /** The record of an ended job, and the lists that contain it, stay for days. */
  const mayStay = (name: string) =>
    ended.length > 0 && (/^\{batch\}:(of|ended|rejected)/.test(name) || ended.some((id) => name.includes(id)))
  const uploadKeys = async () =>
    (await redis.keys('*')).filter(
      (name) => /^\{(job:|batch\})|:job:/.test(name) && name !== keys.strayProgressTurn() && !mayStay(name),
    )
  /** The place of the last job is given back a moment after its end: until then an upload is answered with 429. */
  const beginUpload = () =>
    until(async () => {
      const { hostname, port } = new URL(instance.ready.url)
      const socket = connect(Number(port), hostname)
      let refused = false
      for (const event of ['data', 'error', 'close']) socket.on(event, () => (refused = true))
      socket.write(
        `POST /v1/ingest/batch HTTP/1.1\r\nhost: x\r\nx-api-key: ${instance.apiKey}\r\ncontent-length: 50000000\r\n\r\n`,
      )
      socket.write(Buffer.alloc(2_000_000, '{"ip":"17.0.0.1"}\n'))
      const begun = async () => (await uploadKeys()).some((name) => name.endsWith(':chunks'))
      await until(async () => refused || (await begun()))
      if (!refused) return socket
      socket.destroy()
      return undefined
    })
  const uploadNext = async () => {
    const answer = await until(async () => {
      const tried = await instance.post('/v1/ingest/batch', '{"ip":"17.0.0.1","event_id":"a"}\n').catch(() => undefined)
      const text = await tried?.text()
      return tried?.status === 202 ? text : undefined
    })
    const { job_id: jobId } = JSON.parse(answer) as { job_id: string }
    ended.push(jobId)
    await until(async () => (await readJob(instance, jobId))?.status === 'completed')
  }
  const first = await beginUpload()
  first.destroy()
  await until(async () => (await uploadKeys()).length === 0)
  await uploadNext()

  const second = await beginUpload()
  instance.kill('ipid ingress')
  second.destroy()
  await uploadNext()
  // The job reports that it is completed, then its chunks go.
  await until(
    () => redis.keys('{job:*:chunk*'),
    (names) => names.length === 0,
  )
}
