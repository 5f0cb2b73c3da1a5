import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { AlertRecord } from '../../schemas/alert.ts'
import { ALERT_MESSAGES_PER_HOUR } from '../../schemas/limits.ts'
import { weekReader } from '../../src/alerts/digests/week.ts'
import { Evaluator, WEEKLY } from '../../src/alerts/evaluation/evaluator.ts'
import { ClickHouseVisits } from '../../src/alerts/evaluation/visits.ts'
import type { Message } from '../../src/alerts/messages.ts'
import { type Alert, RedisAlerts } from '../../src/alerts/redis/alert-store.ts'
import { RedisDeliveries } from '../../src/alerts/redis/delivery-store.ts'
import { RedisOccurrences } from '../../src/alerts/redis/occurrence-store.ts'
import { Sender } from '../../src/alerts/sender.ts'
import { Channels } from '../../src/alerts/sending/channels.ts'
import { Destinations } from '../../src/alerts/sending/destinations.ts'
import { Mailer } from '../../src/alerts/sending/mail.ts'
import { ClickHouseHome } from '../../src/companies/home.ts'
import { Segments } from '../../src/companies/segments/segments.ts'
import { RedisExports } from '../../src/exports/redis/export-store.ts'
import { lastDue } from '../../src/exports/schedule.ts'
import { ClickHouseReenrichment } from '../../src/operations/reenrich/clickhouse.ts'
import { judgeByRules } from '../../src/operations/reenrich/judge.ts'
import { reenrich } from '../../src/operations/reenrich/reenrich.ts'
import { packBlock } from '../../src/pipeline/event/block.ts'
import { EnvelopeState, identityOf } from '../../src/pipeline/event/envelope.ts'
import { touchedCompanies } from '../../src/pipeline/sinks/touched/touched-companies.ts'
import { EndedJobs } from '../../src/pipeline/sources/batch/redis/ended-jobs.ts'
import { connectReading, QuestionReader } from '../../src/stores/clickhouse/reader.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { Membership } from '../../src/stores/redis/membership.ts'
import { RedisTenantStore } from '../../src/tenants/redis/tenant-store.ts'
import { addAlert, noFiles, testSecrets } from '../support/alerts.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { type EventRow, eventInserter, eventRows } from '../support/event-rows.ts'
import { readMail, startMailServer } from '../support/mail.ts'
import { quiet, silent } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'
import { handClock } from '../support/tenants.ts'
import { todaysData } from '../support/todays-data.ts'
import { until } from '../support/until.ts'

const DAY_MS = 86_400_000
const NOON = Date.UTC(2026, 10, 25, 12)
const clickhouse = await startTestClickHouse()
const redis = await startTestRedis()
const insert = eventInserter(clickhouse)
let tenants = 0

