import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { after, beforeEach, test } from 'node:test'
import { ENRICHMENT_COLUMNS, ROW_COLUMNS } from '../../schemas/row.ts'
import type { FrozenData } from '../../src/enrichment/engine.ts'
import { ClickHouseReenrichment } from '../../src/operations/reenrich/clickhouse.ts'
import { endReenrichment } from '../../src/operations/reenrich/end.ts'
import { type ReenrichJob, reenrichmentOf } from '../../src/operations/reenrich/jobs/job.ts'
import { ReenrichJobs } from '../../src/operations/reenrich/jobs/job-store.ts'
import { judgedBy } from '../../src/operations/reenrich/judge.ts'
import { reenrich } from '../../src/operations/reenrich/reenrich.ts'
import { rewriteHold } from '../../src/operations/reenrich/rewrite-hold.ts'
import { ReenrichJobRunner } from '../../src/operations/replay/job-runner.ts'
import type { ReplayLane, StoredEvents } from '../../src/operations/replay/ports.ts'
import { readReenrichments } from '../../src/operations/status/role/sources.ts'
import { systemClock } from '../../src/run/clock.ts'
import { LeaseLostError } from '../../src/run/errors.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import type { ShareLease } from '../../src/stores/redis/membership.ts'
import { rewriteLease } from '../../src/stores/redis/rewrite-lease.ts'
import type { Tenant } from '../../src/tenants/tenancy.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { type EventRow, eventRows } from '../support/event-rows.ts'
import { quiet, silent } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'
import { type Known, todaysData } from '../support/todays-data.ts'
import { until } from '../support/until.ts'

const [clickhouse, server] = await Promise.all([startTestClickHouse(), startTestRedis()])
const redis = quiet(connectRedis(server.url, { name: 'test', kind: 'loop' }))
after(() => redis.disconnect())
const jobs = new ReenrichJobs(redis)

const DAY_MS = 86_400_000
/** Noon, so that the minutes before it are of the same day. */
const NOW = Math.floor(Date.now() / DAY_MS) * DAY_MS + DAY_MS / 2
const COMPANIES: readonly Known[] = ['isp', 'moved', 'stays'].map((name, i) => ({
  ...{
    companyId: `${name}.example`,
    business_name: name,
    domain: `${name}.example`,
    classification: 'business' as const,
  },
  asn: 64_500 + i,
}))
/** Newer data than those that judged the stored events. A job does not apply them to events that its rules are not about. */
const data = todaysData((ip) => {
  const known = COMPANIES[Number(ip.split('.')[2])] ?? { companyId: '' }
  return known.companyId === 'stays.example' ? { ...known, business_name: 'renamed' } : known
})
const frozen: FrozenData = {
  names: ['test'],
  organisationOf: () => undefined,
  enrich: (...args) => data.enrich(...args),
}
const RULES = ['always-noise isp.example', 'is 17.0.1.0/24 other.example Other']

function rows(tenant_id: string): EventRow[] {
  return Array.from({ length: 90 }, (_, i) => {
    const known = COMPANIES[i % 3]!
    const at = NOW - (1 + (i % 5)) * DAY_MS - i * 60_000
    const enrichment = todaysData(() => known).enrich({ text: '', v4: 0, v6: undefined }, '')
    const values = Object.fromEntries(
      enrichment.columns.split('\t').map((value, at) => [ENRICHMENT_COLUMNS[at]!, value]),
    )
    const facts = { tenant_id, event_id: `e-${i}`, received_at: at, timestamp: at }
    return { ip: `17.0.${i % 3}.${i % 4}`, account_id: known.companyId, ...values, ...facts }
  })
}

async function insert(all: readonly EventRow[]): Promise<void> {
  await clickhouse.client.insert({
    table: 'events',
    columns: [...ROW_COLUMNS],
    values: Readable.from([eventRows(all)], { objectMode: false }),
    format: 'TabSeparated',
    clickhouse_settings: { insert_deduplication_token: `${Math.random()}` },
  })
}

/** Everything stored of a tenant. */
async function digest(tenant: string): Promise<unknown[]> {
  const of = (columns: string, table: string) =>
    clickhouse.rows(`SELECT ${columns} FROM ${table} WHERE tenant_id = '${tenant}'`)
  return [
    await of("count(), countIf(company_id = 'other.example'), sum(cityHash64(* EXCEPT tenant_id))", 'events'),
    await of('sum(events), sum(cityHash64(* EXCEPT (tenant_id, source)))', 'outcomes'),
    await of('count(), sum(cityHash64(* EXCEPT tenant_id))', 'hidden_events'),
    await of('sum(events), sum(cityHash64(* EXCEPT (tenant_id, at, run)))', 'hidden_changes'),
  ]
}

const TENANT = { plan: 'starter', archive: false, addresses: 'full', createdAt: '', rules: RULES } as const
const deleted = new Set<string>()
const getTenant = async (id: string): Promise<Tenant | undefined> => (deleted.has(id) ? undefined : { ...TENANT, id })

