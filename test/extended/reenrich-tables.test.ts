import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { after, beforeEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ENRICHMENT_COLUMNS, ROW_COLUMNS } from '../../schemas/row.ts'
import { claimOf } from '../../src/enrichment/judge.ts'
import { ClickHouseReenrichment } from '../../src/operations/reenrich/clickhouse.ts'
import type { EventReplacement, Selection, TodaysData } from '../../src/operations/reenrich/ports.ts'
import { previewReenrich, reenrich } from '../../src/operations/reenrich/reenrich.ts'
import type { ReenrichReport } from '../../src/operations/reenrich/report.ts'
import { StartupError } from '../../src/run/errors.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { type EventRow, eventRows } from '../support/event-rows.ts'
import { type Known, todaysData } from '../support/todays-data.ts'

const clickhouse = await startTestClickHouse()
const store = new ClickHouseReenrichment(clickhouse.url, { sliceEvents: 30 })
after(() => store.close())

const NOVEMBER = Date.UTC(2025, 10, 20)
const DECEMBER = Date.UTC(2025, 11, 2)
const FROM_TO: Selection = {
  tenantId: 'acme',
  from: '2025-11-20',
  to: '2025-12-02',
  receivedUntilMs: Date.UTC(2026, 0, 1),
}

const OLD: Known = { companyId: 'old.example', business_name: 'Old', domain: 'old.example', classification: 'business' }
const UNKNOWN: Known = { companyId: '' }

/** The stored attributes of addresses, by their third number. */
const BEFORE: readonly Known[] = [
  OLD,
  { ...OLD, companyId: 'same.example', domain: 'same.example' },
  { ...OLD, companyId: 'host.example', domain: 'host.example' },
  UNKNOWN,
  { ...OLD, companyId: 'steady.example', domain: 'steady.example' },
  { ...OLD, companyId: 'gone.example', domain: 'gone.example' },
]
const TODAY: readonly Known[] = [
  { ...OLD, companyId: 'new.example', domain: 'new.example' },
  { ...BEFORE[1]!, business_name: 'Same, renamed' },
  { ...BEFORE[2]!, noise: true, classification: 'hosting' },
  { ...OLD, companyId: 'found.example', domain: 'found.example' },
  BEFORE[4]!,
  UNKNOWN,
]

const before = todaysData((ip) => BEFORE[Number(ip.split('.')[2])] ?? UNKNOWN)
const today = todaysData((ip) => TODAY[Number(ip.split('.')[2])] ?? UNKNOWN)

/** A row with its old attributes. */
function row(data: TodaysData, ip: string, more: EventRow): EventRow {
  const enrichment = data.enrich({ text: ip, v4: 0, v6: undefined }, '')
  const values = Object.fromEntries(enrichment.columns.split('\t').map((value, i) => [ENRICHMENT_COLUMNS[i]!, value]))
  return { ip, account_id: enrichment.companyId, ...values, ...more }
}

function events(data: TodaysData, tenant_id = 'acme'): EventRow[] {
  return Array.from({ length: 60 }, (_, i) => {
    const at = (i % 2 ? NOVEMBER : DECEMBER) + i * 60_000
    const own = i % 7 === 0 ? { account_id: `own-${i % 3}` } : {}
    const job_id = i % 5 === 0 ? 'job' : ''
    const ip = `17.0.${i % 6}.${i % 4}`
    return row(data, ip, {
      tenant_id,
      event_id: `e-${i}`,
      received_at: at,
      timestamp: at,
      job_id,
      properties: '{"a":"\t\'"}',
      extra: `{"url":"https://example.com/?utm_source=${i}"}`,
      ...own,
    })
  })
}

async function insert(rows: readonly EventRow[]): Promise<void> {
  await clickhouse.client.insert({
    table: 'events',
    columns: [...ROW_COLUMNS],
    values: Readable.from([eventRows(rows)], { objectMode: false }),
    format: 'TabSeparated',
    clickhouse_settings: { insert_deduplication_token: `${Math.random()}` },
  })
}