/** An evaluator for a new tenant on the shared stores. @param perHour messages of an alert in an hour */
async function startEvaluator(t: TestContext, perHour = 1_000) {
  const tenantId = `tenant-${tenants++}`
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop', timeoutMs: 5_000 }))
  await client.flushall()
  const clock = handClock(NOON)
  const store = new RedisTenantStore(client)
  const [createdAt, plan] = ['2026-01-01T00:00:00.000Z', 'starter']
  await store.createTenant({ id: tenantId, plan, archive: false, addresses: 'full', createdAt })
  const [alerts, deliveries, segments] = [
    new RedisAlerts(client),
    new RedisDeliveries(client),
    new Segments(client, clock),
  ]
  const lease = new Membership({ client, name: 'alerts' }).share(0)
  const occurrences = new RedisOccurrences(client, lease, perHour)
  const reading = connectReading(clickhouse.url, 'test')
  const visits = new ClickHouseVisits(
    new QuestionReader(reading),
    async () => [{ id: 'src_1', name: 'Website' }],
    clock,
  )
  const evaluator = new Evaluator({
    ...{ lease, alerts, occurrences, segments, clock, log: silent, retentionDays: undefined, settleMs: 0 },
    visits,
    readWeek: weekReader(new ClickHouseHome(new QuestionReader(reading)), async () => []),
    getTenant: (id) => store.getTenant(id),
    jobs: new EndedJobs(client, 1, clock),
    ...{ exports: new RedisExports(client), waiting: async () => 0 },
    dashboardUrl: 'http://dash.example',
  })
  await evaluator.start()
  t.after(async () => {
    await evaluator.stop()
    await reading.close()
    client.disconnect()
  })
  const observe = touchedCompanies.open({ store: client, clock })
  let events = 0
  const eventOf = (company: string, row: EventRow): EventRow => ({
    ...{ tenant_id: tenantId, event_id: `e${events++}`, company_id: company, account_id: company, domain: company },
    ...{ received_at: clock.nowMs, timestamp: clock.nowMs, business_name: `Name of ${company}`, ...row },
  })
  const observeRows = (rows: readonly EventRow[]) => {
    const envelopes = rows.map((row) => ({
      identity: identityOf(tenantId, String(row.event_id)),
      state: EnvelopeState.Enriched,
      row: eventRows([row]).toString().trimEnd(),
    }))
    return observe([packBlock(envelopes)])
  }
  return {
    ...{ tenantId, client, clock, alerts, segments, store, visits, evaluator, observeRows, eventOf },
    /** Stores visits as the sink does. */
    async visit(...rows: readonly (readonly [company: string, row?: EventRow])[]) {
      const full = rows.map(([company, row = {}]) => eventOf(company, row))
      await insert(tenantId, full)
      await observeRows(full)
      return full
    },
    alert: async (record: Partial<AlertRecord>) => {
      const at = new Date(clock.nowMs).toISOString()
      const alert = await addAlert(client, tenantId, {
        url: 'http://x.example',
        created_at: at,
        active_since: at,
        ...record,
      })
      await until(
        () => client.hget(keys.alertProgress(alert.id), 'baseline'),
        (baseline) => baseline === at,
      )
      // An event received in the same millisecond counts as earlier.
      clock.nowMs++
      return alert
    },
    /** Waits until all touched companies are evaluated. */
    evaluated: () =>
      until(
        () => client.exists(keys.touchedCompanies(tenantId)),
        (exists) => exists === 0,
      ),
    /** The messages of an alert, oldest first. */
    async messages(alert: Alert): Promise<Message[]> {
      const { deliveries: all } = await deliveries.page(tenantId, { limit: 1_000 })
      return all
        .filter(({ alertId }) => alertId === alert.id)
        .reverse()
        .map(({ body }) => JSON.parse(body) as Message)
    },
    async ids(alert: Alert): Promise<string[]> {
      const { deliveries: all } = await deliveries.page(tenantId, { limit: 1_000 })
      return all.filter(({ alertId }) => alertId === alert.id).map(({ id }) => id)
    },
  }
}

function companiesOf(messages: readonly Message[]): string[] {
  return messages.map(({ data }) => data.company!.company_id)
}

test('a company that is seen for the first time is reported once, and one of the past is not', async (t) => {
  const world = await startEvaluator(t)
  await world.visit(['old.example', { timestamp: NOON - 10 * DAY_MS }])
  const alert = await world.alert({ on: 'company.first_seen' })
  const rows = await world.visit(['new.example', { industry: 'Software' }], ['old.example'])
  await world.evaluated()
  const [message, ...others] = await world.messages(alert)
  assert.deepEqual(others, [])
  assert.equal(message!.type, 'company.first_seen')
  assert.deepEqual(
    [message!.data.company!.name, message!.data.company!.industry, message!.timestamp],
    ['Name of new.example', 'Software', new Date(NOON + 1).toISOString()],
  )
  // A replay, a crash of the sink, a second visit.
  await world.observeRows(rows)
  world.clock.nowMs += 60_000
  await world.visit(['new.example'])
  await world.evaluated()
  assert.deepEqual(companiesOf(await world.messages(alert)), ['new.example'])
})

