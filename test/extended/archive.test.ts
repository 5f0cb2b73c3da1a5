import assert from 'node:assert/strict'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { Redis } from 'ioredis'
import { ingest } from '../../pipelines/ingest.ts'
import type { PipelineStatus } from '../../src/pipeline/declaration/status.ts'
import { readStatus } from '../../src/pipeline/streams/status.ts'
import { FolderStore } from '../../src/stores/objects/folder-store.ts'
import { readArchive } from '../support/archive.ts'
import { TestSite } from '../support/site.ts'
import { until } from '../support/until.ts'

const BUSINESS = '17.253.144.10'

/** Events that may wait for the archive: half of high water. */
const ARCHIVE_EVENTS_MAX = 5_000

test('the archive of a tenant holds its events as sent; tenants without one store nothing there', async (t) => {
  const site = new TestSite(t, { ARCHIVE_PART_AGE_MS: '200', INTAKE_HIGH_WATER_EVENTS: `${2 * ARCHIVE_EVENTS_MAX}` })
  const run = site.start()
  const ready = await run.ready()
  const redis = new Redis({ path: ready.redis_url.replace('unix://', '') })
  redis.on('error', () => {})
  t.after(() => redis.disconnect())
  const folder = join(site.dir, 'archive')
  const store = new FolderStore(folder)
  const headers = { 'x-api-key': ready.api_key!, 'content-type': 'application/json' }
  const post = async (path: string, body: string) => {
    const answer = await fetch(`${ready.url}${path}`, { method: 'POST', headers, body })
    const text = await answer.text()
    assert.ok(answer.ok, text)
    return JSON.parse(text)
  }
  const setArchive = async (value: 'on' | 'off') => {
    const { code, stderr } = await site.ipid('tenant', 'set', 'demo', '--archive', value)
    assert.equal(code, 0, stderr)
  }
  const isProbe = ({ eventId }: { eventId: string }) => eventId.startsWith('probe')
  const archived = async () =>
    (await readArchive(store)).flatMap(({ events }) => events).filter((event) => !isProbe(event))
  const waiting = ({ streams }: PipelineStatus) => {
    const groups = streams.filter(({ group }) => group === 'archive')
    assert.equal(groups.length, 8, 'four partitions, two lanes')
    return sumOf(groups)
  }
  const waitingElsewhere = ({ streams }: PipelineStatus) => sumOf(streams.filter(({ group }) => group !== 'archive'))
  const added = async () => {
    const keys = await redis.keys('{p*}:archive*')
    const infos = await Promise.all(keys.map((key) => redis.xinfo('STREAM', key) as Promise<unknown[]>))
    return infos.reduce<number>((sum, info) => sum + Number(info[info.indexOf('entries-added') + 1]), 0)
  }

  await post('/v1/ingest', `{"events":[{"ip":"${BUSINESS}","event_id":"before"},{"ip":"nowhere"}]}`)
  await post('/v1/ingest/batch', `{"ip":"${BUSINESS}","event_id":"before2"}\n`)
  assert.equal(await added(), 0)

  await setArchive('on')
  // The ingress learns of it a moment later.
  await until(async () => {
    await post('/v1/ingest', `{"events":[{"ip":"${BUSINESS}","event_id":"probe"}]}`)
    return (await added()) > 0
  })
  const events = [
    `{"ip":"${BUSINESS}","event_id":"a","n":1.0,"properties":{"x":[1,{"y":null}]},"_status":"mine"}`,
    `{\n  "ip": "10.0.0.1",\n  "event_id": "b"\n}`,
    '{"ip":"nowhere","event_id":"c"}',
    `{"ip":"${BUSINESS}","event_id":"a"}`,
    `{"ip":"${BUSINESS}"}`,
  ]
  const { results } = await post('/v1/ingest', `{"events":[${events.join(',')}]}`)
  const lines = [`{"ip":"${BUSINESS}","event_id":"d","x":"é\\n"}`, 'bad', '{"ip":"10.0.0.1"}', '{"ip":"none","k":1}']
  const { job_id } = await post('/v1/ingest/batch', lines.join('\n'))
  const sent = [...events, lines[0]!, lines[2]!, lines[3]!].map((text) => JSON.parse(text))
  await until(async () => (await archived()).length >= sent.length)

  const parts = await readArchive(store)
  const all = parts.flatMap((part) => part.events).filter((event) => !isProbe(event))
  assert.deepEqual(multiset(all.map((event) => event.sent)), multiset(sent))
  const statuses = all.map(({ eventId, status }) => `${eventId} ${status}`)
  const texts = results.map(({ event_id, status }: { event_id: string; status: string }) => `${event_id} ${status}`)
  for (const one of texts) assert.ok(statuses.includes(one), one)
  const ofJob = parts.filter(({ location }) => location.source === 'batch')
  assert.deepEqual([...new Set(ofJob.map(({ location }) => location.run))], [job_id])
  assert.deepEqual(ofJob.flatMap((part) => part.events.map(({ status }) => status)).sort(), [
    'filtered',
    'invalid_ip',
    'ok',
  ])
  for (const { location, events: held, index } of parts) {
    assert.equal(location.tenantId, 'demo')
    for (const { receivedAt } of held) assert.equal(location.day, receivedAt.slice(0, 10))
    if (location.source === 'ingest') assert.equal(location.run, held[0]!.receivedAt.slice(0, 13))
    for (const [, , commit] of index.entries) {
      assert.match(commit, location.source === 'batch' ? new RegExp(`^${job_id}:1$`) : /^[0-9a-f]{16}:\d+$/)
    }
  }
  await until(async () => waiting(await readStatus(redis, ingest)) === 0)

  // The folder is missing: intake continues, and the backlog is reported.
  await rename(folder, `${folder}-away`)
  await writeFile(folder, 'not a folder')
  const more: string[] = []
  const postMore = async (count = 100) => {
    const events = Array.from({ length: count }, (_, i) => `{"ip":"${BUSINESS}","event_id":"m${more.length + i}"}`)
    const answer = await fetch(`${ready.url}/v1/ingest`, {
      method: 'POST',
      headers,
      body: `{"events":[${events.join()}]}`,
    })
    if (answer.status === 200) more.push(...events)
    return { status: answer.status, text: await answer.text() }
  }
  for (let i = 0; i < 3; i++) assert.equal((await postMore()).status, 200)
  await until(() => run.stderr().includes('sink waits'))
  assert.equal(waiting(JSON.parse((await site.ipid('status', '--json')).stdout)), 300)
  // A backlog that is too large is refused, nothing is lost, and a tenant without an archive is served.
  while (more.length < ARCHIVE_EVENTS_MAX) assert.equal((await postMore()).status, 200)
  // Only the archive backlog may be too large, however slowly the gate reads it.
  await until(async () => waitingElsewhere(await readStatus(redis, ingest)) === 0)
  const refused = await until(async () => [await postMore(1)].find(({ status }) => status !== 200))
  assert.equal(refused.status, 429)
  assert.match(refused.text, /too many events wait for the archive/)
  assert.equal(waiting(await readStatus(redis, ingest)), more.length)
  await site.ipid('tenant', 'create', 'other')
  const { key } = JSON.parse((await site.ipid('key', 'create', 'other', '--json')).stdout)
  const served = await fetch(`${ready.url}/v1/ingest`, {
    method: 'POST',
    headers: { ...headers, 'x-api-key': key },
    body: `{"events":[{"ip":"${BUSINESS}"}]}`,
  })
  assert.equal(served.status, 200, await served.text())
  // Events in flight are archived, though the tenant has no archive any more.
  await setArchive('off')
  await post('/v1/ingest', `{"events":[{"ip":"${BUSINESS}","event_id":"after"}]}`)
  await rm(folder)
  await rename(`${folder}-away`, folder)
  await until(async () => waiting(await readStatus(redis, ingest)) === 0)
  const expected = [...sent, ...more.map((text) => JSON.parse(text))]
  assert.deepEqual(multiset((await archived()).map((event) => event.sent)), multiset(expected))

  run.child.kill('SIGTERM')
  assert.equal((await run.ended).code, 0)
})

function sumOf(groups: PipelineStatus['streams']): number {
  return groups.reduce((sum, { waiting_events }) => sum + waiting_events, 0)
}

/** Values with their counts, whatever the order of their keys. */
function multiset(values: readonly object[]): string[] {
  return values.map((value) => JSON.stringify(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))).sort()
}
