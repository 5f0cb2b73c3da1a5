import assert from 'node:assert/strict'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { BatchJob } from '../../schemas/api/batch.ts'
import { endReenrichment } from '../../src/operations/reenrich/end.ts'
import { ReenrichJobs } from '../../src/operations/reenrich/jobs/job-store.ts'
import type { ReenrichResult } from '../../src/operations/replay/commands/reenrich.ts'
import type { SystemStatus } from '../../src/operations/status/system-status.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { withRewriteLease } from '../../src/terminal/rewrite-lease.ts'
import type { CommandResult } from '../support/command.ts'
import { quiet } from '../support/pipeline.ts'
import { receivedDays } from '../support/received-days.ts'
import { queryTables } from '../support/running.ts'
import { type ReadyFile, TestSite } from '../support/site.ts'
import { stepsOf } from '../support/steps.ts'
import { until } from '../support/until.ts'

const HEADER = 'network,business_name,domain,industry,classification'
const BEFORE = `${HEADER}
17.0.0.0/16,Fruit,old-fruit.example,Hardware,business
17.1.0.0/16,Garden,garden.example,Plants,business
17.2.0.0/16,Shop,shop.example,Retail,business
17.4.0.0/16,Steady,steady.example,Retail,business
`
/** Fruit has a new domain, Garden a new name, Shop was always a hosting provider, and 17.3/16 is known. */
const TODAY = `${HEADER}
17.0.0.0/16,Fruit,new-fruit.example,Hardware,business
17.1.0.0/16,Garden & Sons,garden.example,Plants,business
17.2.0.0/16,Shop,shop.example,Retail,hosting
17.3.0.0/16,Found,found.example,Retail,education
17.4.0.0/16,Steady,steady.example,Retail,business
`
const DAY = 86_400_000

/** Views as if all events had been judged by the same data. */
const VIEWS = [
  ...['accounts', 'companies', 'daily_visits', 'sessions'],
  // The day is that of receipt, and the test may run at midnight.
  '(SELECT tenant_id, lane, status, reason, classification, sum(events) FROM daily_outcomes GROUP BY ALL)',
]

interface Event {
  readonly ip: string
  readonly event_id: string
  readonly timestamp: string
  readonly session_id: number
  readonly account_id?: string
}

function events(prefix: string, count: number): Event[] {
  return Array.from({ length: count }, (_, i) => ({
    ip: `17.${i % 5}.0.${i % 7}`,
    event_id: `${prefix}-${i}`,
    timestamp: new Date(Date.UTC(2026, 0, 1) + (i % 3) * DAY + i).toISOString(),
    session_id: i % 4,
    ...(i % 11 === 0 ? { account_id: `own-${i % 2}` } : {}),
  }))
}

const FIRST = events('live', 60)
const LINES = events('line', 500)
const AFTERWARDS = events('after', 40)

class Running {
  readonly site: TestSite
  readonly enrichDir: string
  readonly #ready: ReadyFile
  readonly #keys = new Map<string, string>()

  private constructor(site: TestSite, enrichDir: string, ready: ReadyFile) {
    this.site = site
    this.enrichDir = enrichDir
    this.#ready = ready
  }

  static async start(t: TestContext): Promise<Running> {
    const enrichDir = mkdtempSync(join(tmpdir(), 'ipid-enrich-'))
    t.after(() => rmSync(enrichDir, { recursive: true, force: true }))
    writeFileSync(join(enrichDir, 'organisations.csv'), BEFORE)
    const site = new TestSite(t, { ENRICH_DIR: enrichDir, ARCHIVE_PART_AGE_MS: '20000' })
    const started = site.start()
    return new Running(site, enrichDir, await started.ready())
  }

  async register(tenant: string, ...more: string[]): Promise<string> {
    await this.site.ipid('tenant', 'create', tenant, '--plan', 'custom', ...more)
    const { key } = JSON.parse((await this.site.ipid('key', 'create', tenant, '--json')).stdout) as { key: string }
    this.#keys.set(tenant, key)
    return key
  }

  async post(path: string, tenant: string, body: string): Promise<Response> {
    const key = this.#keys.get(tenant) ?? (await this.register(tenant))
    const headers = { 'x-api-key': key, 'content-type': 'application/json' }
    return await fetch(`${this.#ready.url}${path}`, { method: 'POST', headers, body })
  }

  /** In the same order for every tenant, since the newest event names an account. */
  async send(tenant: string, live: readonly Event[]): Promise<void> {
    for (const event of live)
      assert.equal((await this.post('/v1/ingest', tenant, JSON.stringify({ events: [event] }))).status, 200)
  }

