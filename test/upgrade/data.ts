import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BatchAccepted, BatchJob } from '../../schemas/api/batch.ts'
import { Random } from '../../src/run/random.ts'
import { bodyOf } from '../chaos/run/events.ts'
import { judgeStored } from '../chaos/run/judge.ts'
import { Ledger } from '../chaos/run/ledger.ts'
import { Load, post, summaryOf, UPLOAD_LINES } from '../chaos/run/load.ts'
import { followLink } from '../support/dashboard.ts'
import { fetchClickHouse } from '../support/fetch-clickhouse.ts'
import { Machine, type Started } from '../support/machine.ts'
import { stepsOf } from '../support/steps.ts'
import { until } from '../support/until.ts'
import { lastRelease, THIS_VERSION } from './released.ts'

const SEED = 7
/** For work in the background of a busy machine. */
const SLOW_MS = 300_000
const RATE = 10
/** Live events to have before something happens. */
const LIVE_EVENTS = 600
const JOB_LINES = 100_000
/** Numbers of events that the load does not use. */
const JOB_FIRST = 1_000_000
const OPEN_FIRST = 2_000_000
const POISON = 5
/** These events are queued after those of the job. */
const STORED_WITHIN_MS = 300_000
const TODAY = new Date().toISOString().slice(0, 10)

const released = await lastRelease()
const skip = typeof released === 'string' ? released : false

