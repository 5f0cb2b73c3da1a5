import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BatchJob } from '../../schemas/api/batch.ts'
import type { TenantRecord } from '../../schemas/tenant.ts'
import { connectRedis, type RedisClient } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { quiet } from './pipeline.ts'
import { queryTables, untilIdle } from './running.ts'
import type { ReadyFile, Started, TestSite } from './site.ts'
import { until } from './until.ts'

export const BATCH_LINES = 5_000
export const IP = '17.253.144.10'

/** Queries of analysts and of the tenant: their answers are the same after a restore, byte for byte. */
export const QUERIES = [
  'SELECT count(), uniqExact(event_id) FROM events',
  'SELECT tenant_id, count(), uniqExact(ip) FROM events GROUP BY tenant_id ORDER BY tenant_id',
  'SELECT * FROM accounts ORDER BY tenant_id, account_id',
  'SELECT * FROM companies ORDER BY tenant_id, company_id',
  'SELECT * FROM daily_visits ORDER BY tenant_id, account_id, day',
  'SELECT event_type, platform, count() FROM events GROUP BY ALL ORDER BY ALL',
  'SELECT * FROM daily_outcomes ORDER BY ALL',
  'SELECT * FROM company_corrections ORDER BY ALL',
  'SELECT sum(cityHash64(*)), groupBitXor(cityHash64(*)) FROM events',
  "SELECT * FROM events WHERE event_id LIKE 'odd%' ORDER BY event_id",
  'SELECT session_id, properties, extra FROM events WHERE session_id IS NOT NULL ORDER BY ALL LIMIT 20',
] as const

/** An instance that runs on a site. */
export class Running {
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

  query(sql: string): Promise<string> {
    return queryTables(this.ready, sql)
  }

  untilIdle(): Promise<void> {
    return untilIdle(this.redis)
  }

  async answers(): Promise<string[]> {
    const answers: string[] = []
    for (const sql of QUERIES) answers.push(await this.query(sql))
    return answers
  }

  /** The key of the pseudonyms of a tenant's addresses. */
  async addressKey(tenant: string): Promise<string | undefined> {
    const record = JSON.parse((await this.redis.hget(keys.tenants(), tenant))!) as TenantRecord
    return record.address_key
  }

  async key(tenant: string): Promise<string> {
    const { stdout } = await this.site.ipid('key', 'create', tenant, '--json')
    return (JSON.parse(stdout) as { key: string }).key
  }
}

export const ODD_EVENTS = [
  { event_id: 'odd\t1', ip: '17.0.0.1', properties: { text: 'tab\t line\n back\\slash "quote" \u0000 \r\n \\N é 😀' } },
  { event_id: 'odd 2', ip: '2620:149:af0::10', timestamp: '1900-01-01T00:00:00Z', session_id: -9007199254740991 },
  { event_id: 'odd 3', ip: '17.0.0.2', timestamp: '2299-12-31T23:59:59.999Z', account_id: '\\N', unknown: [1, null] },
]

export function batchLines(): string {
  const line = (i: number) => ({
    ip: `17.0.${i % 7}.${i % 251}`,
    event_id: `b-${i}`,
    event_type: i % 3 ? 'view' : 'click',
  })
  // Some have no id.
  return Array.from({ length: BATCH_LINES }, (_, i) =>
    JSON.stringify(i % 10 === 0 ? { ip: line(i).ip, properties: { i } } : line(i)),
  ).join('\n')
}

/** The time between an answer and the next request: events are stored, backed up, restored and sent again meanwhile. */
const NEXT_SEND_MS = 20

/** Sends events until it is stopped; reports the answered ones. */
export function sendOn(running: Running, key: string): { sent: string[]; stop: () => Promise<void> } {
  const sent: string[] = []
  let stopping = false
  const work = (async () => {
    for (let round = 0; !stopping; round++) {
      const events = Array.from({ length: 20 }, (_, i) => ({ event_id: `during-${round}-${i}`, ip: IP }))
      await running.send(key, events)
      sent.push(...events.map(({ event_id }) => event_id))
      await sleep(NEXT_SEND_MS)
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

export function makeFolder(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'ipid-backup-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}