interface RunnerParts {
  readonly lease?: ShareLease
  readonly events?: ClickHouseReenrichment
  readonly pauseFactor?: number
}

function runner({ lease = rewriteLease({ client: redis }), events = store(), pauseFactor = 0 }: RunnerParts = {}) {
  return new ReenrichJobRunner({
    ...{ lease, events, jobs, getTenant, pauseFactor },
    stored: {} as StoredEvents,
    archive: { parts: async () => [], read: async () => [] },
    openLane: async () => ({ untilStored: async () => {} }) as unknown as ReplayLane,
    withData: (use) => use({ frozen, enricher: frozen as never, hostnames: undefined }),
    retentionDays: undefined,
    windowMs: DAY_MS,
    persisted: async () => {},
    clock: systemClock,
    log: silent,
    settleMs: 0,
  })
}

function store(): ClickHouseReenrichment {
  return new ClickHouseReenrichment(clickhouse.url, { sliceEvents: 20, portionGroups: 2 })
}

const request = (tenant: string, more: Partial<ReenrichJob> = {}) =>
  jobs.request(tenant, { rules: RULES, unclassified: false, days: 90, requestedBy: 'Ann', requestedAtMs: NOW, ...more })

async function untilEnded(tenant: string): Promise<ReenrichJob> {
  const read = async () => (await jobs.read(tenant)).job
  return (await until(read, (job) => job !== undefined && !['waiting', 'running'].includes(job.state)))!
}

beforeEach(async () => {
  for (const table of ['events', 'outcomes', 'hidden_events', 'hidden_changes'])
    await clickhouse.client.command({ query: `TRUNCATE TABLE ${table}` })
  for (const key of await redis.keys('{lease:rewrite}:reenrichments*')) await redis.del(key)
})

/** A process that ends after a call of a step: neither its lease nor its records change any more. */
function dying(last: string) {
  let isDead = false
  const real = rewriteLease({ client: redis })
  const lease: ShareLease = {
    ...real,
    run: async (...args) => {
      if (isDead) throw new LeaseLostError('dead')
      const result = await real.run(...args)
      if (last === `${args[0].name} ${args[2][0]}`) isDead = true
      return result
    },
    assertHeld: () => {
      if (isDead) throw new LeaseLostError('dead')
      real.assertHeld()
    },
  }
  const target = store()
  const events = new Proxy(target, {
    get(_, step: keyof ClickHouseReenrichment) {
      const value = target[step] as unknown
      if (typeof value !== 'function') return value
      if (step === 'close') return () => target.close()
      return (...args: unknown[]) => {
        if (isDead) throw new LeaseLostError('dead')
        const result: unknown = (value as (...args: unknown[]) => unknown).apply(target, args)
        if (step !== last || !(result instanceof Promise)) return result
        return result.then(() => {
          isDead = true
          throw new LeaseLostError('dead')
        })
      }
    },
  })
  return { lease, events, isDead: () => isDead }
}

test('a job gives the result of the command, for the events of its rules, after a kill at any step', async () => {
  const steps = ['begin', 'stage', 'stagedVisits', 'complete', 'remove', 'insert', 'countFiltered', 'drop']
  const tenants = ['shell', 'whole', ...steps.map((step) => step.toLowerCase())]
  await insert(tenants.flatMap(rows))
  // The shell judges all events again. Of those that no rule is about, it changes the ones with newer data.
  const events = store()
  const [from, to] = [NOW - 10 * DAY_MS, NOW].map((ms) => new Date(ms).toISOString().slice(0, 10)) as [string, string]
  const selection = { tenantId: 'shell', from, to, receivedUntilMs: NOW }
  const tools = { events, replacement: events, assertHeld: () => {}, say: () => {}, run: { id: 'shell', by: 'Ann' } }
  const byShell = await reenrich(selection, {
    ...tools,
    data: judgedBy(
      {
        ...frozen,
        enrich: (address, ...rest) =>
          address.text.startsWith('17.0.2.')
            ? todaysData(() => COMPANIES[2]!).enrich(address, ...rest)
            : frozen.enrich(address, ...rest),
      },
      TENANT,
    ),
  })
  await events.close()
  const expected = await digest('shell')

  await request('whole')
  const first = runner()
  await first.start()
  const done = await untilEnded('whole')
  await first.stop()
  assert.deepEqual(await digest('whole'), expected)
  assert.equal(done.state, 'done')
  const result = {
    ...{ changed_events: byShell.events.changed, filtered_events: 30, filtered_visits: 20, changed_visits: 20 },
    ...{ shown_events: 0, shown_visits: 0, deleted_events: 0, not_judged_events: 0, returned_events: 0 },
  }
  assert.deepEqual(done.result, result)

  for (const step of steps) {
    const tenant = step.toLowerCase()
    await request(tenant)
    const { isDead, ...parts } = dying(step)
    const killed = runner(parts)
    await killed.start()
    await until(async () => isDead())
    await killed.stop()
    const { job } = await jobs.read(tenant)
    assert.equal(job!.state, 'running', step)
    const next = runner()
    await next.start()
    const ended = await untilEnded(tenant)
    await next.stop()
    assert.deepEqual(ended.result, result, step)
    assert.deepEqual([ended.state, ended.jobId], ['done', job!.jobId], step)
    assert.deepEqual(await digest(tenant), expected, step)
  }
  assert.deepEqual(await readReenrichments(redis), { open: 0, jobs: [] })
})

