import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ingest } from '../../pipelines/ingest.ts'
import type { BatchJob } from '../../schemas/api/batch.ts'
import { packBlock } from '../../src/core/event/block.ts'
import { partitionOf } from '../../src/core/event/envelope.ts'
import { connectRedis, type RedisClient } from '../../src/redis/connect.ts'
import { keys } from '../../src/redis/keys.ts'
import { deadLetterFields } from '../../src/redis/streams/dead-letter.ts'
import { ownerOf } from '../../src/redis/streams/owner.ts'
import { readStatus } from '../../src/redis/streams/status.ts'
import { envelope, quiet } from '../support/pipeline.ts'
import { type ReadyFile, type Started, TestSite } from '../support/site.ts'
import { until } from '../support/until.ts'

const BATCH_LINES = 10_000
const IP = '17.253.144.10'

/** What analysts and the tenant's people ask: the same behind a restore, to the letter. */
const QUERIES = [
  'SELECT count(), uniqExact(event_id) FROM events',
  'SELECT tenant_id, count(), uniqExact(ip) FROM events GROUP BY tenant_id ORDER BY tenant_id',
  'SELECT * FROM accounts ORDER BY tenant_id, account_id',
  'SELECT * FROM companies ORDER BY tenant_id, company_id',
  'SELECT * FROM daily_visits ORDER BY tenant_id, account_id, day',
  'SELECT event_type, platform, count() FROM events GROUP BY ALL ORDER BY ALL',
  'SELECT * FROM daily_outcomes ORDER BY ALL',
  'SELECT sum(cityHash64(*)), groupBitXor(cityHash64(*)) FROM events',
  "SELECT * FROM events WHERE event_id LIKE 'odd%' ORDER BY event_id",
  'SELECT session_id, properties, extra FROM events WHERE session_id IS NOT NULL ORDER BY ALL LIMIT 20',
] as const

/** An instance that runs on a site. */
class Running {
  readonly site: TestSite
  readonly ready: ReadyFile
  readonly redis: RedisClient
  readonly #started: Started

  constructor(site: TestSite, started: Started, ready: ReadyFile) {
    this.site = site
    this.ready = ready
    this.#started = started
    this.redis = quiet(connectRedis(ready.redis_url, { name: 'cli', kind: 'loop', timeoutMs: 5_000 }))
  }

  static async start(t: TestContext, site: TestSite): Promise<Running> {
    const started = site.start()
    const running = new Running(site, started, await started.ready())
    t.after(() => running.stop())
    return running
  }

  async stop(): Promise<void> {
    this.redis.disconnect()
    this.#started.child.kill('SIGTERM')
    await this.#started.ended
  }

  async post(path: string, key: string, body: unknown): Promise<Response> {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const headers = { 'x-api-key': key, 'content-type': 'application/json' }
    return await fetch(`${this.ready.url}${path}`, { method: 'POST', headers, body: text })
  }

  async send(key: string, events: readonly object[]): Promise<void> {
    const answer = await this.post('/v1/ingest', key, { events })
    assert.equal(answer.status, 200, await answer.clone().text())
  }

  /** Uploads lines; resolves with the job when it has ended. */
  async upload(key: string, lines: string): Promise<BatchJob> {
    const answer = await this.post('/v1/ingest/batch', key, lines)
    const { job_id: id } = (await answer.json()) as { job_id: string }
    const headers = { 'x-api-key': key }
    const job = async () =>
      (await (await fetch(`${this.ready.url}/v1/ingest/batch/${id}`, { headers })).json()) as BatchJob
    return await until(job, ({ status }) => status === 'completed')
  }

  async query(sql: string): Promise<string> {
    const answer = await fetch(`${this.ready.clickhouse_url}/?database=ipid`, { method: 'POST', body: sql })
    const text = await answer.text()
    assert.equal(answer.status, 200, text)
    return text.trimEnd()
  }

  async untilIdle(): Promise<void> {
    const waiting = async () => (await readStatus(this.redis, ingest)).streams
    await until(waiting, (all) => all.length > 0 && all.every(({ waiting_events }) => waiting_events === 0))
  }

  async answers(): Promise<string[]> {
    const answers: string[] = []
    for (const sql of QUERIES) answers.push(await this.query(sql))
    return answers
  }

  async key(tenant: string): Promise<string> {
    const { stdout } = await this.site.ipid('key', 'create', tenant, '--json')
    return (JSON.parse(stdout) as { key: string }).key
  }
}

const ODD_EVENTS = [
  { event_id: 'odd\t1', ip: '17.0.0.1', properties: { text: 'tab\t line\n back\\slash "quote" \u0000 \r\n \\N é 😀' } },
  { event_id: 'odd 2', ip: '2620:149:af0::10', timestamp: '1900-01-01T00:00:00Z', session_id: -9007199254740991 },
  { event_id: 'odd 3', ip: '17.0.0.2', timestamp: '2299-12-31T23:59:59.999Z', account_id: '\\N', unknown: [1, null] },
]

