import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { Redis } from 'ioredis'
import type { BatchJob } from '../../schemas/api/batch.ts'
import { startInstance, type TestInstance, VICTIMS } from '../support/instance.ts'
import { until } from '../support/until.ts'

const LINES = 30_000

/** Lines of every kind; the counts that they must lead to are in `EXPECTED`. */
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
  invalid_ip: HUNDREDS,
  duplicates: HUNDREDS,
}
const OUTCOMES = [
  `duplicates\t\tbusiness\t${HUNDREDS}`,
  `filtered\t\tcloud\t${HUNDREDS}`,
  `invalid_ip\t\t\t${HUNDREDS}`,
  `rejected\tnot JSON\t\t${HUNDREDS}`,
  `stored\t\t\t${STORED}`,
].join('\n')

async function readJob(instance: TestInstance, jobId: string): Promise<BatchJob | undefined> {
  const headers = { 'x-api-key': instance.apiKey }
  const answer = await fetch(`${instance.ready.url}/v1/ingest/batch/${jobId}`, { headers }).catch(() => undefined)
  if (answer?.status !== 200) {
    await answer?.arrayBuffer()
    return undefined
  }
  return (await answer.json()) as BatchJob
}

test('every process killed again and again while a job runs: it completes with exact counts, nothing twice', async (t) => {
  const instance = await startInstance(t)
  const body = Array.from({ length: LINES }, (_, n) => lineOf(n)).join('\n')
  const upload = await instance.post('/v1/ingest/batch', body)
  assert.equal(upload.status, 202)
  const { job_id: jobId, received } = (await upload.json()) as { job_id: string; received: number }
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
  // Each line once, and only those of chunks that were fed twice would be more.
  assert.equal(
    reasons!.reduce((sum, { count }) => sum + count, 0),
    EXPECTED.rejected,
  )
  assert.equal(errors.length, 100)
  assert.deepEqual(errors[0]!.line, 2)
  // Completed means that every event can be queried.
  assert.equal(await instance.query('SELECT count(), uniqExact(event_id) FROM events'), `${STORED}\t${STORED}`)
  assert.equal(await instance.query('SELECT sum(events) FROM accounts'), String(STORED))
  assert.equal(await instance.query("SELECT properties FROM events WHERE event_id = 'e6'"), '{"n":6.0}')
  const outcomes = `SELECT status, reason, if(status = 'stored', '', classification), sum(events) FROM daily_outcomes
    WHERE tenant_id = 'demo' AND lane = 'batch' GROUP BY ALL ORDER BY ALL`
  const total = `SELECT sum(events) FROM daily_outcomes`
  await until(async () => Number(await instance.query(total)) >= LINES)
  assert.equal(await instance.query(outcomes), OUTCOMES)
  assert.equal(await instance.query(total), String(LINES))
  const ofJob = await instance.query(
    `SELECT count(), uniqExact(job_id), any(lane) FROM events WHERE job_id = '${jobId}'`,
  )
  assert.equal(ofJob, `${STORED}\t1\tbatch`)
})

test('an upload that breaks off, or loses its ingress, leaves no key behind, and its place is free again', async (t) => {
  const instance = await startInstance(t, { BATCH_QUEUE_LIMIT: '1' })
  const redis = new Redis({ path: instance.ready.redis_url.replace('unix://', ''), retryStrategy: () => 50 })
  redis.on('error', () => {})
  t.after(() => redis.disconnect())
  const ended: string[] = []
  /** The record of a job that has ended, and the lists that it stands in, stay for days. */
  const mayStay = (name: string) =>
    ended.length > 0 && (/^\{batch\}:(of|ended)/.test(name) || ended.some((id) => name.includes(id)))
  const uploadKeys = async () =>
    (await redis.keys('*')).filter((name) => /^\{(job:|batch\})|:job:/.test(name) && !mayStay(name))
  /** The place of the job before is given back a moment behind its end: until then an upload is answered, with 429. */
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
  // The job says that it is completed, then its chunks go.
  await until(
    () => redis.keys('{job:*:chunk*'),
    (names) => names.length === 0,
  )
})