/** The rows that a tenant sees, without its name. */
async function seen(tenant = 'acme'): Promise<Record<string, unknown[]>> {
  const all: Record<string, unknown[]> = {}
  for (const table of ['events', 'accounts', 'companies', 'daily_visits', 'daily_outcomes', 'sessions']) {
    all[table] = await clickhouse.rows(
      `SELECT * EXCEPT tenant_id${table === 'events' ? ', url, utm_source' : ''} FROM ${table} WHERE tenant_id = '${tenant}' ORDER BY ALL`,
    )
  }
  return all
}

let runs = 0

function run(
  selection = FROM_TO,
  replacement: EventReplacement = store,
  bucketAddresses = 10,
): Promise<ReenrichReport> {
  const parts = { events: store, data: today, replacement, assertHeld: () => {}, say: () => {}, bucketAddresses }
  return reenrich(selection, { ...parts, run: { id: `run-${runs++}`, by: 'test' } })
}

function preview(selection = FROM_TO): Promise<ReenrichReport> {
  return previewReenrich(selection, { events: store, data: today, say: () => {}, bucketAddresses: 10 })
}

async function ownTables(): Promise<unknown[]> {
  return await clickhouse.rows("SELECT name FROM system.tables WHERE database = 'ipid' AND name LIKE 'reenrich%'")
}

beforeEach(async () => {
  for (const table of ['events', 'outcomes', 'hidden_events', 'hidden_changes'])
    await clickhouse.client.command({ query: `TRUNCATE TABLE ${table}` })
  for (const table of ['reenrich_staged', 'reenrich_building', 'reenrich_changes']) {
    await clickhouse.client.command({ query: `DROP TABLE IF EXISTS ${table} SYNC` })
  }
  await insert([...events(before), ...events(before, 'other')])
})

test('stored events equal those that today’s data would store, and match the preview', async () => {
  const other = await seen('other')
  const wasTotal = await clickhouse.rows(
    "SELECT day, lane, sum(events) AS n FROM daily_outcomes WHERE tenant_id = 'acme' GROUP BY ALL ORDER BY ALL",
  )
  const foreseen = await preview()
  assert.deepEqual(await ownTables(), [])
  const report = await run()
  assert.deepEqual(report, foreseen)
  const kept = (rows: EventRow[]) => rows.filter(({ ip }) => String(ip).split('.')[2] !== '2')
  await insert(kept(events(today, 'twin')))
  const [is, twin] = [await seen(), await seen('twin')]
  for (const table of ['events', 'accounts', 'companies', 'daily_visits', 'sessions'])
    assert.deepEqual(is[table], twin[table], table)
  assert.deepEqual(
    await clickhouse.rows(
      "SELECT day, lane, sum(events) AS n FROM daily_outcomes WHERE tenant_id = 'acme' GROUP BY ALL ORDER BY ALL",
    ),
    wasTotal,
  )
  assert.deepEqual(
    await clickhouse.rows(
      "SELECT day, lane, status, classification, events FROM daily_outcomes WHERE tenant_id = 'acme' AND status = 'filtered' ORDER BY ALL",
    ),
    expectedFiltered(),
  )
  assert.deepEqual(await seen('other'), other)
  assert.deepEqual(await ownTables(), [])
  const again = await run()
  assert.equal(again.events.changed, 0)
  // The hidden ones too.
  assert.equal(again.events.judged, 60)
  assert.deepEqual(await seen(), is)
})

/** Places of user agents in an event. */
const BOT = '"Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)"'
const BROWSER = '"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"'
const TEXTS: readonly Partial<Pick<EventRow, 'properties' | 'extra'>>[] = [
  { properties: `{"user_agent":${BOT}}` },
  { properties: `{"a":1,"$user_agent" : ${BOT}}` },
  { properties: `{"context":{"userAgent":${BOT}}}` },
  { properties: `{"segment":{"context":{"userAgent":${BOT}}}}` },
  { extra: `{"http":{"useragent":${BOT}}}` },
  { extra: `{"request":{"$raw_user_agent":${BOT}}}`, properties: `{"user_agent":${BROWSER}}` },
  { properties: `{"user_agent":7,"context":{"user_agent":${BOT}}}` },
  { properties: `{"user_agent":{"a":${BOT}}}` },
  { properties: `{"user_agent":null,"userAgent":${BOT}}` },
  { properties: String.raw`{"user_agent":"AhrefsBot\/7.0 \"x\""}` },
  { properties: `{"user_agent":${BROWSER},"context":{"user_agent":${BOT}}}` },
  { properties: `{"user_agent":${BROWSER}}` },
  { properties: `{"seen":[{"user_agent":${BOT}}]}` },
  { properties: `{"text":"\\"user_agent\\":${BOT.replaceAll('"', '\\"')}"}` },
  { properties: `{"other":{"user_agent":${BOT}}}` },
  { properties: `no JSON "user_agent":${BOT}` },
  { properties: '', extra: '' },
]