  /** Sends an event until rules filter it. Returns how often it was sent. */
  async untilFiltered(tenant: string, ip: string): Promise<number> {
    let sent = 0
    await until(async () => {
      sent++
      const answer = await this.post('/v1/ingest', tenant, JSON.stringify({ events: [{ ip, event_id: 'probe' }] }))
      const { results } = (await answer.json()) as { results: { status: string }[] }
      return results[0]!.status === 'filtered'
    })
    return sent
  }

  async upload(tenant: string, lines: readonly Event[]): Promise<string> {
    const answer = await this.post('/v1/ingest/batch', tenant, lines.map((line) => JSON.stringify(line)).join('\n'))
    const { job_id: id } = (await answer.json()) as { job_id: string }
    const headers = { 'x-api-key': this.#keys.get(tenant)! }
    const job = async () =>
      (await (await fetch(`${this.#ready.url}/v1/ingest/batch/${id}`, { headers })).json()) as BatchJob
    await until(job, ({ status }) => status === 'completed')
    return id
  }

  query(sql: string): Promise<string> {
    return queryTables(this.#ready, sql)
  }

  /** All events of a tenant, stored or filtered. */
  async untilCounted(tenant: string, count: number): Promise<void> {
    const sum = () => this.query(`SELECT sum(events) FROM daily_outcomes WHERE tenant_id = '${tenant}'`)
    await until(sum, (text) => text === String(count))
  }

  async views(tenant: string): Promise<string[]> {
    const all: string[] = []
    for (const view of VIEWS) {
      all.push(await this.query(`SELECT * EXCEPT tenant_id FROM ${view} WHERE tenant_id = '${tenant}' ORDER BY ALL`))
    }
    return all
  }

  get clickhouseUrl(): string {
    return this.#ready.tables_url
  }

  async changeData(): Promise<void> {
    const part = join(this.enrichDir, '..', `${Date.now()}.part`)
    writeFileSync(part, TODAY)
    renameSync(part, join(this.enrichDir, 'organisations.csv'))
    const named = async () => await (await this.post('/v1/lookup', 'looker', '{"ip":"17.3.0.1"}')).text()
    await until(named, (text) => text.includes('Found'))
  }

  /** As if another process were replacing events. */
  async whileHeld(use: () => Promise<void>): Promise<void> {
    const client = quiet(connectRedis(this.#ready.redis_url, { name: 'cli', kind: 'loop', timeoutMs: 5_000 }))
    try {
      await withRewriteLease(client, 'a test', use)
    } finally {
      client.disconnect()
    }
  }

  async withJobs(use: (jobs: ReenrichJobs) => Promise<void>): Promise<void> {
    const client = quiet(connectRedis(this.#ready.redis_url, { name: 'cli', kind: 'loop', timeoutMs: 5_000 }))
    try {
      await use(new ReenrichJobs(client))
    } finally {
      client.disconnect()
    }
  }

  replay(tenant: string, ...more: string[]): Promise<CommandResult> {
    return this.site.ipid('replay', ...argsOf(tenant), ...more)
  }

  async reenrich(tenant: string, ...more: string[]): Promise<ReenrichResult> {
    const { code, stdout, stderr } = await this.replay(tenant, '--json', ...more)
    assert.equal(code, 0, stderr)
    return JSON.parse(stdout) as ReenrichResult
  }
}

function argsOf(tenant: string): string[] {
  return ['--tenant', tenant, ...receivedDays(), '--reenrich']
}

test('stored events are judged again by today’s data', async (t) => {
  const step = stepsOf(t)
  const running = await Running.start(t)
  const tenants = ['acme', 'killed', 'other'] as const
  const jobs = new Map<string, string>()
  for (const tenant of tenants) {
    await running.send(tenant, FIRST)
    jobs.set(tenant, await running.upload(tenant, LINES))
  }
  await running.changeData()
  const all = FIRST.length + LINES.length + AFTERWARDS.length
  for (const tenant of tenants) await running.send(tenant, AFTERWARDS)
  await running.send('twin', FIRST)
  await running.upload('twin', LINES)
  await running.send('twin', AFTERWARDS)
  for (const tenant of [...tenants, 'twin']) await running.untilCounted(tenant, all)
  const twin = await running.views('twin')
  const other = await running.views('other')
  let foreseen: ReenrichResult

  await step('the dry run reports the changes, and changes nothing', async () => {
    const before = await running.views('acme')
    foreseen = await running.reenrich('acme', '--dry-run')
    const old = [...FIRST, ...LINES]
    const of = (second: number, own?: boolean) =>
      old.filter(
        ({ ip, account_id }) =>
          ip.startsWith(`17.${second}.`) && (own === undefined || own === (account_id !== undefined)),
      ).length
    const noiseSince = AFTERWARDS.filter(({ ip }) => ip.startsWith('17.2.')).length
    assert.deepEqual(foreseen.events, { judged: all - noiseSince, changed: old.length - of(4), not_judged: 0 })
    assert.deepEqual(foreseen.data, ['organisations'])
    // The account is split: events since the change are already under its new id.
    assert.deepEqual(foreseen.merged, {
      ...{ accounts: 1, events: of(0, false) },
      list: [{ from: 'old-fruit.example', to: 'new-fruit.example', to_is_new: false, events: of(0, false) }],
    })
    assert.equal(foreseen.renamed.events, of(1) + of(0, true))
    assert.deepEqual(
      foreseen.renamed.list.find(({ account_id }) => account_id === 'garden.example'),
      {
        account_id: 'garden.example',
        before: { business_name: 'Garden', domain: 'garden.example' },
        after: { business_name: 'Garden & Sons', domain: 'garden.example' },
        events: of(1, false),
      },
    )
    assert.deepEqual(foreseen.found, { accounts: 0, events: of(3) })
    assert.deepEqual(foreseen.filtered, { events: of(2), classifications: { hosting: of(2) } })
    assert.deepEqual([foreseen.lost.events, foreseen.other.events], [0, 0])
    assert.deepEqual(await running.views('acme'), before)
    const { stdout } = await running.replay('acme', '--dry-run')
    assert.match(stdout, /^accounts merged +1 with \d+ events$/m)
    assert.match(stdout, /^old-fruit\.example +new-fruit\.example +existing +\d+$/m)
  })

  await step('one batch job can be judged alone', async () => {
    const { events: of } = await running.reenrich('acme', '--dry-run', '--source', 'batch', '--run', jobs.get('acme')!)
    assert.equal(of.judged, LINES.length)
  })

  await step('the run matches the dry run, as if today’s data had always been in use', async () => {
    const { dry_run: _, received_until: __, ...done } = await running.reenrich('acme')
    const { dry_run: ___, received_until: ____, ...was } = foreseen
    assert.deepEqual(done, was)
    assert.deepEqual(await running.views('acme'), twin)
    assert.deepEqual(await running.views('other'), other)
    assert.equal((await running.reenrich('acme')).events.changed, 0)
    assert.deepEqual(await running.views('acme'), twin)
  })

  await step('killed halfway and run again, the result is the same', async () => {
    const child = running.site.spawn('replay', ...argsOf('killed'))
    await until(() => child.stderr().includes('replacing') || child.child.exitCode !== null)
    child.child.kill('SIGKILL')
    await child.ended
    await running.reenrich('killed')
    assert.deepEqual(await running.views('killed'), twin)
    assert.deepEqual(await running.views('other'), other)
  })

  await step('of two runs at once, one waits or is refused, and the result is the same', async () => {
    const both = await Promise.all([running.replay('other'), running.replay('other')])
    for (const { code, stderr } of both) assert.ok(code === 0 || /re-enrichment must wait/.test(stderr), stderr)
    assert.ok(both.some(({ code }) => code === 0))
    assert.deepEqual(await running.views('other'), twin)
  })

  await step('while stored events are replaced, no other process replaces or copies them', async () => {
    await running.whileHeld(async () => {
      const backup = running.site.ipid('backup', join(running.enrichDir, 'backup'))
      for (const { code, stderr } of await Promise.all([backup, running.replay('acme')])) {
        assert.equal(code, 1)
        assert.match(
          stderr,
          /^ipid: (?:a backup|re-enrichment|a replay) must wait: another command replaces or copies stored events/,
        )
      }
      assert.equal((await running.replay('acme', '--dry-run')).code, 0)
      // Data are loaded before the lease is taken, because a large file would let it run out.
      const broken = join(running.enrichDir, 'broken.csv')
      writeFileSync(broken, 'network,nonsense\nx,y\n')
      const { stderr } = await running.replay('acme')
      assert.match(stderr, /broken.csv cannot be used/)
      rmSync(broken)
      // A run that was killed while it judged leaves copies of events.
      await running.query('CREATE TABLE reenrich_building AS events')
      const hold = { assertHeld: () => {}, onReplaced: async () => {} }
      await endReenrichment(running.clickhouseUrl, hold, () => {})
      assert.equal(await running.query('EXISTS TABLE reenrich_building'), '0')
    })
  })

  await step('rules are applied by a job that survives kill -9 of its process, as by the shell', async () => {
    const rules = ['always-noise garden.example', 'is 17.4.0.0/16 moved.example Moved']
    const tenants = ['by-job', 'by-shell']
    for (const tenant of tenants) {
      await running.send(tenant, FIRST)
      await running.upload(tenant, LINES)
      await running.untilCounted(tenant, FIRST.length + LINES.length)
      for (const rule of rules)
        assert.equal((await running.site.ipid('rules', 'add', tenant, ...rule.split(' '), '--past', 'none')).code, 0)
    }
    await running.reenrich('by-shell')
    // Without the names of accounts, which come from either of two events of the same time.
    const views = async (tenant: string) => (await running.views(tenant)).slice(1)
    const expected = await views('by-shell')
    assert.notDeepEqual(await views('by-job'), expected)
    await running.withJobs(async (jobs) => {
      const requested = { requestedBy: 'a test', requestedAtMs: Date.now() }
      await jobs.request('by-job', { rules, unclassified: false, days: null, ...requested })
      const read = async () => (await jobs.read('by-job')).job
      await until(read, (job) => job?.state === 'running')
      const { stdout } = await running.site.ipid('status', '--json')
      const { processes, reenrichments } = JSON.parse(stdout) as SystemStatus
      assert.equal(reenrichments.jobs[0]?.tenant_id, 'by-job')
      process.kill(processes.find(({ roles }) => roles.includes('archive'))!.pid, 'SIGKILL')
      const ended = await until(read, (job) => job !== undefined && job.state !== 'running')
      assert.equal(ended!.state, 'done', ended!.problem)
      assert.ok(ended!.result!.filtered_events > 0 && ended!.result!.changed_visits > 0)
    })
    assert.deepEqual(await views('by-job'), expected)
  })

  await step('filtered events that now count return from the archive by a job, each once', async () => {
    const rule = 'always-noise garden.example'
    await running.register('returned', '--archive', 'on')
    assert.equal((await running.site.ipid('rules', 'add', 'returned', ...rule.split(' '))).code, 0)
    const probes = await running.untilFiltered('returned', '17.1.0.1')
    for (const tenant of ['kept', 'returned']) {
      await running.send(tenant, FIRST)
      await running.upload(tenant, LINES)
      await running.untilCounted(tenant, FIRST.length + LINES.length + (tenant === 'returned' ? probes : 0))
    }
    const stored = async (tenant: string) =>
      await running.query(
        `SELECT count(), uniqExact(event_id), sum(cityHash64(event_id, ip, account_id, company_id, timestamp)) FROM events WHERE tenant_id = '${tenant}' AND event_id != 'probe'`,
      )
    const expected = await stored('kept')
    assert.notEqual(await stored('returned'), expected)
    assert.equal((await running.site.ipid('rules', 'remove', 'returned', ...rule.split(' '))).code, 0)
    await running.withJobs(async (jobs) => {
      const read = async () => (await jobs.read('returned')).job
      const ended = async (id: string) =>
        (await until(read, (job) => job?.jobId === id && job.state !== 'running' && job.state !== 'waiting'))!
      const ask = async () =>
        await jobs.request('returned', {
          ...{ rules: [rule], unclassified: false, days: null, requestedBy: 'a test', requestedAtMs: Date.now() },
        })
      const { jobId } = await ask()
      await until(read, (job) => job?.jobId === jobId && (job.step === 'archive' || job.state === 'done'))
      const { processes } = JSON.parse((await running.site.ipid('status', '--json')).stdout) as SystemStatus
      process.kill(processes.find(({ roles }) => roles.includes('archive'))!.pid, 'SIGKILL')
      const first = await ended(jobId)
      assert.equal(first.state, 'done', first.problem)
      await until(
        () => stored('returned'),
        (text) => text === expected,
      )
      const again = await ended((await ask()).jobId)
      assert.deepEqual([again.state, again.result!.returned_events], ['done', 0])
      assert.equal(await stored('returned'), expected)
      const filtered = "SELECT sum(events) FROM daily_outcomes WHERE tenant_id = 'returned' AND reason = 'always_noise'"
      assert.equal(await running.query(filtered), '0')
    })
  })

  await step('an impossible call is refused in one line, before anything is read', async () => {
    const refused = async (args: string[], code: number, why: RegExp) => {
      const result = await running.site.ipid('replay', '--reenrich', ...args)
      assert.deepEqual([result.code, result.stdout], [code, ''])
      assert.match(result.stderr, why)
    }
    await refused(['--tenant', 'nobody', '--from', '2026-01-01', '--to', '2026-01-02'], 2, /nobody/)
    await refused(
      ['--tenant', 'acme', '--from', '2026-02-30', '--to', '2026-03-01'],
      2,
      /--from "2026-02-30": must be a UTC day/,
    )
    await refused(['--tenant', 'acme', '--from', '2026-01-02', '--to', '2026-01-01'], 2, /is before --from/)
    writeFileSync(join(running.enrichDir, 'broken.mmdb'), 'nonsense')
    await refused(['--tenant', 'acme', '--from', '2026-01-01', '--to', '2026-01-02'], 1, /broken\.mmdb cannot be used/)
  })
})