test('a message says what the company read, where it came from, its visits and its heat', async (t) => {
  const world = await startEvaluator(t)
  // Heat is that of today.
  world.clock.nowMs = Date.now()
  const alert = await world.alert({ on: 'company.first_seen' })
  const now = world.clock.nowMs
  const at = (minutesAgo: number, ip: string, extra: object): EventRow => ({
    ...{ timestamp: now - minutesAgo * 60_000, ip, extra: JSON.stringify(extra) },
  })
  const url = (path: string) => ({ url: `https://www.shop.example${path}` })
  await insert(world.tenantId, [
    world.eventOf('old.example', at(5, '198.51.100.1', url('/blog'))),
    world.eventOf('new.example', at(3, '198.51.100.2', { ...url('/a?utm_source=mail&utm_campaign=spring') })),
    world.eventOf('new.example', at(2, '198.51.100.2', { ...url('/pricing'), referrer: 'https://shop.example/a' })),
    world.eventOf('new.example', { ...at(1, '198.51.100.3', {}), source_id: 'src_1' }),
  ])
  await world.visit([
    'new.example',
    at(4, '198.51.100.2', { ...url('/'), referrer: 'https://search.example/?q=secret' }),
  ])
  await world.evaluated()
  const [message] = await world.messages(alert)
  const { heat, ...activity } = message!.data.activity!
  assert.deepEqual(activity, {
    ...{ visits: 2, page: 'shop.example/pricing', referrer: '', utm_source: 'mail', utm_campaign: 'spring' },
    source: 'Website',
  })
  const [stored] = await clickhouse.rows<{ heat: number }>(
    `SELECT heat FROM company_heat WHERE tenant_id = '${world.tenantId}' AND company_id = 'new.example'`,
  )
  assert.equal(heat, Number(stored!.heat))
})

test('a visit that is not news reads no activity', async (t) => {
  const world = await startEvaluator(t)
  const alert = await world.alert({ on: 'company.first_seen' })
  await world.visit(['new.example'])
  await world.evaluated()
  const { visits } = world
  const asked: string[] = []
  const read = visits.activities.bind(visits)
  visits.activities = (tenantId, ids, sinceMs) => {
    asked.push(...ids)
    return read(tenantId, ids, sinceMs)
  }
  await world.visit(['new.example'], ['other.example'])
  await world.evaluated()
  assert.deepEqual(
    [asked, companiesOf(await world.messages(alert)).sort()],
    [['other.example'], ['new.example', 'other.example']],
  )
})

test('a visit whose evaluation failed, as if its process was killed, is reported', async (t) => {
  const world = await startEvaluator(t)
  const alert = await world.alert({ on: 'company.first_seen' })
  const { visits } = world
  const read = visits.companies.bind(visits)
  let failed = 0
  visits.companies = () => {
    failed++
    return Promise.reject(new Error('ClickHouse is down'))
  }
  await world.visit(['new.example'])
  await until(() => failed)
  visits.companies = read
  await until(
    async () => companiesOf(await world.messages(alert)),
    (companies) => companies.length > 0,
  )
  await world.evaluated()
  assert.deepEqual(companiesOf(await world.messages(alert)), ['new.example'])
})

test('no alert fires for an upload of the past', async (t) => {
  const world = await startEvaluator(t)
  const first = await world.alert({ on: 'company.first_seen' })
  const returned = await world.alert({ on: 'company.returned', after_days: 30 })
  const days = [100, 60, 20].map((days) => ['past.example', { timestamp: NOON - days * DAY_MS }] as const)
  await world.visit(...days)
  assert.equal(await world.client.exists(keys.touchedCompanies(world.tenantId)), 0)
  await world.visit(['past.example'])
  await world.evaluated()
  assert.deepEqual([...(await world.messages(first)), ...(await world.messages(returned))], [])
})

test('a company that comes back after the days is reported once for each return', async (t) => {
  const world = await startEvaluator(t)
  await world.visit(
    ['bank.example', { timestamp: NOON - 40 * DAY_MS }],
    ['often.example', { timestamp: NOON - 29 * DAY_MS }],
    ['first.example'],
  )
  const alert = await world.alert({ on: 'company.returned', after_days: 30 })
  world.clock.nowMs += 60_000
  await world.visit(['bank.example'], ['often.example'], ['first.example'], ['bank.example'])
  await world.evaluated()
  const [message] = await world.messages(alert)
  assert.deepEqual(companiesOf(await world.messages(alert)), ['bank.example'])
  assert.equal(message!.data.previous_visit, '2026-10-16')
  world.clock.nowMs += DAY_MS
  await world.visit(['bank.example'])
  await world.evaluated()
  assert.equal((await world.messages(alert)).length, 1)
  world.clock.nowMs += 31 * DAY_MS
  await world.visit(['bank.example'])
  await world.evaluated()
  assert.deepEqual(companiesOf(await world.messages(alert)), ['bank.example', 'bank.example'])
  assert.equal(new Set(await world.ids(alert)).size, 2)
})