test('an event leaves for its stored user agent exactly if a new event would not be stored', async () => {
  const bots: TodaysData = {
    enrich: (address, hostname, claimed) =>
      claimed === undefined
        ? before.enrich(address, hostname)
        : {
            ...before.enrich(address, hostname),
            noise: true,
            classification: 'bot',
            filteredAs: `bot:${claimed}:claimed`,
          },
  }
  await clickhouse.client.command({ query: 'TRUNCATE TABLE events' })
  const rows = TEXTS.map((text, i) =>
    row(before, '17.0.0.1', { properties: '', extra: '', ...text, event_id: `ua-${i}`, received_at: NOVEMBER + i }),
  )
  await insert(rows)
  const parts = { events: store, data: bots, replacement: store, assertHeld: () => {}, say: () => {} }
  await reenrich(FROM_TO, { ...parts, run: { id: `run-${runs++}`, by: 'test' } })
  const left = await clickhouse.rows<{ event_id: string }>("SELECT event_id FROM events WHERE tenant_id = 'acme'")
  const isPerson = ({ properties, extra }: EventRow) =>
    claimOf({ properties: String(properties), extra: String(extra) }) === undefined
  const people = rows.filter(isPerson).map(({ event_id }) => event_id)
  assert.equal(people.length, 8)
  assert.deepEqual(left.map(({ event_id }) => event_id).sort(), people.sort())
  assert.deepEqual(
    await clickhouse.rows(
      "SELECT status, reason, sum(events) AS n FROM daily_outcomes WHERE tenant_id = 'acme' AND status = 'filtered' GROUP BY ALL",
    ),
    [{ status: 'filtered', reason: 'bot:ahrefsbot:claimed', n: rows.length - people.length }],
  )
})

/** Counts of the events as sent. */
function expectedFiltered() {
  const sums = new Map<string, number>()
  for (const { ip, received_at, job_id } of events(before)) {
    if (String(ip).split('.')[2] !== '2') continue
    const key = `${new Date(Number(received_at)).toISOString().slice(0, 10)} ${job_id === '' ? 'live' : 'batch'}`
    sums.set(key, (sums.get(key) ?? 0) + 1)
  }
  return [...sums].sort().map(([key, n]) => {
    const [day, lane] = key.split(' ')
    return { day: day!, lane: lane!, status: 'filtered', classification: 'hosting', events: n }
  })
}

/** Everything stored of a tenant, in two lines, without its name. */
async function digest(tenant: string): Promise<unknown[]> {
  const of = (columns: string, table: string) =>
    clickhouse.rows(`SELECT ${columns} FROM ${table} WHERE tenant_id = '${tenant}'`)
  return [
    await of('count(), sum(cityHash64(* EXCEPT tenant_id))', 'events'),
    await of('sum(events), sum(cityHash64(* EXCEPT (tenant_id, source)))', 'outcomes'),
    await of('count(), sum(cityHash64(* EXCEPT tenant_id))', 'hidden_events'),
    await of('sum(events), sum(cityHash64(* EXCEPT (tenant_id, at, run)))', 'hidden_changes'),
  ]
}

let whole: unknown[] | undefined

/** The result of an uninterrupted run. */
async function wholeDigest(): Promise<unknown[]> {
  if (whole === undefined) {
    await run()
    whole = await digest('acme')
  }
  return whole
}

type Step = keyof EventReplacement

/** The replacement, with a hook around each step. */
function around(act: (step: Step, work: () => Promise<unknown>) => Promise<unknown>): EventReplacement {
  return new Proxy(store, {
    get(target, step: Step) {
      const work = target[step].bind(target) as (...args: never[]) => Promise<unknown>
      return (...args: never[]) => act(step, () => work(...args))
    },
  })
}