function batchLines(): string {
  const line = (i: number) => ({
    ip: `17.0.${i % 7}.${i % 251}`,
    event_id: `b-${i}`,
    event_type: i % 3 ? 'view' : 'click',
  })
  // Some have no id of their own.
  return Array.from({ length: BATCH_LINES }, (_, i) =>
    JSON.stringify(i % 10 === 0 ? { ip: line(i).ip, properties: { i } } : line(i)),
  ).join('\n')
}

/** Sends events until it is told to stop; tells which were answered. */
function sendOn(running: Running, key: string): { sent: string[]; stop: () => Promise<void> } {
  const sent: string[] = []
  let stopping = false
  const work = (async () => {
    for (let round = 0; !stopping; round++) {
      const events = Array.from({ length: 20 }, (_, i) => ({ event_id: `during-${round}-${i}`, ip: IP }))
      await running.send(key, events)
      sent.push(...events.map(({ event_id }) => event_id))
    }
  })()
  return {
    sent,
    stop: async () => {
      stopping = true
      await work
    },
  }
}

/** A dead letter of the process step, as a worker writes it. */
async function bury(redis: RedisClient, tenantId: string, eventId: string): Promise<void> {
  const dead = envelope(tenantId, eventId)
  const partition = partitionOf(dead.identity, 4)
  const origin = { group: 'process', stream: 'intake', lane: 'live', owner: ownerOf(`${Date.now()}-0`, 0) } as const
  const fields = deadLetterFields(origin, { reason: 'for the test', block: packBlock([dead]), outcome: undefined })
  await redis.callBuffer('XADD', keys.dead(partition), '*', ...fields)
}

