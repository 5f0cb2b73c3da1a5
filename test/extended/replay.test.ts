import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { utcDay } from '../../src/pipeline/event/outcomes.ts'
import { connectClickHouse, DATABASE } from '../../src/stores/clickhouse/client.ts'
import { FolderStore } from '../../src/stores/objects/folder-store.ts'
import { readArchive } from '../support/archive.ts'
import { receivedDays } from '../support/received-days.ts'
import { type ReadyFile, type Started, TestSite } from '../support/site.ts'
import { stepsOf } from '../support/steps.ts'
import { until } from '../support/until.ts'

const APPLE = '17.253.144.10'
const BATCH_LINES = 3_000

/** Everything that a replay must restore. */
const TABLES = [
  'SELECT * FROM events ORDER BY ALL',
  'SELECT * FROM accounts ORDER BY ALL',
  'SELECT * FROM companies ORDER BY ALL',
  'SELECT * FROM daily_visits ORDER BY ALL',
  'SELECT * FROM daily_outcomes ORDER BY ALL',
] as const

/** @param classification of the network that is judged again */
function organisations(classification: string): string {
  const rows = ['17.253.0.0/16,Apple,apple.com,business', `17.9.0.0/16,Nine,nine.example,${classification}`]
  return `network,business_name,domain,classification\n${rows.join('\n')}\n`
}

class Running {
  readonly site: TestSite
  readonly ready: ReadyFile
  readonly #started: Started

  private constructor(site: TestSite, started: Started, ready: ReadyFile) {
    this.site = site
    this.#started = started
    this.ready = ready
  }

  static async start(t: TestContext, site: TestSite): Promise<Running> {
    const started = site.start()
    const running = new Running(site, started, await started.ready())
    t.after(() => running.stop())
    return running
  }

  async stop(): Promise<void> {
    this.#started.child.kill('SIGTERM')
    await this.#started.ended
  }

  async sql(query: string): Promise<unknown[]> {
    const client = connectClickHouse(this.ready.tables_url, { application: 'test', database: DATABASE })
    try {
      if (!query.startsWith('SELECT')) {
        await client.command({ query })
        return []
      }
      const result = await client.query({ query, format: 'JSONCompactEachRow' })
      return await result.json()
    } finally {
      await client.close()
    }
  }

  tables(): Promise<unknown[][]> {
    return Promise.all(TABLES.map((query) => this.sql(query)))
  }

  async replay(...flags: string[]): Promise<Record<string, unknown>> {
    const args = ['replay', '--tenant', 'demo', ...receivedDays(), '--json', ...flags]
    const { code, stdout, stderr } = await this.site.ipid(...args)
    assert.equal(code, 0, stderr)
    return JSON.parse(stdout)
  }
}