test('another filter of a segment starts its alerts again: companies that it adds are not reported', async (t) => {
  const world = await startEvaluator(t)
  const { tenantId, segments, client } = world
  const segment = await segments.create(tenantId, 'Keen', 'country=DE')
  await world.visit(['fr.example', { country_code: 'FR' }])
  const alert = await world.alert({ on: 'segment.entered', segment_id: segment.id })
  await segments.change(tenantId, segment.id, { name: 'Europe', where: 'country=DE,country=FR' })
  await until(
    () => client.hget(keys.alertProgress(alert.id), 'filter'),
    (filter) => filter === 'country=DE,country=FR',
  )
  world.clock.nowMs++
  await world.visit(['fr.example', { country_code: 'FR' }], ['other.example', { country_code: 'FR' }])
  await world.evaluated()
  const messages = await world.messages(alert)
  assert.deepEqual(companiesOf(messages), ['other.example'])
  assert.equal(messages[0]!.data.segment, 'Europe')
  const { fired } = await world.alerts.activity(alert.id)
  assert.deepEqual(fired, { atMs: world.clock.nowMs, companyId: 'other.example', companyName: 'Name of other.example' })
})

test('a company that enters a segment with a visit is reported, and again after leaving it', async (t) => {
  const world = await startEvaluator(t)
  const segment = await world.segments.create(world.tenantId, 'Keen', 'visits>=2,days=30,country=DE')
  const yesterday = { timestamp: NOON - DAY_MS }
  await world.visit(
    ['inside.example', yesterday],
    ['inside.example'],
    ['soon.example', yesterday],
    ['fr.example', { ...yesterday, country_code: 'FR' }],
  )
  const alert = await world.alert({ on: 'segment.entered', segment_id: segment.id })
  await world.visit(['inside.example'], ['soon.example'], ['fr.example', { country_code: 'FR' }])
  await world.evaluated()
  await world.visit(['soon.example'])
  await world.evaluated()
  const [message] = await world.messages(alert)
  assert.deepEqual(companiesOf(await world.messages(alert)), ['soon.example'])
  assert.equal(message!.data.segment, 'Keen')

  // All leave, without a visit.
  world.clock.nowMs += 40 * DAY_MS
  await until(
    () => world.client.zcount(keys.recordedOccurrences(alert.id), '(0', '+inf'),
    (members) => members === 0,
  )
  await world.visit(['soon.example', { timestamp: world.clock.nowMs - DAY_MS }], ['soon.example'], ['inside.example'])
  await world.evaluated()
  assert.deepEqual(companiesOf(await world.messages(alert)), ['soon.example', 'soon.example'])
  assert.equal(new Set(await world.ids(alert)).size, 2)
})

/** Applies rules to the stored visits of a tenant. */
function ruleApplier(t: TestContext, { tenantId }: { readonly tenantId: string }) {
  const store = new ClickHouseReenrichment(clickhouse.url)
  t.after(() => store.close())
  const data = todaysData(() => ({ companyId: '' }))
  let runs = 0
  return (rules: readonly string[]) =>
    reenrich(
      { tenantId, from: '2026-01-01', to: '2026-12-31', receivedUntilMs: NOON + 30 * DAY_MS },
      {
        ...{ events: store, replacement: store, data, assertHeld: () => {}, say: () => {} },
        judged: (group) => judgeByRules(group, { rules: { rules }, data, givesCompanies: false, deletes: new Set() }),
        run: { id: `${tenantId}-${runs++}`, by: 'Ann' },
      },
    )
}