/** Interrupted after the first call of a step. */
const cutOff = (last: Step) =>
  around(async (step, work) => {
    const result = await work()
    if (step === last) throw new Error('cut off')
    return result
  })

test('a run interrupted after any step gives the same result when it runs again', async () => {
  const steps = ['stage', 'complete', 'remove', 'insert', 'countFiltered'] as const
  await insert(steps.flatMap((step) => events(before, step.toLowerCase())))
  const other = await digest('other')
  const whole = await wholeDigest()
  for (const step of steps) {
    const selection = { ...FROM_TO, tenantId: step.toLowerCase() }
    await assert.rejects(run(selection, cutOff(step)), /cut off/)
    await run(selection)
    assert.deepEqual(await digest(selection.tenantId), whole, step)
  }
  assert.deepEqual(await digest('other'), other)
  assert.deepEqual(await ownTables(), [])
})

test('a preview refuses leftovers of an interrupted run, and a run of another tenant ends it', async () => {
  await assert.rejects(run(FROM_TO, cutOff('remove')), /cut off/)
  await assert.rejects(preview(), StartupError)
  await run({ ...FROM_TO, tenantId: 'nobody' })
  assert.equal((await preview()).events.changed, 0)
})

test('the server is killed while it removes events: the next run finishes it', async () => {
  await insert(events(before, 'killed'))
  const whole = await wholeDigest()
  const killing = around(async (step, work) => {
    const working = work()
    working.catch(() => {})
    if (step === 'remove') {
      await sleep(Math.random() * 60)
      await clickhouse.kill()
    }
    return await working
  })
  const selection = { ...FROM_TO, tenantId: 'killed' }
  await assert.rejects(run(selection, killing))
  await clickhouse.restart()
  await run(selection)
  assert.deepEqual(await digest('killed'), whole)
})

test('a removal that ClickHouse cannot do is ended, so that nothing waits for it for ever', async () => {
  const broken = "ALTER TABLE events DELETE WHERE throwIf(tenant_id = 'acme', 'as in reenrich_staged')"
  await clickhouse.client.command({ query: broken, clickhouse_settings: { mutations_sync: '0' } })
  await assert.rejects(run(), /^UnavailableError: ClickHouse cannot remove events: .*as in reenrich_staged/)
  await run()
  assert.deepEqual(await digest('acme'), await wholeDigest())
})

test('events stored meanwhile are judged with the rest, or left alone', async () => {
  const late = (event_id: string) =>
    row(before, '17.0.0.0', { tenant_id: 'acme', event_id, received_at: NOVEMBER, timestamp: NOVEMBER })
  let isFirst = true
  const busy = around(async (step, work) => {
    if (step === 'stage' && isFirst) {
      isFirst = false
      await insert([late('before')])
    }
    const result = await work()
    if (step === 'complete') await insert([late('later')])
    return result
  })
  const report = await run(FROM_TO, busy, 1_000)
  assert.equal(report.events.judged, 61)
  const found = await clickhouse.rows(
    "SELECT event_id, account_id FROM events WHERE event_id IN ('before', 'later') ORDER BY event_id",
  )
  assert.deepEqual(found, [
    { event_id: 'before', account_id: 'new.example' },
    { event_id: 'later', account_id: 'old.example' },
  ])
  assert.deepEqual(
    await clickhouse.rows("SELECT count() AS n, uniqExact(event_id) AS ids FROM events WHERE tenant_id = 'acme'"),
    [{ n: 52, ids: 52 }],
  )
})

test('days, a batch job and the time of the call limit the events that are judged', async () => {
  assert.equal((await preview({ ...FROM_TO, to: '2025-11-20' })).events.judged, 30)
  assert.equal((await preview({ ...FROM_TO, from: '2025-11-21', to: '2025-12-01' })).events.judged, 0)
  assert.equal((await preview({ ...FROM_TO, job: 'job' })).events.judged, 12)
  assert.equal((await preview({ ...FROM_TO, receivedUntilMs: DECEMBER - 1 })).events.judged, 30)
  assert.equal((await preview({ ...FROM_TO, tenantId: "no'body" })).events.judged, 0)
})