test('a replay restores the rows that the tables lost, and adds nothing twice', async (t) => {
  const step = stepsOf(t)
  const data = mkdtempSync(join(tmpdir(), 'ipid-data-'))
  t.after(() => rmSync(data, { recursive: true }))
  writeFileSync(join(data, 'organisations.csv'), organisations('isp'))
  const site = new TestSite(t, { ARCHIVE_PART_AGE_MS: '200', SINK_LINGER_MS: '100', ENRICH_DIR: data })
  let run = await Running.start(t, site)
  const { url, api_key } = run.ready
  const headers = { 'x-api-key': api_key!, 'content-type': 'application/json' }
  const post = async (path: string, body: string): Promise<Record<string, unknown>> => {
    const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body })
    const text = await answer.text()
    assert.ok(answer.ok, text)
    return JSON.parse(text)
  }
  assert.equal((await site.ipid('tenant', 'set', 'demo', '--archive', 'on')).code, 0)

  const live = [
    { ip: APPLE, event_id: 'a', properties: { plan: 'pro', Email: 'a@live.example' }, _status: 'mine', extra: [1] },
    { ip: APPLE, event_id: 'a', account_id: 'other' },
    { ip: APPLE, event_id: 'b', event_type: 'signup', session_id: 7, timestamp: '2026-11-01T10:00:00.123Z' },
    { ip: APPLE, account_id: 'mine\ttab' },
    { ip: '10.0.0.1', event_id: 'noise' },
    { ip: '2001:db8::1' },
    { ip: '17.9.0.2', event_id: 'found', event_type: 'view' },
    { ip: 'nowhere', event_id: 'bad' },
  ]
  await post('/v1/ingest', JSON.stringify({ events: live }))
  await post('/v1/ingest', JSON.stringify({ events: [live[0], { ip: APPLE, event_id: 'late', event_type: 'signup' }] }))
  const lines = Array.from({ length: BATCH_LINES }, (_, i) => {
    const ip =
      i % 20 === 0 ? '10.0.0.1' : i % 20 === 10 ? '17.9.0.1' : i % 10 === 1 ? 'none' : `17.253.${i % 7}.${i % 200}`
    // Some ids come twice, in the same chunk and far apart, and one is a live event's.
    const id = i % 100 === 5 ? 'a' : i % 100 === 7 ? `twice-${i % 1_000}` : undefined
    const user = i % 5 === 2 && { user_properties: { email: `a@mail.n${i % 3}.example` } }
    return JSON.stringify({ ip, ...(id && { event_id: id }), event_type: i % 2 ? 'view' : 'signup', n: i, ...user })
  })
  lines[3] = 'no JSON'
  lines[BATCH_LINES - 2] = '{"event_id":"no ip"}'
  const { job_id } = await post('/v1/ingest/batch', lines.join('\n'))
  const created = await site.ipid('source', 'create', 'demo', 'segment', '--json')
  const { key } = JSON.parse(created.stdout) as { key: string }
  const call = { type: 'track', event: 'Opened', context: { ip: APPLE } }
  const calls = [
    { ...call, messageId: 'of source' },
    { ...call, messageId: 'no address 1', context: {} },
    { ...call, messageId: 'no address 2', context: {} },
    { ...call, messageId: 'refused', event: 'x'.repeat(300) },
  ]
  await post(`/s/segment/${key}/v1/batch`, JSON.stringify({ batch: calls }))
  const sent = live.length + 2 + BATCH_LINES + calls.length
  const store = new FolderStore(join(site.dir, 'archive'))
  const counted = async () => Number((await run.sql('SELECT sum(events) FROM daily_outcomes'))[0]?.toString())
  await until(async () => (await counted()) === sent)
  await until(async () => (await readArchive(store)).reduce((sum, { events }) => sum + events.length, 5) === sent)
  const before = await run.tables()
  const rows = before[0]!.length
  assert.ok(rows > 2_000)
  const ofJob = "SELECT DISTINCT job_id != '', known_domain FROM events WHERE known_domain != '' ORDER BY ALL"
  assert.deepEqual(await run.sql(ofJob), [
    [0, 'live.example'],
    [1, 'n0.example'],
    [1, 'n1.example'],
    [1, 'n2.example'],
  ])

  await step('when nothing is lost', async () => {
    const report = await run.replay()
    assert.deepEqual([report.stored, report.counted, report.replayed], [rows, sent - rows, 0])
    assert.deepEqual(await run.tables(), before)
  })

  await step('after the loss of rows of either table', async () => {
    await run.sql('ALTER TABLE outcomes DELETE WHERE cityHash64(source) % 2 = 0 SETTINGS mutations_sync = 2')
    await run.sql('ALTER TABLE events DELETE WHERE cityHash64(event_id) % 3 = 0 SETTINGS mutations_sync = 2')
    const { replayed } = await run.replay('--dry-run')
    assert.equal((await run.replay()).replayed, replayed)
    assert.deepEqual(await run.tables(), before)
  })

  await step('after the loss of everything, also when it is killed halfway', async () => {
    await run.stop()
    rmSync(join(site.dir, 'clickhouse'), { recursive: true })
    run = await Running.start(t, site)
    assert.equal(await counted(), 0)
    const planned = await run.replay('--dry-run')
    assert.deepEqual([planned.stored, planned.counted, planned.replayed], [0, 0, sent])

    const some = await run.replay('--source', 'ingest', '--where', 'event_type=signup')
    assert.equal(some.replayed, 2)
    assert.deepEqual(await run.sql('SELECT event_id FROM events ORDER BY event_id'), [['b'], ['late']])

    const killed = site.spawn('replay', '--tenant', 'demo', ...receivedDays())
    await until(async () => Number((await run.sql('SELECT count() FROM events'))[0]) > 2)
    killed.child.kill('SIGKILL')
    await killed.ended
    for (let twice = 0; twice < 2; twice++) {
      await run.replay()
      assert.deepEqual(await run.tables(), before)
    }
    const ofJob = await run.replay('--run', String(job_id), '--source', 'batch')
    assert.equal(Number(ofJob.stored) + Number(ofJob.counted), BATCH_LINES)
  })

  await step('days that are no longer kept are left out', async () => {
    const ask = (...args: string[]) => site.ipid('replay', '--tenant', 'demo', '--dry-run', '--json', ...args)
    assert.equal((await site.ipid('tenant', 'set', 'demo', '--retention-days', '1')).code, 0)
    const all = await ask('--from', '2020-01-01', '--to', utcDay(Date.now()))
    assert.match(all.stderr, /skipping events received before \d{4}-\d\d-\d\d: retention removes them/)
    assert.equal(JSON.parse(all.stdout).counted + JSON.parse(all.stdout).stored, sent)
    assert.match(
      (await ask('--from', '2020-01-01', '--to', '2020-01-02')).stderr,
      /--to 2020-01-02: must be \S+ or later; retention removes older events of tenant "demo"/,
    )
  })

  await step('with a new verdict, filtered events come back too, and go again', async () => {
    const ofNine = async () => Number((await run.sql("SELECT count() FROM events WHERE domain = 'nine.example'"))[0])
    const judge = async (classification: string, expected: number) => {
      writeFileSync(join(data, 'organisations.csv'), organisations(classification))
      const foreseen = await run.replay('--reenrich', '--dry-run')
      const { dry_run: _, received_until: __, ...was } = foreseen
      const { dry_run: ___, received_until: ____, ...done } = await run.replay('--reenrich')
      assert.deepEqual(done, was)
      assert.equal(await ofNine(), expected)
      assert.equal(await counted(), sent)
      return done as Record<'filtered' | 'shown', { events: number }> & { archive: { found: number } }
    }
    const some = BATCH_LINES / 20 + 1
    assert.equal((await judge('business', some)).archive.found, some)
    assert.equal((await judge('business', some)).archive.found, 0)
    assert.equal((await judge('isp', 0)).filtered.events, some)
    const again = await run.replay()
    assert.deepEqual([again.replayed, await run.sql('SELECT * FROM accounts ORDER BY ALL')], [0, before[1]])
    // They were hidden, so the archive is not needed.
    const { shown, archive } = await judge('business', some)
    assert.deepEqual([shown.events, archive.found], [some, 0])
  })
})

test('wrong usage is refused, with the flag', async () => {
  const { runCommand } = await import('../support/command.ts')
  const ask = async (...args: string[]) => {
    const { code, stderr } = await runCommand(['replay', '--tenant', 'demo', ...args], { env: {} })
    assert.equal(code, 2)
    return stderr
  }
  assert.match(await ask('--from', '2026-02-30', '--to', '2026-03-01'), /--from "2026-02-30": must be a UTC day/)
  assert.match(await ask('--from', '2026-02-03', '--to', '2026-02-01'), /--to 2026-02-01 is before --from 2026-02-03/)
  assert.match(await ask(...receivedDays(), '--where', 'signup'), /--where "signup": must be NAME=VALUE/)
  assert.match(await ask(...receivedDays(), '--source', 'live'), /ingest, batch/)
})