test('a company whose visits a rule hid is known: it is neither seen for the first time nor new in its segment', async (t) => {
  const world = await startEvaluator(t)
  const apply = ruleApplier(t, world)
  const days = [10, 9].map((ago) => ({ timestamp: NOON - ago * DAY_MS }))
  await world.visit(['known.example', days[0]!], ['known.example', days[1]!], ['part.example', days[0]!])
  await world.visit(['recent.example', { timestamp: NOON - 3_600_000 }])
  await clickhouse.client.insert({
    table: 'company_corrections',
    values: [
      {
        ...{ tenant_id: world.tenantId, company_id: 'part.example', field: 'counts_for', value: 'whole.example' },
        ...{ at: '2026-11-20 12:00:00.000', change_id: 'x', before: '', by: 'test', undoes: '' },
      },
    ],
    format: 'JSONEachRow',
  })
  t.after(() => clickhouse.client.command({ query: 'TRUNCATE TABLE company_corrections' }).then(() => {}))
  const segment = await world.segments.create(world.tenantId, 'All', 'visits>=1')
  const often = await world.segments.create(world.tenantId, 'Often', 'visits>=2,days=30')
  const first = await world.alert({ on: 'company.first_seen' })
  const entered = await world.alert({ on: 'segment.entered', segment_id: segment.id })
  const enteredOften = await world.alert({ on: 'segment.entered', segment_id: often.id })
  const hidden = await apply(['known.example', 'part.example', 'recent.example'].map((id) => `always-noise ${id}`))
  assert.equal(hidden.filtered.events, 4)
  // Longer than between two sweeps.
  world.clock.nowMs += 660_000
  await world.visit(['other.example'])
  await world.evaluated()
  await world.visit(['known.example'], ['recent.example'])
  await world.evaluated()
  assert.equal((await apply([])).shown.events, 4)
  await world.visit(['known.example'], ['part.example'])
  await world.evaluated()
  for (const alert of [first, entered]) assert.deepEqual(companiesOf(await world.messages(alert)), ['other.example'])
  // It has its second visit only now.
  assert.deepEqual(companiesOf(await world.messages(enteredOften)), ['whole.example'])
  assert.deepEqual(
    (await world.visits.firstVisits(world.tenantId, NOON - DAY_MS)).map(({ company_id }) => company_id),
    ['other.example', 'recent.example'],
  )
})

test('a company leaves a segment when the days of its hidden visits are over, and is reported when it enters again', async (t) => {
  const world = await startEvaluator(t)
  const apply = ruleApplier(t, world)
  const segment = await world.segments.create(world.tenantId, 'Keen', 'visits>=2,days=7')
  const alert = await world.alert({ on: 'segment.entered', segment_id: segment.id })
  const members = () => world.client.zcount(keys.recordedOccurrences(alert.id), '(0', '+inf')
  const twice = (nowMs: number) =>
    world.visit(['known.example', { timestamp: nowMs - DAY_MS }], ['known.example', { timestamp: nowMs }])
  await twice(NOON)
  await world.evaluated()
  assert.equal((await apply(['always-noise known.example'])).filtered.events, 2)
  world.clock.nowMs += 8 * DAY_MS
  await until(members, (count) => count === 0)
  await twice(world.clock.nowMs)
  await world.evaluated()
  assert.deepEqual(companiesOf(await world.messages(alert)), ['known.example', 'known.example'])
})

test('a report about a company is corrected when a rule hides its visits, and when they are shown again', async (t) => {
  const world = await startEvaluator(t)
  const apply = ruleApplier(t, world)
  await world.alert({ on: 'company.first_seen' })
  const corrected = await world.alert({ on: 'company.corrected' })
  await world.visit(['known.example'])
  await world.evaluated()
  for (const [rules, kind] of [
    [['always-noise known.example'], 'gone'],
    [[], 'shown'],
  ] as const) {
    await apply(rules)
    world.clock.nowMs += 60_000
    await until(
      () => world.messages(corrected),
      (messages) => messages.at(-1)?.data.correction?.kind === kind,
    )
  }
  assert.equal((await world.messages(corrected)).length, 2)
})

