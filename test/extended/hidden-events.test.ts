import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { after, beforeEach, test } from 'node:test'
import { ENRICHMENT_COLUMNS, ROW_COLUMNS } from '../../schemas/row.ts'
import { ClickHouseCompanies } from '../../src/companies/companies.ts'
import type { FrozenData } from '../../src/enrichment/engine.ts'
import { ClickHouseTables } from '../../src/operations/backup/table-copies.ts'
import { ClickHouseErasableEvents } from '../../src/operations/erasure/erasable-events.ts'
import { ClickHouseReenrichment } from '../../src/operations/reenrich/clickhouse.ts'
import { HIDDEN_ONLY, type ReenrichJob } from '../../src/operations/reenrich/jobs/job.ts'
import { ReenrichJobs } from '../../src/operations/reenrich/jobs/job-store.ts'
import type { Slice } from '../../src/operations/reenrich/ports.ts'
import { ClickHouseStoredEvents } from '../../src/operations/reenrich/stored-events.ts'
import { ReenrichJobRunner } from '../../src/operations/replay/job-runner.ts'
import type { ReplayLane, StoredEvents } from '../../src/operations/replay/ports.ts'
import { ReplayTables } from '../../src/operations/replay/replay-tables.ts'
import { ClickHouseAgedTables } from '../../src/operations/retention/aged-tables.ts'
import { absentRows } from '../../src/pipeline/sinks/clickhouse/inserter.ts'
import { systemClock } from '../../src/run/clock.ts'
import { connectReading, QuestionReader } from '../../src/stores/clickhouse/reader.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { rewriteLease } from '../../src/stores/redis/rewrite-lease.ts'
import { readSourceCounts } from '../../src/tenants/sources/counts.ts'
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
const NOW = Date.now()
const NAMES = ['isp', 'shop', 'mill', 'bank'] as const
const knownOf = (name: string, asn: number): Known => ({
  ...{ companyId: `${name}.example`, business_name: name, domain: `${name}.example`, classification: 'business' },
  asn,
})
/** Data have changed since the events were stored: they name every organisation otherwise, and call one of them noise. */
const frozen: FrozenData = {
  names: ['test'],
  organisationOf: () => undefined,
  enrich: (...args) =>
    todaysData((ip) => ({
      ...knownOf(`newer-${NAMES[Number(ip.split('.')[2])]}`, 1),
      ...(ip.split('.')[2] === '2' && { noise: true, classification: 'hosting' }),
    })).enrich(...args),
}