test('data of the last release: nothing is lost or doubled by the upgrade, nor on the way back', {
  skip,
}, async (t) => {
  const old = released as Exclude<typeof released, string>
  const step = stepsOf(t)
  const machine = await Machine.create(t, { ARCHIVE_PART_AGE_MS: '500' })
  let ready: Started
  let ledger: Ledger
  let load: Load
  let loading: Promise<unknown> = Promise.resolve()
  let lettersKey: string
  let cookie: { origin: string; cookie: string }
  t.after(async () => {
    load?.abandon()
    await machine.kill()
  })

  const sql = async (query: string) => {
    const answer = await fetchClickHouse(ready.tables_url, { database: 'ipid' }, { body: query })
    const text = await answer.text()
    assert.ok(answer.ok, text)
    return text.trim()
  }
  /** Above all numbers that the load has used. */
  const nextFirst = () => UPLOAD_LINES * Math.ceil(ledger.received.all.attempted / UPLOAD_LINES)
  const begin = (withUploads = true) => {
    load = new Load({ urls: () => [ready.url], ledger, random: new Random(SEED), rate: RATE, first: nextFirst() })
    loading = Promise.all([load.sendLive(), ...(withUploads ? [load.upload()] : [])])
  }
  const more = async () => {
    const before = ledger.received.all.answered
    await until(() => ledger.received.all.answered >= before + LIVE_EVENTS)
  }
  const letters = async (version = THIS_VERSION) =>
    (JSON.parse(await machine.ipid(version, 'dead-letter', 'list', '--json')) as { letters: { event: string }[] })
      .letters
  const judge = async () => {
    const { stored, ...rest } = await judgeStored(
      { url: ready.url, redisUrl: ready.redis_url, clickhouseUrl: ready.tables_url },
      [ledger],
    )
    assert.deepEqual(rest, { lost: 0, doubled: 0, wrong: 0, examples: [] })
    t.diagnostic(`${stored} events, each stored once`)
  }

  await step('the release works: archive, source, dead letters, a session, live events and uploads', async () => {
    ready = await machine.start(old)
    await machine.ipid(old, 'tenant', 'set', 'demo', '--archive', 'on')
    const source = JSON.parse(await machine.ipid(old, 'source', 'create', 'demo', 'http', '--json'))
    ledger = new Ledger('demo', ready.api_key!, source.key)
    const { origin } = new URL(ready.dashboard_url)
    cookie = { origin, cookie: (await followLink(ready.dashboard_url)).cookie }

    await machine.ipid(old, 'tenant', 'create', 'letters', '--plan', 'custom')
    lettersKey = JSON.parse(await machine.ipid(old, 'key', 'create', 'letters', '--json')).key
    // ClickHouse cannot compute this column for some events.
    await sql("ALTER TABLE events ADD COLUMN poison UInt8 MATERIALIZED toUInt8(if(event_type = 'poison', 'no', '1'))")
    const events = Array.from({ length: POISON }, (_, i) => ({
      ip: '17.0.0.1',
      event_id: `p${i}`,
      event_type: 'poison',
    }))
    const answer = await post(`${ready.url}/v1/ingest`, { 'x-api-key': lettersKey }, JSON.stringify({ events }))
    assert.equal('status' in answer && answer.status, 200)
    await until(
      () => letters(old),
      (found) => found.length === POISON,
    )
    // Open jobs of the load would leave no place for those of the next step.
    begin(false)
    await more()
  })

  await step('kill -9 amid ingest, a job that is being fed, and an upload that is not answered', async () => {
    const keys = Array.from({ length: JOB_LINES }, (_, i) => `batch-${JOB_FIRST + i}`)
    const group = { keys, answered: true }
    ledger.groups.push(group)
    ledger.attempt(keys)
    const headers = { 'x-api-key': ledger.apiKey, 'content-type': 'application/x-ndjson' }
    const body = keys.map((key) => JSON.stringify(bodyOf(key, true))).join('\n')
    const answer = await fetch(`${ready.url}/v1/ingest/batch`, { method: 'POST', headers, body })
    assert.equal(answer.status, 202)
    const { job_id: id } = (await answer.json()) as BatchAccepted
    ledger.answered(keys)
    ledger.jobs.push({ id, expected: summaryOf(JOB_FIRST, JOB_LINES) })
    // Half of a body; its end never comes.
    const open = Array.from({ length: 5_000 }, (_, i) => `batch-${OPEN_FIRST + i}`)
    ledger.groups.push({ keys: open, answered: false })
    ledger.attempt(open)
    const half = new ReadableStream({
      start: (controller) => {
        controller.enqueue(Buffer.from(open.map((key) => `${JSON.stringify(bodyOf(key, true))}\n`).join('')))
      },
    })
    const request = { method: 'POST', headers, body: half, duplex: 'half' } as RequestInit
    const unanswered = fetch(`${ready.url}/v1/ingest/batch`, request).then(
      () => 'answered',
      () => 'cut',
    )
    const read = async () => (await (await fetch(`${ready.url}/v1/ingest/batch/${id}`, { headers })).json()) as BatchJob
    const job = await until(read, ({ status }) => status !== 'queued')
    await machine.kill()
    assert.equal(job.status, 'running')
    assert.equal(await unanswered, 'cut')
  })

  await step('this version starts on the same data, and ingest continues', async () => {
    ready = await machine.start(THIS_VERSION)
    await more()
    const stored = JSON.parse(await machine.ipid(THIS_VERSION, 'version', '--json'))
    assert.equal(stored.forms.clickhouse.stored.by, THIS_VERSION.name)
    assert.equal(stored.forms.redis.stored.by, THIS_VERSION.name)
  })

  await step('repeats of events of the release are repeats', async () => {
    const first = ledger.sure.slice(0, 200)
    for (let i = 0; i < first.length; i += 20) {
      const keys = first.slice(i, i + 20)
      ledger.attempt(keys)
      const body = JSON.stringify({ events: keys.map((key) => bodyOf(key, true)) })
      const answer = await post(`${ready.url}/v1/ingest`, { 'x-api-key': ledger.apiKey }, body)
      assert.equal('status' in answer && answer.status, 200)
      ledger.answered(keys)
    }
  })

  await step('dead letters of the release are listed and retried', async () => {
    load.stop()
    await loading
    assert.equal((await letters()).length, POISON)
    await sql('ALTER TABLE events DROP COLUMN poison')
    await machine.ipid(THIS_VERSION, 'dead-letter', 'retry', '--all')
    const rows = "SELECT count(), uniqExact(event_id) FROM events WHERE tenant_id = 'letters'"
    await until(
      () => sql(rows),
      (text) => text === `${POISON}\t${POISON}`,
      STORED_WITHIN_MS,
    )
    assert.deepEqual(await letters(), [])
  })

  await step('a session of the release stays signed in, and a link signs in', async () => {
    const answer = await fetch(`${cookie.origin}/api/session`, { headers: { cookie: cookie.cookie } })
    assert.equal(answer.status, 200)
    const link = (await machine.ipid(THIS_VERSION, 'dashboard')).trim()
    await followLink(link)
  })

  await step('the job ends, and every event is stored once', async () => {
    await judge()
  })

  await step('a replay from the archive, which both versions wrote, brings lost events back', async () => {
    const before = await sql("SELECT count() FROM events WHERE tenant_id = 'demo'")
    await until(async () => {
      const dry = await machine.ipid(
        THIS_VERSION,
        'replay',
        '--tenant',
        'demo',
        '--from',
        TODAY,
        '--to',
        tomorrow(),
        '--dry-run',
      )
      return /^lost.* 0$/m.test(dry)
    })
    // ClickHouse cannot delete in a part while the column that was dropped is still being removed from it.
    await until(
      () => sql('SELECT count() FROM system.mutations WHERE NOT is_done'),
      (left) => left === '0',
      SLOW_MS,
    )
    await sql("DELETE FROM events WHERE tenant_id = 'demo'")
    assert.equal(await sql("SELECT count() FROM events WHERE tenant_id = 'demo'"), '0')
    // On a busy machine it may lose its lease. It says so, and is run again.
    await until(
      () => machine.ipid(THIS_VERSION, 'replay', '--tenant', 'demo', '--from', TODAY, '--to', tomorrow()),
      () => true,
      SLOW_MS,
    )
    assert.equal(await sql("SELECT count() FROM events WHERE tenant_id = 'demo'"), before)
    await judge()
  })

  await step('back to the release: it continues with the data of this version', async () => {
    assert.equal(await machine.stop(), 0)
    ready = await machine.start(old)
    begin()
    await more()
    await machine.ipid(old, 'dead-letter', 'list')
    await followLink((await machine.ipid(old, 'dashboard')).trim())
    await machine.kill()
  })

  await step('and this version again, after kill -9 of the release', async () => {
    ready = await machine.start(THIS_VERSION)
    await more()
    load.stop()
    await loading
    await judge()
    assert.equal(await machine.stop(), 0)
  })
})

/** The test may run over midnight. */
function tomorrow(): string {
  return new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)
}