test('an alert with a segment reports only its companies', async (t) => {
  const world = await startEvaluator(t)
  const segment = await world.segments.create(world.tenantId, 'Germany', 'country=DE')
  const alert = await world.alert({ on: 'company.first_seen', segment_id: segment.id })
  await world.visit(['de.example'], ['fr.example', { country_code: 'FR' }])
  await world.evaluated()
  assert.deepEqual(companiesOf(await world.messages(alert)), ['de.example'])
})

test('while an alert is paused nothing is noted, and after its resumption the past is not reported', async (t) => {
  const world = await startEvaluator(t)
  const segment = await world.segments.create(world.tenantId, 'All', 'visits>=1')
  const first = await world.alert({ on: 'company.first_seen' })
  const entered = await world.alert({ on: 'segment.entered', segment_id: segment.id })
  const paused = { at: new Date(NOON).toISOString(), by: 'person', reason: '' } as const
  for (const { id } of [first, entered]) await world.alerts.change(world.tenantId, id, { paused })
  world.clock.nowMs += 60_000
  await world.visit(['missed.example'])
  assert.equal(await world.client.exists(keys.touchedCompanies(world.tenantId)), 0)
  world.clock.nowMs += 60_000
  const since = new Date(world.clock.nowMs).toISOString()
  for (const { id } of [first, entered]) {
    await world.alerts.change(world.tenantId, id, { paused: null, active_since: since })
    await until(
      () => world.client.hget(keys.alertProgress(id), 'baseline'),
      (baseline) => baseline === since,
    )
  }
  world.clock.nowMs++
  await world.visit(['missed.example'], ['new.example'])
  await world.evaluated()
  for (const alert of [first, entered]) assert.deepEqual(companiesOf(await world.messages(alert)), ['new.example'])
})

test('when too many companies are touched, all that have a fresh visit are evaluated', async (t) => {
  const world = await startEvaluator(t)
  const alert = await world.alert({ on: 'company.first_seen' })
  const many = Array.from({ length: 700 }, (_, i) => `c${i}.example`)
  const rows = many.map((company) => world.eventOf(company, {}))
  await insert(world.tenantId, rows)
  await world.client.zadd(keys.touchedCompanies(world.tenantId), NOON * 1_000, '*')
  await until(
    () => world.messages(alert),
    (messages) => messages.length === 700,
  )
  await world.evaluated()
  assert.equal(new Set(companiesOf(await world.messages(alert))).size, 700)
})

test('after a reenrichment only a correction of a sent message is reported', async (t) => {
  const world = await startEvaluator(t)
  const first = await world.alert({ on: 'company.first_seen' })
  const corrected = await world.alert({ on: 'company.corrected' })
  await world.visit(['right.example'], ['wrong.example'])
  await world.evaluated()
  assert.equal((await world.messages(first)).length, 2)
  const of = `tenant_id = '${world.tenantId}' AND company_id = 'wrong.example'`
  const rows = [world.eventOf('better.example', {})]
  await clickhouse.client.command({ query: `DELETE FROM events WHERE ${of}` })
  await insert(world.tenantId, rows)
  world.clock.nowMs += 60_000
  const [message] = await until(
    () => world.messages(corrected),
    (messages) => messages.length > 0,
  )
  assert.deepEqual(
    [message!.type, message!.data.company!.company_id, message!.data.correction!.kind],
    ['company.corrected', 'wrong.example', 'gone'],
  )
  world.clock.nowMs += 60_000
  await world.visit(['right.example'])
  await world.evaluated()
  assert.deepEqual(companiesOf(await world.messages(first)).sort(), ['right.example', 'wrong.example'])
  assert.equal((await world.messages(corrected)).length, 1)
})

