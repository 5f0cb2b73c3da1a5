import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startRoles } from '../support/roles.ts'
import { until } from '../support/until.ts'

/*
 * The worked examples of pipelines/README.md: a source, a stage and a sink are each one file and one changed line.
 */

const onHost = (host: string) => ({ properties: { host } })

test('a new stage works for live events and batch jobs, with its own drop reason', async (t) => {
  const roles = await startRoles(t, new URL('./staging-pipeline.ts', import.meta.url).href)
  const live = await roles.post('/v1/ingest', {
    events: [
      { ip: '17.0.0.1', event_id: 'live visitor', ...onHost('www.example.com') },
      { ip: '17.0.0.1', event_id: 'live staging', ...onHost('staging.example.com') },
      { ip: '3.0.0.1', event_id: 'live cloud', ...onHost('staging.example.com') },
    ],
  })
  assert.equal(live.status, 200)
  const lines = Array.from({ length: 1_000 }, (_, i) => {
    const host = i % 4 === 0 ? 'preview.example.com' : 'www.example.com'
    return JSON.stringify({ ip: `17.0.${i % 9}.1`, event_id: `e${i % 900}`, ...onHost(host) })
  })
  const id = await roles.upload(lines)
  const job = await until(async () => {
    const found = await roles.job(id)
    return found?.status === 'completed' ? found : undefined
  })
  assert.deepEqual(job.result_summary, {
    processed: 1_000,
    valid_ips: 1_000,
    identified_ips: 1_000,
    rejected: 0,
    invalid_ip: 0,
    filtered: 0,
    staging: 250,
    duplicates: 75,
    errors: [],
    rejected_reasons: [],
  })
  const stored = await until(async () => {
    const rows = await roles.clickhouse.rows<{ event_id: string }>('SELECT event_id FROM events')
    return rows.length >= 676 ? rows : undefined
  })
  assert.equal(stored.length, 676)
  assert.ok(stored.some(({ event_id }) => event_id === 'live visitor'))
  const dropped = (outcome: string) => roles.counter('ipid_pipeline_events_total', { outcome })
  assert.deepEqual([await dropped('staging'), await dropped('filtered'), await dropped('duplicates')], [251, 1, 75])
})

test('a new source and a new sink keep every event once after kill -9, and delay no job', async (t) => {
  const module = new URL('./source-and-sink-pipeline.ts', import.meta.url).href
  const roles = await startRoles(t, module, (dir) => ({ COPY_DIR: join(dir, 'copies'), VISITOR_PLATFORM: 'lobby' }))
  const copies = join(roles.dir, 'copies')
  mkdirSync(copies, { recursive: true })
  const closed = join(copies, 'closed')
  writeFileSync(closed, '')
  const count = 10_000
  const lines = Array.from({ length: count }, (_, i) => `{"ip":"17.0.${i % 99}.1","event_id":"e${i}"}`)
  const id = await roles.upload(lines)
  await until(async () => ((await roles.job(id))?.progress_current ?? 0) > count / 10)
  const visit = (i: number) => ({
    visitor: { address: '17.0.0.1', at: '2026-11-22T08:00:00Z', door: i },
    what: 'bell',
    id: `v${i}`,
  })
  const visits = Array.from({ length: 20 }, (_, i) => visit(i))
  /** As a tool without an answer does: it sends the same again. */
  const send = (body: object) =>
    until(async () => {
      const answer = await roles.post('/visitor', body).catch(() => undefined)
      return answer?.status === 200 ? answer.json() : undefined
    })
  await Promise.all(visits.slice(0, 10).map(send))
  roles.killWorker()
  const late = visits.map(send)
  roles.killIngress()
  assert.deepEqual(
    await Promise.all(late),
    visits.map(() => ({ taken: true })),
  )
  await until(async () => (await roles.job(id))?.status === 'completed')
  const ofVisits = `SELECT count() AS n, uniqExact(event_id) AS ids, any(business_name) AS name, any(toString(timestamp)) AS at,
    sum(JSONExtractInt(properties, 'door')) AS doors FROM events WHERE event_type = 'bell' AND platform = 'lobby'`
  const found = await until(
    () => roles.clickhouse.rows<{ n: number }>(ofVisits),
    ([row]) => row!.n >= visits.length,
  )
  const at = '2026-11-22 08:00:00.000'
  assert.deepEqual(found, [{ n: 20, ids: 20, name: 'Example Fruit', at, doors: 190 }])
  const stored = count + visits.length
  assert.deepEqual(await roles.clickhouse.rows('SELECT count() AS n, uniqExact(event_id) AS ids FROM events'), [
    { n: stored, ids: stored },
  ])
  rmSync(closed)
  await until(() => copied(copies).length > count / 10)
  roles.killWorker()
  const lastCopies = await until(
    () => copied(copies),
    (lines) => lines.length >= stored,
  )
  const events = lastCopies.map((line) => JSON.parse(line) as Record<string, unknown>)
  assert.deepEqual([events.length, new Set(events.map((event) => event.event_id)).size], [stored, stored])
  const { session_id, timestamp, asn, quality } = events.find((event) => event.event_id === 'v0')!
  assert.deepEqual([session_id, timestamp, asn, typeof quality], [null, '2026-11-22T08:00:00.000Z', 0, 'number'])
})

function copied(dir: string): string[] {
  const files = readdirSync(dir).filter((name) => name.endsWith('.ndjson'))
  return files.flatMap((name) => readFileSync(join(dir, name), 'utf8').trimEnd().split('\n'))
}