/** Visits of four companies; of one, also under an account that the caller names. The addresses of `masked` are not stored. */
function rows(tenant_id = 'acme', isMasked = false): EventRow[] {
  return Array.from({ length: 120 }, (_, i) => {
    const at = NOW - (1 + (i % 40)) * DAY_MS - i * 60_000
    const enrichment = todaysData(() => knownOf(NAMES[i % 4]!, 64_500 + (i % 4))).enrich(
      { text: '', v4: 0, v6: undefined },
      '',
    )
    const values = Object.fromEntries(
      enrichment.columns.split('\t').map((value, at) => [ENRICHMENT_COLUMNS[at]!, value]),
    )
    return {
      ...{ ip: isMasked ? `#${i % 5}` : `17.0.${i % 4}.${i % 5}`, ...values },
      account_id: i % 8 === 0 ? 'own' : enrichment.companyId,
      ...{ tenant_id, event_id: `e-${i}`, received_at: at, timestamp: at, session_id: i % 11 },
      ...{
        job_id: i % 7 === 0 ? 'job' : '',
        request_id: i % 7 === 0 ? '' : `r-${i}`,
        source_id: i % 3 === 0 ? 'src_1' : '',
      },
      ...{ properties: '{"a":"\t\'"}', extra: `{"url":"https://x.example/pricing?utm_source=${i % 3}"}` },
      ...{ known_domain: i % 9 === 0 ? 'isp.example' : '' },
    }
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

const SEEN = [
  ...['events', 'accounts', 'companies', 'daily_visits', 'sessions', 'daily_outcomes', 'outcomes', 'company_heat'],
  ...['corrected_companies', 'hidden_events'],
]

/** Each table and view: its number of rows, and a sum of hashes of all their columns. */
async function digest(tenant = 'acme'): Promise<Record<string, unknown>> {
  const all: Record<string, unknown> = {}
  for (const table of SEEN) {
    const more = table === 'events' ? ', url, utm_source' : ''
    const [found] = await clickhouse.rows(
      `SELECT count() AS n, sum(cityHash64(*${more})) AS hash FROM ${table} WHERE tenant_id = '${tenant}'`,
    )
    all[table] = found
  }
  return all
}

let rules: readonly string[] = []
let unclassified: Tenant['unclassified']
const getTenant = async (id: string): Promise<Tenant> => ({
  ...{ id, plan: 'starter', archive: false, addresses: 'full', createdAt: '', rules },
  ...(unclassified && { unclassified }),
})

function runner(events = new ClickHouseReenrichment(clickhouse.url, { sliceEvents: 100, portionGroups: 20 })) {
  return new ReenrichJobRunner({
    ...{ lease: rewriteLease({ client: redis }), events, jobs, getTenant, pauseFactor: 0 },
    stored: {} as StoredEvents,
    archive: { parts: async () => [], read: async () => [] },
    openLane: async () => ({ untilStored: async () => {} }) as unknown as ReplayLane,
    withData: (use) => use({ frozen, enricher: frozen as never, hostnames: undefined }),
    ...{ retentionDays: undefined, windowMs: DAY_MS, persisted: async () => {}, clock: systemClock, log: silent },
    ...{ settleMs: 0, reconcileMs: 50 },
  })
}

/** Changes the rules as a person does, and waits for the job. */
async function change(now: readonly string[], more: Partial<ReenrichJob> = {}): Promise<ReenrichJob> {
  const changed = [...now.filter((rule) => !rules.includes(rule)), ...rules.filter((rule) => !now.includes(rule))]
  rules = now
  const request = { rules: changed, unclassified: false, days: null, requestedBy: 'Ann', requestedAtMs: NOW, ...more }
  const { jobId } = await jobs.request('acme', request)
  return await untilDone(jobId)
}

async function untilDone(jobId: string): Promise<ReenrichJob> {
  const ended = await until(
    async () => (await jobs.read('acme')).job,
    (job) => job?.jobId === jobId && !['waiting', 'running'].includes(job.state),
  )
  assert.equal(ended!.state, 'done', ended!.problem)
  return ended!
}

async function count(where: string): Promise<number[]> {
  const found = await clickhouse.rows<{ n: number }>(
    `SELECT (SELECT count() FROM events WHERE ${where}) AS e, (SELECT count() FROM hidden_events WHERE ${where}) AS h`,
  )
  return Object.values(found[0]!).map(Number)
}

/** The status and reason of a receipt. */
async function receipt(eventId: string): Promise<unknown> {
  const [found] = await new ClickHouseStoredEvents(clickhouse.client).find({ tenantId: 'acme', eventId })
  return [found?.status, found?.reason]
}

beforeEach(async () => {
  for (const table of ['events', 'outcomes', 'hidden_events', 'hidden_changes', 'company_corrections']) {
    await clickhouse.client.command({ query: `TRUNCATE TABLE ${table}` })
  }
  for (const table of ['reenrich_staged', 'reenrich_building', 'reenrich_changes']) {
    await clickhouse.client.command({ query: `DROP TABLE IF EXISTS ${table} SYNC` })
  }
  for (const key of await redis.keys('{lease:rewrite}:reenrichments*')) await redis.del(key)
  rules = []
  unclassified = undefined
})

const RULES = {
  'own 17.0.1.0/24': 'shop.example',
  'always-noise isp.example': 'isp.example',
  'always-noise AS64502': 'mill.example',
  'always-noise bank': 'bank.example',
}

test('a rule hides stored visits everywhere, and its removal brings back every number', async () => {
  await insert([...rows(), ...rows('other')])
  const correction = { tenant_id: 'acme', company_id: 'bank.example', field: 'name', at: '2026-01-01 00:00:00.000' }
  await clickhouse.client.insert({
    table: 'company_corrections',
    values: [{ ...correction, change_id: 'c', value: 'The bank', before: '', by: 'Ann', undoes: '' }],
    format: 'JSONEachRow',
  })
  const [before, other] = [await digest(), await digest('other')]
  const working = runner()
  await working.start()
  for (const [rule, company] of Object.entries(RULES)) {
    const done = await change([rule])
    assert.deepEqual([done.result?.filtered_events, done.result?.changed_visits], [30, 0], rule)
    assert.deepEqual(await count(`tenant_id = 'acme' AND company_id = '${company}'`), [0, 30], rule)
    const now = await digest()
    for (const table of [
      'events',
      'accounts',
      'companies',
      'daily_visits',
      'sessions',
      'daily_outcomes',
      'company_heat',
    ])
      assert.notDeepEqual(now[table], before[table], `${rule} ${table}`)
    const reason = rule.startsWith('own') ? 'own' : 'always_noise'
    assert.deepEqual(
      await clickhouse.rows(
        "SELECT status, reason, sum(events) AS n FROM daily_outcomes WHERE tenant_id = 'acme' GROUP BY ALL ORDER BY ALL",
      ),
      [
        { status: 'filtered', reason, n: 30 },
        { status: 'stored', reason: '', n: 90 },
      ],
    )
    assert.deepEqual(await receipt(`e-${NAMES.indexOf(company.split('.')[0] as 'isp')}`), ['hidden', rule])
    const shown = await change([], { days: HIDDEN_ONLY })
    assert.deepEqual([shown.result?.shown_events, shown.result?.filtered_events], [30, 0], rule)
    assert.deepEqual(await digest(), before, rule)
    assert.deepEqual(await receipt('e-1'), ['stored', undefined])
  }
  await working.stop()
  assert.deepEqual(await digest('other'), other)
  assert.deepEqual(
    await clickhouse.rows(
      "SELECT action, by, rule, sum(events) AS n FROM hidden_changes WHERE company_id = 'shop.example' GROUP BY ALL ORDER BY action",
    ),
    ['hidden', 'shown'].map((action) => ({ action, by: 'Ann', rule: 'own 17.0.1.0/24', n: 30 })),
  )
})

test('visits that two rules hide come back with the second one', async () => {
  await insert(rows())
  const before = await digest()
  const both = ['always-noise isp.example', 'own 17.0.0.0/24']
  const working = runner()
  await working.start()
  await change(both)
  assert.deepEqual(await count("company_id = 'isp.example'"), [0, 30])
  await change([both[0]!], { days: HIDDEN_ONLY })
  assert.deepEqual(await count("company_id = 'isp.example'"), [0, 30])
  assert.deepEqual(await receipt('e-0'), ['hidden', both[0]])
  await change([], { days: HIDDEN_ONLY })
  await working.stop()
  assert.deepEqual(await digest(), before)
  // A copy of the companies elsewhere learns of it.
  const reading = connectReading(clickhouse.url, 'test')
  after(() => reading.close())
  const companies = new ClickHouseCompanies(new QuestionReader(reading), systemClock)
  const part = await companies.part('acme', {}, { after: '', updatedSinceMs: NOW, limit: 10 })
  assert.deepEqual(
    part.companies.map(({ company_id }) => company_id),
    ['isp.example'],
  )
})

test('visits without an address follow the rules that their stored values decide', async () => {
  await insert(rows('acme', true))
  const before = await digest()
  const working = runner()
  await working.start()
  assert.equal((await change(['own 17.0.0.0/8'])).result?.filtered_events, 0)
  assert.equal((await change(['always-noise isp.example'])).result?.filtered_events, 30)
  assert.equal((await change([], { days: HIDDEN_ONLY })).result?.shown_events, 30)
  await working.stop()
  assert.deepEqual(await digest(), before)
})

test('only the visits of the chosen days are hidden, and all of them come back', async () => {
  await insert(rows())
  const before = await digest()
  const working = runner()
  await working.start()
  const { result } = await change(['always-noise isp.example'], { days: 10 })
  assert.ok(result!.filtered_events > 0 && result!.filtered_events < 30)
  await change([], { days: HIDDEN_ONLY })
  await working.stop()
  assert.deepEqual(await digest(), before)
})

test('a rule that is removed in any way shows its visits again, without a request', async () => {
  await insert(rows())
  const before = await digest()
  const working = runner()
  await working.start()
  await change(['always-noise isp.example'])
  // As after a kill between the removal and the request, or a restore of older rules.
  rules = []
  await until(async () => (await count("company_id = 'isp.example'"))[1] === 0)
  await until(async () => (await jobs.read('acme')).job?.state === 'done')
  await working.stop()
  assert.deepEqual(await digest(), before)
})

test('deleting for good removes the hidden visits of a rule, counts them, and is not undone', async () => {
  await insert(rows())
  const working = runner()
  await working.start()
  await change(['always-noise isp.example', 'own 17.0.1.0/24'])
  const outcomes = () => clickhouse.rows("SELECT * FROM daily_outcomes WHERE tenant_id = 'acme' ORDER BY ALL")
  const counted = await outcomes()
  const { jobId } = await jobs.request('acme', {
    ...{ rules: ['always-noise isp.example'], deletes: ['always-noise isp.example'], unclassified: false },
    ...{ days: HIDDEN_ONLY, requestedBy: 'Ann', requestedAtMs: NOW },
  })
  assert.equal((await untilDone(jobId)).result?.deleted_events, 30)
  assert.deepEqual(await count("company_id = 'isp.example'"), [0, 0])
  assert.deepEqual(await count("company_id = 'shop.example'"), [0, 30])
  assert.deepEqual(await outcomes(), counted)
  await change([], { days: HIDDEN_ONLY })
  await working.stop()
  assert.deepEqual(await count("tenant_id = 'acme'"), [90, 0])
})

test('a hidden event is stored: neither a sink nor a replay brings it a second time', async () => {
  await insert(rows())
  const working = runner()
  await working.start()
  await change(['always-noise isp.example'])
  await working.stop()
  assert.deepEqual(await absentRows(clickhouse.client, [eventRows(rows())]), [])
  const tables = new ReplayTables(clickhouse.url)
  const span = { fromMs: 0, toMs: NOW }
  const found = await tables.rowsOf('acme', ['e-0', 'e-1'], span)
  await tables.close()
  assert.deepEqual([...found.keys()].sort(), ['e-0', 'e-1'])
  const backup = new ClickHouseTables(clickhouse.url, silent)
  const asked = ['e-0', 'e-1', 'none'].map((eventId) => ({ tenantId: 'acme', eventId }))
  assert.deepEqual(await backup.storedAmong(asked), new Set([0, 1]))
  let since = 0
  for await (const events of backup.eventsSince(0)) since += events.length
  await backup.close()
  assert.equal(since, 120)
})

test('an insert into the hidden events that did not happen is noticed and done again', async () => {
  class Interrupted extends ClickHouseReenrichment {
    inserts = 0
    override async insert(slice: Slice): Promise<void> {
      this.inserts++
      if (this.inserts > 1) await super.insert(slice)
    }
  }
  await insert(rows())
  const events = new Interrupted(clickhouse.url)
  const working = runner(events)
  await working.start()
  await change(['always-noise isp.example'])
  await working.stop()
  assert.equal(events.inserts, 2)
  assert.deepEqual(await count("company_id = 'isp.example'"), [0, 30])
})

test('erasure and retention remove hidden events, and the counts of sources have them', async () => {
  await insert(rows())
  const working = runner()
  await working.start()
  await change(['always-noise isp.example', 'own 17.0.1.0/24'])
  await working.stop()
  const counts = await readSourceCounts(clickhouse.client, 'acme', NOW)
  const [hidden] = await clickhouse.rows<{ n: number }>(
    "SELECT countIf(source_id = 'src_1' AND toDate32(received_at) >= yesterday()) AS n FROM hidden_events",
  )
  assert.ok(hidden!.n > 0)
  assert.equal(counts.get('src_1')!.recent.filtered, hidden!.n)

  const erasing = new ClickHouseErasableEvents(clickhouse.url)
  await erasing.begin({ tenantId: 'acme', selector: { kind: 'ip', value: '17.0.0.0' }, beforeMs: Date.now() })
  const found: string[] = []
  for await (const ids of erasing.eventIds(0)) found.push(...ids)
  assert.equal(found.length, 6)
  assert.deepEqual(await erasing.idsAmong(found, 0, NOW), new Set(found))
  assert.equal((await erasing.remove(performance.now() + 60_000)).rows, 6)
  await erasing.end()
  assert.deepEqual(await count("ip = '17.0.0.0'"), [0, 0])

  const old = `received_at < toStartOfDay(now('UTC')) - INTERVAL 5 DAY`
  assert.ok((await count(old))[1]! > 0)
  const tables = new ClickHouseAgedTables({ url: clickhouse.url })
  await tables.removeAged({ defaultDays: 5, ofTenants: new Map() }, Date.now())
  await until(async () => (await count(old)).every((rows) => rows === 0))
  assert.ok((await count('true'))[1]! > 0)
})

test('hidden_events has every stored column of events', async () => {
  const columns = (table: string) =>
    clickhouse.rows(
      `SELECT name, type, compression_codec FROM system.columns WHERE database = 'ipid' AND table = '${table}'
       AND default_kind IN ('', 'DEFAULT') AND NOT startsWith(name, 'hidden_') ORDER BY position`,
    )
  assert.deepEqual(await columns('hidden_events'), await columns('events'))
})