test('a company that was sent and is renamed, merged or hidden is corrected once', async (t) => {
  const world = await startEvaluator(t)
  const first = await world.alert({ on: 'company.first_seen' })
  const corrected = await world.alert({ on: 'company.corrected' })
  await world.visit(['a.example'], ['b.example'], ['c.example'], ['d.example'])
  await world.evaluated()
  const corrections = [
    ['a.example', 'name', 'Better'],
    ['b.example', 'counts_for', 'a.example'],
    ['c.example', 'hidden', 'yes'],
  ].map(([company_id, field, value]) => ({
    ...{ tenant_id: world.tenantId, company_id, field, value, at: '2026-11-25 12:00:00.000', change_id: 'x' },
    ...{ before: '', by: 'test', undoes: '' },
  }))
  await clickhouse.client.insert({ table: 'company_corrections', values: corrections, format: 'JSONEachRow' })
  t.after(() => clickhouse.client.command({ query: 'TRUNCATE TABLE company_corrections' }).then(() => {}))
  world.clock.nowMs += 60_000
  const messages = await until(
    () => world.messages(corrected),
    (found) => found.length === 3,
  )
  assert.deepEqual(
    messages
      .map(({ data }) => [data.company!.company_id, data.correction!.kind, data.correction!.merged_into ?? ''])
      .sort(),
    [
      ['a.example', 'renamed', ''],
      ['b.example', 'merged', 'a.example'],
      ['c.example', 'hidden', ''],
    ],
  )
  world.clock.nowMs += 60_000
  // The visits of a merged company are those of its target; a hidden one is not reported.
  await world.visit(['b.example'], ['c.example'], ['a.example'])
  await world.evaluated()
  assert.equal((await world.messages(first)).length, 4)
  assert.equal((await world.messages(corrected)).length, 3)
})

test('an alert on corrections of a segment reports companies that are in it after or before', async (t) => {
  const world = await startEvaluator(t)
  await world.alert({ on: 'company.first_seen' })
  const visits = ['in.example', 'hidden.example', 'out.example', 'other.example'].map(
    (company) => [company, { country_code: company.startsWith('o') ? 'FR' : 'DE' }] as const,
  )
  await world.visit(...visits)
  await world.evaluated()
  const segment = await world.segments.create(world.tenantId, 'Germans', 'country=DE')
  const renamed = await world.segments.create(world.tenantId, 'Renamed', 'search=Better')
  const ofGermans = await world.alert({ on: 'company.corrected', segment_id: segment.id })
  const ofRenamed = await world.alert({ on: 'company.corrected', segment_id: renamed.id })
  const correction = (company_id: string, field: string, value: string) => ({
    ...{ tenant_id: world.tenantId, company_id, field, value, at: '2026-11-25 12:00:00.000', change_id: 'x' },
    ...{ before: '', by: 'test', undoes: '' },
  })
  t.after(() => clickhouse.client.command({ query: 'TRUNCATE TABLE company_corrections' }).then(() => {}))
  await clickhouse.client.insert({
    table: 'company_corrections',
    values: [
      correction('in.example', 'name', 'Other'),
      correction('hidden.example', 'hidden', 'yes'),
      correction('out.example', 'name', 'Better'),
      correction('other.example', 'hidden', 'yes'),
    ],
    format: 'JSONEachRow',
  })
  world.clock.nowMs += 60_000
  await until(
    async () => [await world.messages(ofGermans), await world.messages(ofRenamed)] as const,
    ([germans, better]) => germans.length === 2 && better.length === 1,
  )
  const shown = (await world.messages(ofGermans)).map(({ data }) => [data.company!.company_id, data.segment])
  assert.deepEqual(shown.sort(), [
    ['hidden.example', 'Germans'],
    ['in.example', 'Germans'],
  ])
  const [better] = await world.messages(ofRenamed)
  assert.deepEqual([better!.data.company!.company_id, better!.data.segment], ['out.example', 'Renamed'])
})

