import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Redis } from 'ioredis'
import { ingest } from '../../pipelines/ingest.ts'
import { readStatus } from '../../src/pipeline/streams/status.ts'
import { S3Store } from '../../src/stores/objects/s3-store.ts'
import { readArchive } from '../support/archive.ts'
import { startInstance, type TestInstance, type VICTIMS } from '../support/instance.ts'
import { S3_ENVIRONMENT, startTestS3 } from '../support/s3.ts'
import { TestSite } from '../support/site.ts'
import { until } from '../support/until.ts'

const EVENTS = 3_000
const LINES = 3_000
const PER_REQUEST = 50

interface Progress {
  sent: number
  /** Numbers of the requests that were answered 200. */
  readonly confirmed: Set<number>
}

/** An event of every kind; its request and its place in it make it unique. */
function eventOf(request: number, i: number): Record<string, unknown> {
  const n = request * PER_REQUEST + i
  const ip = n % 10 === 1 ? 'nowhere' : `${n % 10 === 2 ? 3 : 17}.1.${n % 200}.1`
  const id = n % 10 === 3 ? {} : { event_id: `e${n % 10 === 4 ? n - 4 : n}` }
  return { ip, ...id, request, i, properties: { text: `\u00e9 "${n}"\n`, list: [n, null, { deep: true }] } }
}

/** Sends events, and a failed request again under another number, until all are confirmed. */
async function sendAll(instance: TestInstance, progress: Progress): Promise<void> {
  let request = 0
  const send = async () => {
    while (progress.sent < EVENTS) {
      const number = request++
      const events = Array.from({ length: PER_REQUEST }, (_, i) => eventOf(number, i))
      const answer = await instance.post('/v1/ingest', { events }).catch(() => undefined)
      await answer?.arrayBuffer().catch(() => undefined)
      if (answer?.status !== 200) continue
      progress.confirmed.add(number)
      progress.sent += PER_REQUEST
    }
  }
  await Promise.all([send(), send(), send(), send()])
}

test('archiver, Redis and object store killed: each payload is archived exactly once, unchanged', async (t) => {
  const s3 = await startTestS3(t)
  const instance = await startInstance(t, {
    ...S3_ENVIRONMENT,
    ARCHIVE_URL: `s3://${s3.bucket}/raw?endpoint=${s3.endpoint}`,
    ARCHIVE_PART_AGE_MS: '500',
    ARCHIVE_PART_BYTES: '256kb',
  })
  Object.assign(process.env, S3_ENVIRONMENT)
  const store = new S3Store({ bucket: s3.bucket, endpoint: s3.endpoint, prefix: 'raw', region: undefined })
  t.after(() => store.close())
  const redis = new Redis({ path: instance.ready.redis_url.replace('unix://', ''), retryStrategy: () => 50 })
  redis.on('error', () => {})
  t.after(() => redis.disconnect())
  const site = new TestSite(t, { DATA_DIR: instance.dataDir })
  assert.equal((await site.ipid('tenant', 'set', 'demo', '--archive', 'on')).code, 0)
  const lines = Array.from({ length: LINES }, (_, line) => ({
    ip: `17.0.0.${line % 250}`,
    line,
    text: 'x'.repeat(line % 50),
  }))
  const upload = await instance.post('/v1/ingest/batch', lines.map((line) => JSON.stringify(line)).join('\n'))
  assert.equal(upload.status, 202)
  const { job_id: jobId } = (await upload.json()) as { job_id: string }

  const progress: Progress = { sent: 0, confirmed: new Set() }
  const sending = sendAll(instance, progress)
  // One that was killed a moment ago may not be back yet.
  const kill = (victim: (typeof VICTIMS)[number]) => until(() => [instance.kill(victim)], Boolean)
  const reach = (share: number) => until(() => progress.sent >= EVENTS * share)
  await reach(0.1)
  await kill('ipid process,sink')
  await reach(0.3)
  await s3.kill()
  await reach(0.5)
  await kill('redis-server')
  await reach(0.6)
  await s3.restart()
  await until(() => anyPart(store))
  await kill('ipid process,sink')
  await reach(0.8)
  await s3.kill()
  await s3.restart()
  await sending
  await kill('redis-server')
  await kill('ipid process,sink')

  await until(
    async () => {
      const { streams } = await readStatus(redis, ingest)
      const groups = streams.filter(({ group }) => group === 'archive')
      return groups.length > 0 && groups.every(({ waiting_events }) => waiting_events === 0)
    },
    (drained) => drained,
  )
  const parts = await readArchive(store)
  const sent = parts.flatMap(({ location, events }) =>
    location.source === 'ingest' ? events.map((event) => event.sent) : [],
  )
  const requests = new Map<number, Record<string, unknown>[]>()
  for (const event of sent)
    requests.set(event.request as number, [...(requests.get(event.request as number) ?? []), event])
  for (const number of progress.confirmed) assert.ok(requests.has(number), `request ${number} is not lost`)
  for (const [number, events] of requests) {
    // An unconfirmed one is archived as a whole, or not at all.
    const expected = Array.from({ length: PER_REQUEST }, (_, i) => eventOf(number, i))
    assert.deepEqual(
      events.sort((a, b) => (a.i as number) - (b.i as number)),
      expected,
    )
  }
  const ofJob = parts.filter(({ location }) => location.source === 'batch')
  assert.deepEqual([...new Set(ofJob.map(({ location }) => location.run))], [jobId])
  const archived = ofJob.flatMap(({ events }) => events.map((event) => event.sent))
  assert.deepEqual(
    archived.sort((a, b) => (a.line as number) - (b.line as number)),
    lines,
  )
  const entries = parts.flatMap(({ location, index }) =>
    index.entries.map(([n, id]) => `${location.source} ${n} ${id}`),
  )
  assert.equal(new Set(entries).size, entries.length, 'no entry is in two parts')
  assert.equal(await instance.stop(), 0)
})

async function anyPart(store: S3Store): Promise<boolean> {
  for await (const _ of store.list('tenant=')) return true
  return false
}
