import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { startInstance } from '../support/instance.ts'
import { quiet } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

const WORKER = 'ipid process,sink'
const MB = 1_048_576

/** Takes about 30 KB in Redis. */
const event = (id: string) => ({
  ip: '17.0.0.1',
  event_id: id,
  properties: { noise: randomBytes(15_000).toString('hex') },
})

test('started above maxmemory, workers and sinks drain the backlog, and intake opens again', async (t) => {
  const redis = await startTestRedis(t)
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop', timeoutMs: 5_000 }))
  t.after(() => client.disconnect())
  const instance = await startInstance(t, { REDIS_URL: redis.url, SINK_LINGER_MS: '100' })
  assert.doesNotMatch(instance.stderr(), /append-only|evicts/)
  const job = async () => {
    const answer = await fetch(`${instance.ready.url}/v1/ingest/batch/${jobId}`, {
      headers: { 'x-api-key': instance.apiKey },
    })
    return ((await answer.json()) as { status: string }).status
  }
  for (const pid of instance.pids().others) {
    if (readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(WORKER)) process.kill(pid, 'SIGSTOP')
  }
  for (let request = 0; request < 40; request++) {
    const events = Array.from({ length: 10 }, (_, i) => event(`live ${request} ${i}`))
    assert.equal((await instance.post('/v1/ingest', { events })).status, 200)
  }
  const lines = Array.from({ length: 400 }, (_, i) => `${JSON.stringify(event(`batch ${i}`))}\n`).join('')
  const type = { 'content-type': 'application/x-ndjson' }
  const upload = await instance.post('/v1/ingest/batch', lines, type)
  assert.equal(upload.status, 202)
  const { job_id: jobId } = (await upload.json()) as { job_id: string }

  const used = Number(/^used_memory:(\d+)/m.exec(await client.info('memory'))?.[1])
  assert.ok(used > 20 * MB)
  await client.config('SET', 'maxmemory', String(10 * MB))
  await assert.rejects(client.set('refused', '1'), /OOM/)
  await instance.restart()
  const refused = await instance.post('/v1/ingest', { events: [{ ip: '17.0.0.1' }] })
  assert.ok([200, 429].includes(refused.status), `${refused.status}`)

  await until(async () => Number(await instance.query("SELECT count() FROM events WHERE event_id != ''")) >= 800)
  await until(async () => (await job()) === 'completed')
  await until(async () => {
    const answer = await instance.post('/v1/ingest', { events: [{ ip: '17.0.0.1', event_id: 'after' }] })
    return answer.status === 200
  })
  const stored = "SELECT uniqExact(event_id), count() FROM events WHERE event_id LIKE 'live%' OR event_id LIKE 'batch%'"
  assert.equal(await instance.query(stored), '800\t800')
})