test('corrections above the limit of an hour are one digest, also while the receiver takes nothing', async (t) => {
  const world = await startEvaluator(t, ALERT_MESSAGES_PER_HOUR)
  await world.alert({ on: 'company.first_seen' })
  const full = await world.alert({ on: 'company.corrected' })
  const free = await world.alert({ on: 'company.corrected' })
  await world.visit(['a.example'])
  await world.evaluated()
  const waiting = Array.from({ length: ALERT_MESSAGES_PER_HOUR }, (_, i) => [0, `msg_${i}`]).flat()
  const queue = keys.waitingDeliveries(full.id, 'due')
  await world.client.zadd(queue, ...waiting)
  await clickhouse.client.command({ query: `DELETE FROM events WHERE tenant_id = '${world.tenantId}'` })
  world.clock.nowMs += 60_000
  await until(
    () => world.messages(free),
    (found) => found.length === 1,
  )
  assert.deepEqual(await world.messages(full), [])
  assert.equal((await world.alerts.get(world.tenantId, full.id))!.paused, undefined)
  world.clock.nowMs += 3_600_000
  await world.client.zrem(queue, 'msg_0')
  const [digest] = await until(
    () => world.messages(full),
    (found) => found.length === 1,
  )
  const { data } = digest!
  assert.deepEqual([digest!.type, data.digest, data.total], ['alert.digest', 'limit', 1])
  assert.deepEqual(
    data.companies!.map(({ company_id: id }) => id),
    ['a.example'],
  )
  assert.equal(await world.client.zcard(queue), ALERT_MESSAGES_PER_HOUR)
})

test('a weekly digest is one message of the week, and an empty week has none', async (t) => {
  const world = await startEvaluator(t)
  const alert = await world.alert({ on: 'company.first_seen', to: 'email', target: 'a@b.example', digest: 'weekly' })
  await world.visit(['a.example'], ['b.example'])
  await world.evaluated()
  assert.deepEqual(await world.messages(alert), [])
  const dueMs = lastDue(WEEKLY, NOON + 7 * DAY_MS)
  assert.deepEqual([new Date(dueMs).getUTCDay(), new Date(dueMs).getUTCHours(), dueMs > NOON], [1, 8, true])
  world.clock.nowMs = dueMs
  const [digest] = await until(
    () => world.messages(alert),
    (messages) => messages.length > 0,
  )
  assert.deepEqual([digest!.type, digest!.data.total], ['alert.digest', 2])
  assert.deepEqual(digest!.data.companies!.map(({ name, why }) => `${name} ${why}`).sort(), [
    'Name of a.example was seen for the first time',
    'Name of b.example was seen for the first time',
  ])
  const smtp = await startMailServer(t)
  const channels = new Channels({
    files: noFiles,
    ...{ destinations: new Destinations({ allowsPrivate: true }), secrets: testSecrets, userAgent: 'test' },
    ...{ clock: world.clock, log: silent, mailer: new Mailer({ url: smtp.url, from: 'ipid@site.example' }) },
  })
  const sender = new Sender({
    lease: new Membership({ client: world.client, name: 'deliveries' }).share(0),
    ...{ deliveries: new RedisDeliveries(world.client), alerts: world.alerts, clock: world.clock, log: silent },
    persisted: async () => {},
    tenants: async () => [],
    send: (...args) => channels.send(...args),
  })
  await sender.start()
  t.after(() => sender.stop())
  await until(() => smtp.mails.length > 0)
  const { to, subject, text } = readMail(smtp.mails[0]!)
  assert.deepEqual([to, subject], ['a@b.example', `${alert.name}: 2 companies this week`])
  for (const id of ['a.example', 'b.example']) {
    assert.ok(text.includes(`Name of ${id} was seen for the first time\n  http`), text)
    assert.ok(text.includes(`companies/of?id=${id}`), text)
  }
  assert.match(text, new RegExp(`Alert ${alert.name} of ${world.tenantId}$`))
  world.clock.nowMs += 7 * DAY_MS
  await until(
    () => world.client.hget(keys.alertProgress(alert.id), 'digest'),
    (sent) => Number(sent) === dueMs + 7 * DAY_MS,
  )
  assert.equal(smtp.mails.length, 1)
  assert.equal((await world.messages(alert)).length, 1)
})

test('alerts of a tenant that is gone are removed', async (t) => {
  const world = await startEvaluator(t)
  await world.alert({ on: 'company.first_seen' })
  await world.visit(['a.example'])
  await world.evaluated()
  await world.client.hdel(keys.tenants(), world.tenantId)
  await until(
    () => world.client.keys(`*${world.tenantId}*`),
    (names) => names.length === 0,
  )
  assert.deepEqual(await world.client.keys('*recorded*'), [])
})