test('a command finishes the copy of a killed job, and the job still knows its changes', async () => {
  await insert(rows('acme'))
  await request('acme')
  const { isDead, ...parts } = dying('complete')
  const killed = runner(parts)
  await killed.start()
  await until(async () => isDead())
  await killed.stop()
  const lease = rewriteLease({ client: redis })
  assert.equal(await lease.acquire(AbortSignal.timeout(10_000)), true)
  await endReenrichment(clickhouse.url, rewriteHold(redis, lease), () => {})
  await lease.release()
  const next = runner()
  await next.start()
  const { state, result } = await untilEnded('acme')
  await next.stop()
  assert.deepEqual([state, result?.changed_events, result?.filtered_visits], ['done', 60, 20])
})

test('of two requests one joins the other; a third waits for the running job', async () => {
  await insert(rows('acme'))
  const [one, two] = await Promise.all([
    request('acme', { rules: [RULES[0]!] }),
    request('acme', { rules: [RULES[1]!], days: null }),
  ])
  assert.equal(one.jobId, two.jobId)
  const { waiting } = await jobs.read('acme')
  assert.deepEqual([new Set(waiting!.rules), waiting!.days], [new Set(RULES), null])

  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const target = store()
  const events = new Proxy(target, {
    get: (_, step: keyof ClickHouseReenrichment) =>
      step === 'count' ? () => held.then(() => 90) : (target[step] as () => unknown).bind(target),
  })
  const working = runner({ events })
  await working.start()
  await until(async () => (await jobs.read('acme')).job?.state === 'running')
  const third = await request('acme', { rules: [RULES[0]!] })
  assert.notEqual(third.jobId, one.jobId)
  assert.deepEqual(
    (await readReenrichments(redis)).jobs.map(({ status, tenant_id }) => [status, tenant_id]),
    [
      ['running', 'acme'],
      ['waiting', 'acme'],
    ],
  )
  assert.equal(await jobs.cancel('acme', third.jobId), 'cancelled')
  const fourth = await request('acme', { rules: [RULES[0]!] })
  release()
  const last = await until(
    async () => (await jobs.read('acme')).job,
    (job) => job?.jobId === fourth.jobId && job.state === 'done',
  )
  await working.stop()
  assert.equal(last!.result?.changed_events, 0, 'the first job did it all')
})

test('a cancelled job changes nothing, and one that replaces events ends', async () => {
  await insert(rows('acme'))
  const before = await digest('acme')
  const job = await request('acme')
  const target = store()
  const cancelling = (at: keyof ClickHouseReenrichment, seen: (found: string) => void) =>
    new Proxy(target, {
      get:
        (_, step: keyof ClickHouseReenrichment) =>
        async (...args: never[]) => {
          if (step === at) seen(await jobs.cancel('acme', (await jobs.read('acme')).job!.jobId))
          return await (target[step] as (...args: never[]) => unknown).apply(target, args)
        },
    })
  // `groups` is a generator, so the proxy acts on the call before it.
  const parts = { groups: target.groups.bind(target) }
  let found = ''
  const early = runner({
    events: Object.assign(Object.create(cancelling('begin', (text) => (found = text))), parts),
  })
  await early.start()
  const ended = await untilEnded('acme')
  await early.stop()
  assert.deepEqual([found, ended.state, ended.jobId, ended.result], ['cancelling', 'cancelled', job.jobId, undefined])
  assert.deepEqual(await digest('acme'), before)
  assert.deepEqual(await clickhouse.rows("SELECT name FROM system.tables WHERE name LIKE 'reenrich%'"), [])
  assert.equal(await redis.zcard(keys.reenrichmentQueue()), 0)
})

test('a job ends with its tenant, and its record goes with the tenant', async () => {
  deleted.add('leaving')
  await request('leaving')
  const working = runner()
  await working.start()
  assert.equal((await untilEnded('leaving')).state, 'cancelled')
  await working.stop()
  await jobs.removeAll('leaving')
  assert.deepEqual(await jobs.read('leaving'), { job: undefined, waiting: undefined })
})

test('the time left follows the share that is done', () => {
  const job = { jobId: 'j', tenantId: 't', state: 'running', rules: [], unclassified: false, days: null } as const
  const times = { requestedAtMs: 0, requestedBy: 'Ann', startedAtMs: 0, changedEvents: 0, failures: 0 }
  const left = (share: number) => reenrichmentOf({ ...job, ...times, share }, 60_000).seconds_left
  assert.deepEqual([left(0), left(0.25), left(1)], [null, 180, 1])
})