function makeFolder(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'ipid-backup-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

test('a backup that is written under load is restored on another folder', async (t) => {
  const dir = makeFolder(t)
  const [early, late] = [join(dir, 'early'), join(dir, 'late')]
  const site = () => new TestSite(t, { ARCHIVE_PART_AGE_MS: '200' })
  const sites = { source: site(), first: site(), second: site() }
  let expected: string[] = []
  let sentBefore: readonly string[] = []
  let sent: readonly string[] = []
  const apiKeys = { demo: '', acme: '', revoked: '' }

  await t.test('it holds what was answered before the call, live and batch', async () => {
    const source = await Running.start(t, sites.source)
    apiKeys.demo = source.ready.api_key!
    await sites.source.ipid('tenant', 'create', 'acme', '--plan', 'growth', '--archive', 'on')
    apiKeys.acme = await source.key('acme')
    apiKeys.revoked = await source.key('acme')
    await sites.source.ipid('key', 'revoke', apiKeys.revoked.slice(0, 12))
    await source.send(apiKeys.acme, ODD_EVENTS)
    await source.post('/v1/lookup', apiKeys.acme, { ip: IP })
    const writer = sendOn(source, apiKeys.demo)
    const upload = await source.post('/v1/ingest/batch', apiKeys.acme, batchLines())
    assert.equal(upload.status, 202)
    sentBefore = [...writer.sent]
    const made = await sites.source.ipid('backup', early, '--json')
    await writer.stop()
    sent = writer.sent
    assert.equal(made.code, 0, made.stderr)
    const { rows } = JSON.parse(made.stdout) as { rows: { events: number } }
    assert.ok(rows.events >= BATCH_LINES + ODD_EVENTS.length + sentBefore.length)

    await source.untilIdle()
    await bury(source.redis, 'acme', 'dead-1')
    await bury(source.redis, 'acme', 'odd 2')
    const second = await sites.source.ipid('backup', late)
    assert.equal(second.code, 0, second.stderr)
    assert.match(second.stdout, /^tenants {2,}2$/m)
    assert.match(second.stdout, /^dead letters {2,}2$/m)
    const again = await sites.source.ipid('backup', late)
    assert.deepEqual([again.code, again.stderr.includes('late is not empty')], [2, true])
    assert.deepEqual(readdirSync(dir).sort(), ['early', 'late'])
    expected = await source.answers()
    await source.stop()
  })

  await t.test('a damaged backup is refused before anything is written', async () => {
    const damaged = join(dir, 'damaged')
    cpSync(late, damaged, { recursive: true })
    const name = readdirSync(damaged).find((file) => file.includes('events'))!
    const content = readFileSync(join(damaged, name))
    content[content.length >> 1]! ^= 1
    writeFileSync(join(damaged, name), content)
    const refused = await sites.first.ipid('restore', damaged)
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, new RegExp(`^ipid: the backup is damaged: ${name} has other content$`, 'm'))
    writeFileSync(
      join(damaged, 'manifest.json'),
      readFileSync(join(late, 'manifest.json'), 'utf8').replace('": 4', '": 5'),
    )
    assert.match((await sites.first.ipid('restore', damaged)).stderr, /manifest.json has other content/)
    rmSync(join(damaged, 'manifest.json'))
    assert.match((await sites.first.ipid('restore', damaged)).stderr, /is no backup, or one that was not finished/)
    assert.equal(existsSync(sites.first.dir), false)
  })

  await t.test('killed half-way it is no instance, and done again it is whole', async () => {
    const site = sites.first
    const child = site.spawn('restore', early)
    await until(() => child.stderr().includes('table events'))
    child.child.kill('SIGKILL')
    await child.ended
    await site.untilNothingRuns()
    const start = site.start(['--roles', 'process'])
    assert.equal((await start.ended).code, 1)
    assert.match(start.stderr(), /a restore of a backup was not finished/)
    assert.match((await site.ipid('restore', late)).stderr, /a restore of another backup was not finished here/)
    cpSync(join(sites.source.dir, 'archive'), join(site.dir, 'archive'), { recursive: true })
    const restored = await site.ipid('restore', early)
    assert.equal(restored.code, 0, restored.stderr)
    assert.match(restored.stderr, /begun again/)
    assert.match(restored.stdout, /^objects of the archive {2,}[1-9]\d* in \/.*, all there$/m)

    const running = await Running.start(t, site)
    assert.equal(await running.query('SELECT count() = uniqExact(tenant_id, event_id) FROM events'), '1')
    const ids = (await running.query("SELECT event_id FROM events WHERE event_id LIKE 'during%'")).split('\n')
    assert.deepEqual(
      sentBefore.filter((id) => !ids.includes(id)),
      [],
    )
    const unknown = new Set(sent)
    assert.deepEqual(
      ids.filter((id) => !unknown.has(id)),
      [],
    )
    // Whoever sends everything again has each event once: those of the backup are repeats, the others are not.
    for (let at = 0; at < sent.length; at += 100) {
      await running.send(
        apiKeys.demo,
        sent.slice(at, at + 100).map((event_id) => ({ event_id, ip: IP })),
      )
    }
    await running.untilIdle()
    const counts = await running.query("SELECT count(), uniqExact(event_id) FROM events WHERE event_id LIKE 'during%'")
    assert.equal(counts, `${sent.length}\t${sent.length}`)
    await running.stop()
  })

  await t.test('it answers as the source did, to those who had a key', async () => {
    const site = sites.second
    const restored = await site.ipid('restore', late, '--json')
    assert.equal(restored.code, 0, restored.stderr)
    const summary = JSON.parse(restored.stdout) as {
      tenants: number
      dead_letters: number
      rows: { events: number }
      archive: { objects: number; missing: number }
    }
    assert.ok(summary.archive.objects > 0)
    assert.equal(summary.archive.missing, summary.archive.objects, 'it was not copied here')
    assert.deepEqual([summary.tenants, summary.dead_letters], [2, 1], 'a letter whose event is stored is left out')
    const running = await Running.start(t, site)
    assert.equal(running.ready.api_key, undefined, 'the tenant demo has its key')
    assert.deepEqual(await running.answers(), expected)

    const statuses = [apiKeys.demo, apiKeys.acme, apiKeys.revoked].map(async (key) => {
      return (await running.post('/v1/lookup', key, { ip: IP })).status
    })
    assert.deepEqual(await Promise.all(statuses), [200, 200, 401])
    const lookup = await running.post('/v1/lookup', apiKeys.acme, { ip: IP })
    const { quota } = (await lookup.json()) as { quota: { daily_used: number } }
    assert.equal(quota.daily_used, 3, 'what was used today counts')
    await running.send(apiKeys.acme, ODD_EVENTS)
    const job = await running.upload(apiKeys.acme, batchLines())
    assert.equal(job.result_summary?.duplicates, (BATCH_LINES / 10) * 9, 'lines with an id of their own are repeats')
    const list = await site.ipid('key', 'list', 'acme', '--json')
    assert.equal((JSON.parse(list.stdout) as { revoked_at: string | null }[])[1]!.revoked_at === null, false)
    await running.untilIdle()
    const stored = Number(await running.query('SELECT count() FROM events'))
    assert.equal(stored, summary.rows.events + BATCH_LINES / 10, 'lines without an id are new')
    assert.equal((await readStatus(running.redis, ingest)).dead_letters, 1)

    assert.match((await site.ipid('restore', late)).stderr, /another ipid \(process \d+\) runs on/)
    await running.stop()
    const full = await site.ipid('restore', late)
    assert.equal(full.code, 1)
    assert.match(full.stderr, /a backup is restored into an empty instance, and here there are 2 tenants/)
  })
})
