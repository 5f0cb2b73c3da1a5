import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import type {
  AlertsAnswer,
  AlertTrialAnswer,
  ChangedAlertAnswer,
  CreatedAlertAnswer,
  ListedMessage,
  MessageAnswer,
  MessagesAnswer,
  TestedAlertAnswer,
} from '../../schemas/dashboard/alerts.ts'
import type { ListedSegment, SegmentsAnswer } from '../../schemas/dashboard/segments.ts'
import { AlertTrials } from '../../src/alerts/evaluation/trial.ts'
import { ClickHouseVisits } from '../../src/alerts/evaluation/visits.ts'
import { RedisAddresses, removeAddressesOf } from '../../src/alerts/redis/address-store.ts'
import { RedisAlerts } from '../../src/alerts/redis/alert-store.ts'
import { RedisDeliveries } from '../../src/alerts/redis/delivery-store.ts'
import { newDelivery, RedisOccurrences } from '../../src/alerts/redis/occurrence-store.ts'
import { Sender } from '../../src/alerts/sender.ts'
import { Channels } from '../../src/alerts/sending/channels.ts'
import { Destinations } from '../../src/alerts/sending/destinations.ts'
import { Mailer } from '../../src/alerts/sending/mail.ts'
import { Segments } from '../../src/companies/segments/segments.ts'
import { alertRoutes } from '../../src/dashboard/server/routes/alerts.ts'
import { segmentRoutes } from '../../src/dashboard/server/routes/segments.ts'
import { sessionRoute } from '../../src/dashboard/server/routes/session.ts'
import { RedisExports } from '../../src/exports/redis/export-store.ts'
import { systemClock } from '../../src/run/clock.ts'
import { connectReading, QuestionReader } from '../../src/stores/clickhouse/reader.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { Membership } from '../../src/stores/redis/membership.ts'
import { messageAbout, noFiles, occurrenceOf, Receiver, testSecrets } from '../support/alerts.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { type DashboardClient, formOf, noCrm, startDashboard, testAlertAdmin } from '../support/dashboard.ts'
import { member, redis, tenants } from '../support/dashboard-access.ts'
import { type EventRow, eventInserter } from '../support/event-rows.ts'
import { readMail, startMailServer } from '../support/mail.ts'
import { silent } from '../support/pipeline.ts'
import { until } from '../support/until.ts'

const DAY_MS = 86_400_000
const NOW = new Date().toISOString()
const clickhouse = await startTestClickHouse()
const reading = connectReading(clickhouse.url, 'test')
after(() => reading.close())
const insert = eventInserter(clickhouse)
const [store, deliveries, segments] = [
  new RedisAlerts(redis),
  new RedisDeliveries(redis),
  new Segments(redis, systemClock),
]
const visits = new ClickHouseVisits(new QuestionReader(reading), async () => [], systemClock)

const SESSION = [sessionRoute({ tenants, version: '1.2.3', apiUrl: null })]

function routesOf({ allowsPrivate = true, canEmail = false } = {}) {
  const alerts = testAlertAdmin(redis, systemClock, allowsPrivate)
  const parts = { alerts, alertActivity: store, deliveries, segments, canEmail }
  return [
    ...segmentRoutes({ ...parts, exports: new RedisExports(redis), crm: noCrm }),
    ...alertRoutes({ ...parts, alertTrials: new AlertTrials(visits, systemClock) }),
  ]
}

/** A member of acme, whose alerts and segments are gone after the test. */
async function signIn(t: TestContext, options: Parameters<typeof routesOf>[0] = {}): Promise<DashboardClient> {
  const dashboard = await startDashboard(t, redis, [...SESSION, ...routesOf(options)])
  t.after(async () => {
    await store.removeAll('acme', systemClock.now())
    await removeAddressesOf(redis, 'acme')
    await redis.del(keys.segmentsOf('acme'))
  })
  return await dashboard.signIn(member)
}

async function startSender(t: TestContext, mailer?: Mailer): Promise<void> {
  const channels = new Channels({
    files: noFiles,
    ...{ destinations: new Destinations({ allowsPrivate: true }), secrets: testSecrets, mailer },
    ...{ userAgent: 'test', clock: systemClock, log: silent },
  })
  const sender = new Sender({
    lease: new Membership({ client: redis, name: 'deliveries' }).share(0),
    ...{ deliveries, alerts: store, clock: systemClock, log: silent, persisted: async () => {} },
    tenants: async () => [],
    send: (...args) => channels.send(...args),
  })
  await sender.start()
  t.after(() => sender.stop())
}

async function post<T>(client: DashboardClient, path: string, body: unknown): Promise<T> {
  const response = await client.post(`/api/tenants/acme/${path}`, body)
  const text = await response.text()
  assert.equal(response.status, 200, text)
  return JSON.parse(text) as T
}

const read = <T>(client: DashboardClient, path: string) => client.read<T>(`/api/tenants/acme/${path}`)

/** The text of a refusal, and the field that it names. */
async function refusal(client: DashboardClient, path: string, body: unknown) {
  const response = await client.post(`/api/tenants/acme/${path}`, body)
  const { detail, errors = [] } = (await response.json()) as { detail: string; errors?: { path: string }[] }
  assert.equal(response.status, 422, detail)
  return [detail, errors[0]?.path] as const
}

const WEBHOOK = {
  name: 'Hot',
  on: 'company.first_seen',
  to: 'webhook',
  target: 'http://127.0.0.1:9/hook?key=1',
} as const

test('no call about alerts and segments answers for another tenant, without a session or its token', async (t) => {
  const dashboard = await startDashboard(t, redis, [...SESSION, ...routesOf()])
  const client = await dashboard.signIn(member)
  const segment = await segments.create('other', 'Keen', 'country=DE')
  t.after(() => redis.del(keys.segmentsOf('other')))
  const bodies: Record<string, unknown> = {
    segments: { name: 'stolen', filter: { country: ['DE'] } },
    'segments/change': { segment_id: segment.id, name: 'stolen' },
    'segments/remove': { segment_id: segment.id },
    alerts: WEBHOOK,
    'alerts/try': { on: 'company.first_seen' },
    'alerts/messages/send-again': { message_id: 'msg_1' },
  }
  for (const { method, path } of routesOf()) {
    const at = path.replace(':tenant', 'other').replace(':message', 'msg_1')
    const body = bodies[path.replace('/api/tenants/:tenant/', '')] ?? { alert_id: 'alert_1' }
    const answer = method === 'GET' ? await client.get(at) : await client.post(at, body)
    assert.deepEqual(
      [answer.status, await answer.json()],
      [404, { detail: 'tenant not found', code: 'unknown_workspace' }],
      `${method} ${path}`,
    )
    const none = await fetch(dashboard.url + at, { method, ...(method === 'POST' && { body: '{}' }) })
    assert.equal(none.status, 401, `${method} ${path}`)
    if (method === 'GET') continue
    const forged = await client.post(at.replace('other', 'acme'), body, { 'x-csrf-token': 'x' })
    assert.equal(forged.status, 403, `${method} ${path}`)
  }
  const theirs = await store.create({
    ...{ id: 'alert_other', tenantId: 'other', name: 'Theirs', on: 'company.first_seen', to: 'email' },
    ...{ target: 'a@b.example', unconfirmed: 'a@b.example', created_at: NOW, active_since: NOW },
  })
  t.after(() => store.removeAll('other', systemClock.now()))
  const [detail] = await refusal(client, 'alerts/ask-again', { alert_id: theirs.id })
  assert.deepEqual([detail, await deliveries.waitingOf(theirs.id)], ['there is no such alert any more', 0])
  await store.remove('other', theirs.id, systemClock.now())
  assert.deepEqual(await segments.list('other'), [segment])
  assert.deepEqual([await store.list('other'), await store.list('acme')], [[], []])
})

test('a segment is saved, renamed, changed, and removed only when no alert needs it', async (t) => {
  const client = await signIn(t)
  const filter = { country: ['DE'], visits_min: 3, page_contains: ['/pricing'] }
  const made = await post<ListedSegment>(client, 'segments', { name: ' Keen ', filter })
  assert.deepEqual(
    [made.name, made.filter, made.where, made.alerts],
    ['Keen', filter, 'country=DE,page~/pricing,visits>=3', []],
  )
  assert.deepEqual(await refusal(client, 'segments', { name: 'Keen', filter }), [
    'tenant acme has a segment named "Keen"',
    'name',
  ])
  assert.match((await refusal(client, 'segments', { name: 'All', filter: {} }))[0], /needs a filter/)
  assert.match((await refusal(client, 'segments', { name: 'Bad', filter: { from: '2026-02-31' } }))[0], /from/)
  const { segment_id } = made
  assert.equal((await post<ListedSegment>(client, 'segments/change', { segment_id, name: 'Warm' })).name, 'Warm')
  const changed = await post<ListedSegment>(client, 'segments/change', { segment_id, filter: { country: ['FR'] } })
  assert.deepEqual([changed.name, changed.where], ['Warm', 'country=FR'])
  const { alert } = await post<CreatedAlertAnswer>(client, 'alerts', { ...WEBHOOK, on: 'segment.entered', segment_id })
  assert.deepEqual(alert.segment, { segment_id, name: 'Warm' })
  const { segments: all } = await read<SegmentsAnswer>(client, 'segments')
  assert.deepEqual([all.length, all[0]!.alerts], [1, ['Hot']])
  assert.deepEqual(await refusal(client, 'segments/remove', { segment_id }), [
    'the alert Hot needs segment Warm: remove it first',
    undefined,
  ])
  await post(client, 'alerts/remove', { alert_id: alert.alert_id })
  await post(client, 'segments/remove', { segment_id })
  assert.deepEqual(await read<SegmentsAnswer>(client, 'segments'), { segments: [] })
  assert.match((await refusal(client, 'segments/remove', { segment_id }))[0], /no such segment/)
})

test('a new alert shows its secret once, and of its URL only the host', async (t) => {
  const client = await signIn(t)
  const { alert, secret } = await post<CreatedAlertAnswer>(client, 'alerts', WEBHOOK)
  assert.match(secret!, /^whsec_/)
  assert.deepEqual(
    [alert.target, alert.paused, alert.last_fired, alert.last_attempt],
    ['127.0.0.1:9', null, null, null],
  )
  const text = JSON.stringify(await read(client, 'alerts'))
  assert.ok(!text.includes(secret!.slice(6)) && !/\/hook|key=1/.test(text), text)
  const slack = { ...WEBHOOK, name: 'Chat', to: 'slack', target: ' https://93.184.215.14/services/T/B ' }
  const chat = await post<CreatedAlertAnswer>(client, 'alerts', slack)
  assert.deepEqual([chat.alert.target, chat.secret], ['93.184.215.14', null])
  assert.deepEqual(await refusal(client, 'alerts', WEBHOOK), ['tenant acme has an alert named "Hot"', 'name'])
  assert.equal((await refusal(client, 'alerts', { ...WEBHOOK, name: ' ' }))[1], 'name')
  assert.equal((await refusal(client, 'alerts', { ...WEBHOOK, name: 'B', target: 'example.com' }))[1], 'target')
  const entered = { ...WEBHOOK, name: 'B', on: 'segment.entered' }
  assert.equal((await refusal(client, 'alerts', entered))[1], 'segment')
  assert.equal((await refusal(client, 'alerts', { ...entered, segment_id: 'segment_1' }))[1], 'segment')
  const email = { ...WEBHOOK, name: 'B', to: 'email', target: 'a@b.example' }
  const [detail, field] = await refusal(client, 'alerts', email)
  assert.deepEqual([field, /set SMTP_URL and SMTP_FROM/.test(detail)], ['target', true])
})

test('a private destination is refused at its field, and e-mail works where SMTP_URL is set', async (t) => {
  const client = await signIn(t, { allowsPrivate: false, canEmail: true })
  for (const target of ['http://127.0.0.1/', 'http://[::ffff:10.0.0.1]/', 'http://169.254.169.254/latest']) {
    const [detail, field] = await refusal(client, 'alerts', { ...WEBHOOK, target })
    assert.deepEqual([field, /is not a public address/.test(detail)], ['target', true], detail)
  }
  const email = { ...WEBHOOK, to: 'email', digest: 'weekly' }
  assert.equal((await refusal(client, 'alerts', { ...email, target: 'nobody' }))[1], 'target')
  const { alert, secret } = await post<CreatedAlertAnswer>(client, 'alerts', { ...email, target: 'a@b.example' })
  assert.deepEqual([alert.target, alert.digest, secret], ['a@b.example', 'weekly', null])
  assert.equal((await read<AlertsAnswer>(client, 'alerts')).can_email, true)
})

test('before an alert exists, its dry run counts the last 90 days', async (t) => {
  const client = await signIn(t)
  const nowMs = systemClock.now()
  const visit = (company: string, daysAgo: number, row: EventRow = {}) => ({
    ...{ event_id: `${company} ${daysAgo}`, company_id: company, business_name: `Name of ${company}` },
    ...{ timestamp: nowMs - daysAgo * DAY_MS, received_at: nowMs - daysAgo * DAY_MS, ...row },
  })
  await insert('acme', [
    ...[visit('old.example', 100), visit('old.example', 40), visit('old.example', 5)],
    ...[visit('new.example', 3, { country_code: 'FR' }), visit('new.example', 2, { country_code: 'FR' })],
  ])
  const dry = (body: object) => post<AlertTrialAnswer>(client, 'alerts/try', body)
  const day = (daysAgo: number) => new Date(nowMs - daysAgo * DAY_MS).toISOString().slice(0, 10)
  assert.deepEqual(await dry({ on: 'company.first_seen' }), {
    ...{ days: 90, times: 1, companies: 1 },
    latest: [{ day: day(3), company_id: 'new.example', name: 'Name of new.example' }],
  })
  const returned = await dry({ on: 'company.returned', after_days: 30 })
  assert.deepEqual(
    [returned.times, returned.companies, returned.latest.map((one) => one.day)],
    [2, 1, [day(5), day(40)]],
  )
  const { segment_id } = await post<ListedSegment>(client, 'segments', { name: 'F', filter: { country: ['FR'] } })
  assert.equal((await dry({ on: 'company.returned', segment_id })).times, 0)
  const entered = await dry({ on: 'segment.entered', segment_id })
  assert.deepEqual([entered.days, entered.latest.map((one) => one.day)], [90, [day(3)]])
  await insert('acme', [
    ...[60, 50, 30, 12, 11, 4].map((daysAgo) =>
      visit('often.example', daysAgo, { country_code: 'IT', source_id: daysAgo === 50 ? 'src' : '' }),
    ),
    ...[60, 30, 12, 4].map((daysAgo) => ({
      ...visit('often.example', daysAgo, { country_code: 'IT', extra: '{"url":"/pricing?utm_campaign=spring"}' }),
      ...{ event_id: `often page ${daysAgo}`, ip: '192.0.2.9' },
    })),
  ])
  for (const [name, filter, days] of [
    ['D7', { country: ['DE'], days: 7 }, [5, 40]],
    ['D59', { country: ['DE'], days: 59 }, [40]],
    ['D7 visits', { country: ['DE'], days: 7, visits_min: 1 }, [5, 40]],
    ['D59 visits', { country: ['DE'], days: 59, visits_min: 1 }, [40]],
    ['F2', { country: ['FR'], visits_min: 2 }, [2]],
    // Days and visits of it: 60: 2, 50: 1, 30: 2, 12: 2, 11: 1, 4: 2.
    ['I all', { country: ['IT'] }, [60]],
    ['I7', { country: ['IT'], days: 7 }, [12, 30, 50, 60]],
    ['I8', { country: ['IT'], days: 8 }, [12, 30, 50, 60]],
    ['I9 visits', { country: ['IT'], days: 9, visits_min: 3 }, [11]],
    ['I30 visits', { country: ['IT'], days: 30, visits_min: 5 }, [11]],
    ['I few', { country: ['IT'], days: 2, visits_max: 1 }, [50]],
    ['I sum', { country: ['IT'], visits_min: 6 }, [12]],
    ['I from', { country: ['IT'], from: day(35), events_min: 3 }, [12]],
    ['I until', { country: ['IT'], to: day(20), visits_min: 4 }, [30]],
    // A company is new only for its first days: judged on each day, not today.
    ['I new', { country: ['IT'], new_days: 7 }, [60]],
    ['I new in 31', { country: ['IT'], new_days: 31, visits_min: 4 }, [30]],
    ['I new in 30', { country: ['IT'], new_days: 30, visits_min: 4 }, []],
    ['I new of days', { country: ['IT'], new_days: 11, days: 7 }, [50, 60]],
    ['I new since', { country: ['IT'], new_since: day(60), new_days: 7 }, [60]],
    ['I old', { country: ['IT'], new_since: day(59), new_days: 90 }, []],
    ['I page', { country: ['IT'], page_contains: ['/pricing'], days: 10 }, [12, 30, 60]],
    ['I pages', { country: ['IT'], page_contains: ['/PRICING'], page_visits_min: 3 }, [4]],
    ['I page is', { country: ['IT'], page: ['/pricing'], days: 10 }, [12, 30, 60]],
    ['I campaign', { country: ['IT'], campaign: ['spring'] }, [60]],
    ['I source', { country: ['IT'], source: ['src'] }, [50]],
    ['I no source', { country: ['IT'], source_not: ['src'], days: 15 }, [12, 30, 60]],
  ] as const) {
    const made = await post<ListedSegment>(client, 'segments', { name, filter })
    const { latest, times } = await dry({ on: 'segment.entered', segment_id: made.segment_id })
    assert.deepEqual([times, latest.map((one) => one.day)], [days.length, days.map(day)], name)
  }
  assert.equal((await refusal(client, 'alerts/try', { on: 'segment.entered' }))[1], 'segment')
  assert.deepEqual(await store.list('acme'), [])
})

test('a test message is sent and its answer shown, also of a receiver that fails', async (t) => {
  const client = await signIn(t)
  await startSender(t)
  const receiver = await Receiver.start(t)
  const target = `${receiver.url}/hook`
  const { alert, secret } = await post<CreatedAlertAnswer>(client, 'alerts', { ...WEBHOOK, target })
  receiver.key = secret!
  const { alert_id } = alert
  const run = async () => {
    const { message_id } = await post<TestedAlertAnswer>(client, 'alerts/test', { alert_id })
    return await until(
      () => read<MessageAnswer>(client, `alerts/messages/${message_id}`),
      ({ last_attempt: last }) => last !== null,
    )
  }
  const good = await run()
  assert.deepEqual(
    [good.state, good.type, good.last_attempt!.status, good.last_attempt!.answer, good.last_attempt!.error],
    ['delivered', 'alert.test', 200, 'ok', null],
  )
  assert.deepEqual([receiver.received.map(({ id }) => id), receiver.invalid], [[good.message_id], []])
  receiver.answer = (_, response) => void response.writeHead(410).end('gone away')
  const bad = await run()
  assert.deepEqual(
    [bad.state, bad.attempts, bad.last_attempt!.status, bad.last_attempt!.answer, bad.last_attempt!.error],
    ['failed', 1, 410, 'gone away', 'it answers 410: it is gone and wants no more messages'],
  )
  const [listed] = (await read<AlertsAnswer>(client, 'alerts')).alerts
  assert.deepEqual(
    [listed!.last_attempt!.error, listed!.last_fired, listed!.paused?.by],
    ['it answers 410: it is gone and wants no more messages', null, 'failures'],
  )
  assert.equal((await client.get('/api/tenants/acme/alerts/messages/msg_none')).status, 404)
})

test('an alert fires, is paused, resumed and removed, and its messages are listed and sent again', async (t) => {
  const client = await signIn(t)
  await startSender(t)
  const receiver = await Receiver.start(t)
  receiver.answer = (_, response) => void response.writeHead(503).end('busy')
  const target = `${receiver.url}/hook`
  const made = await post<CreatedAlertAnswer>(client, 'alerts', { ...WEBHOOK, target })
  const { alert_id } = made.alert
  const alert = (await store.get('acme', alert_id))!
  const lease = new Membership({ client: redis, name: 'alerts' }).share(0)
  await lease.acquire(AbortSignal.timeout(10_000))
  t.after(() => lease.release())
  await new RedisOccurrences(redis, lease).record(alert, [occurrenceOf(alert, 'bank.example')], systemClock.now())
  const list = (query = '') => read<MessagesAnswer>(client, `alerts/messages${query}`)
  const { messages } = await until(list, ({ messages: [first] }) => first?.attempts === 1)
  const [message] = messages as [ListedMessage]
  const { last_attempt: last, next_attempt_at: next } = message
  assert.deepEqual(
    [message.state, message.company_id, message.alert_state, last!.status, last!.answer],
    ['waiting', 'bank.example', 'on', 503, 'busy'],
  )
  assert.ok(Date.parse(next!) - Date.parse(last!.at) >= 5_000)
  const [shown] = (await read<AlertsAnswer>(client, 'alerts')).alerts
  assert.deepEqual(
    [shown!.waiting, shown!.last_fired!.company_id, shown!.last_attempt!.status],
    [1, 'bank.example', 503],
  )

  const paused = await post<ChangedAlertAnswer>(client, 'alerts/pause', { alert_id })
  assert.equal(paused.alert.paused!.by, 'person')
  assert.equal((await list()).messages[0]!.alert_state, 'paused')
  receiver.answer = (_, response) => void response.writeHead(200).end('fine')
  await post(client, 'alerts/messages/send-again', { message_id: message.message_id })
  const again = await until(list, ({ messages: [first] }) => first!.state === 'delivered')
  assert.deepEqual([again.messages[0]!.attempts, again.messages[0]!.next_attempt_at], [2, null])
  assert.equal(new Set(receiver.received.map(({ id }) => id)).size, 1)
  assert.equal((await post<ChangedAlertAnswer>(client, 'alerts/resume', { alert_id })).alert.paused, null)
  const ids = async (query: string) => (await list(query)).messages.map(({ message_id }) => message_id)
  assert.deepEqual(await ids('?state=delivered'), [message.message_id])
  assert.deepEqual([await ids('?state=failed'), await ids('?state=waiting&alert=alert_1')], [[], []])

  await post(client, 'alerts/remove', { alert_id })
  assert.deepEqual((await read<AlertsAnswer>(client, 'alerts')).alerts, [])
  assert.equal((await list()).messages[0]!.alert_state, null)
  assert.equal(await redis.exists(keys.alertProgress(alert_id)), 0)
  assert.match((await refusal(client, 'alerts/messages/send-again', { message_id: message.message_id }))[0], /no such/)
  assert.match((await refusal(client, 'alerts/pause', { alert_id }))[0], /no such alert/)
})

test('messages are read page by page, each once, also while new ones arrive', async (t) => {
  const client = await signIn(t)
  const { alert: made } = await post<CreatedAlertAnswer>(client, 'alerts', WEBHOOK)
  const alert = (await store.get('acme', made.alert_id))!
  const add = async (i: number, atMs: number) => {
    const id = `msg_${String(i).padStart(32, '0')}`
    const about = { companyId: `c${i}.example`, companyName: `C${i}` }
    // Not sent: no sender runs.
    await deliveries.add('acme', newDelivery(alert, id, messageAbout(alert, about.companyId), atMs, about), atMs)
  }
  for (let i = 0; i < 120; i++) await add(i, 1_000 + Math.floor(i / 60))
  const seen: string[] = []
  let before = ''
  for (let page = 0; page < 10; page++) {
    const answer = await read<MessagesAnswer>(client, `alerts/messages${before === '' ? '' : `?before=${before}`}`)
    seen.push(...answer.messages.map(({ message_id }) => message_id))
    if (answer.next === null) break
    before = answer.next
    await add(200 + page, 5_000)
  }
  assert.deepEqual([seen.length, new Set(seen).size], [120, 120])
  const response = await client.get('/api/tenants/acme/alerts/messages?before=nonsense')
  assert.equal(response.status, 422)
})

test('five tests in ten minutes are sent for a member, and to a destination, and no more', async (t) => {
  const dashboard = await startDashboard(t, redis, [...SESSION, ...routesOf({ canEmail: true })])
  t.after(() => store.removeAll('acme', systemClock.now()))
  const client = await dashboard.signIn(member)
  const targets = ['http://127.0.0.1:9/hook?key=1', 'http://127.0.0.1:9/hook?key=2', 'http://127.0.0.1:8/']
  const ids: string[] = []
  for (const [i, target] of targets.entries()) {
    const made = await post<CreatedAlertAnswer>(client, 'alerts', { ...WEBHOOK, name: `Hot ${i}`, target })
    ids.push(made.alert.alert_id)
  }
  const ask = (who: DashboardClient, alert_id: string) => who.post('/api/tenants/acme/alerts/test', { alert_id })
  const statuses = (await Promise.all(Array.from({ length: 9 }, (_, i) => ask(client, ids[i % 2]!)))).map(
    ({ status }) => status,
  )
  assert.deepEqual(statuses.toSorted(), [200, 200, 200, 200, 200, 429, 429, 429, 429])
  const refused = await ask(client, ids[2]!)
  const { detail } = (await refused.json()) as { detail: string }
  assert.equal(detail, 'you sent 5 tests in the last 10 minutes: try again in 10 minutes')
  const seconds = Number(refused.headers.get('retry-after'))
  assert.ok(seconds > 500 && seconds <= 600, String(seconds))
  const other = await dashboard.signIn(member)
  const full = await ask(other, ids[0]!)
  assert.match(await full.text(), /5 tests were sent to this destination in the last 10 minutes/)
  assert.equal(full.status, 429)
  assert.equal((await ask(other, ids[2]!)).status, 200, 'another destination')
  // A test that is sent again is a test.
  const { messages } = await read<MessagesAnswer>(client, 'alerts/messages')
  assert.equal(messages.length, 6)
  const again = { message_id: messages[0]!.message_id }
  assert.equal((await client.post('/api/tenants/acme/alerts/messages/send-again', again)).status, 429)
})

test('a message that failed is sent again at most five times in ten minutes', async (t) => {
  const client = await signIn(t)
  const { alert: made } = await post<CreatedAlertAnswer>(client, 'alerts', WEBHOOK)
  const alert = (await store.get('acme', made.alert_id))!
  const nowMs = systemClock.now()
  for (const id of ['msg_a', 'msg_b']) {
    const about = { companyId: 'a.example', companyName: 'A' }
    const found = newDelivery(alert, id, messageAbout(alert, about.companyId), nowMs, about)
    await deliveries.add('acme', { ...found, state: 'failed' }, nowMs)
  }
  const again = async (message_id: string) =>
    (await client.post('/api/tenants/acme/alerts/messages/send-again', { message_id })).status
  const statuses: number[] = []
  for (let i = 0; i < 6; i++) statuses.push(await again('msg_a'))
  assert.deepEqual(statuses, [200, 200, 200, 200, 200, 429])
  assert.equal(await again('msg_b'), 200)
})

test('an address confirms once by its link, and its alerts start then', async (t) => {
  const smtp = await startMailServer(t)
  const dashboard = await startDashboard(t, redis, [...SESSION, ...routesOf({ canEmail: true })])
  t.after(async () => {
    await store.removeAll('acme', systemClock.now())
    await removeAddressesOf(redis, 'acme')
  })
  await startSender(t, new Mailer({ url: smtp.url, from: 'ipid <ipid@site.example>' }))
  const client = await dashboard.signIn(member)
  const email = { ...WEBHOOK, to: 'email', target: 'Ada@B.example' }
  const { alert } = await post<CreatedAlertAnswer>(client, 'alerts', email)
  const { alert_id } = alert
  assert.deepEqual(
    [alert.unconfirmed, alert.paused!.by, alert.paused!.reason],
    ['ada@b.example', 'unconfirmed', 'waits for ada@b.example to confirm'],
  )
  assert.equal(await redis.sismember(keys.alertingTenants(), 'acme'), 0)
  for (const verb of ['test', 'resume'])
    assert.equal(
      (await refusal(client, `alerts/${verb}`, { alert_id }))[0],
      'the alert waits for ada@b.example to confirm',
    )
  await until(
    async () => smtp.mails.length,
    (mails) => mails === 1,
  )
  const { to, text } = readMail(smtp.mails[0]!)
  assert.equal(to, 'Ada@b.example')
  const token = /\/confirm\?token=([\w-]+)/.exec(String(text))![1]!
  const { messages } = await read<MessagesAnswer>(client, 'alerts/messages')
  const shown = JSON.stringify(await read<MessageAnswer>(client, `alerts/messages/${messages[0]!.message_id}`))
  assert.ok(!shown.includes(token), 'members do not read the link')
  // Opening it changes nothing: programs that scan mail do so.
  const page = await fetch(`${dashboard.url}/confirm?token=${token}`)
  assert.equal(page.status, 200)
  const html = await page.text()
  assert.match(
    html,
    /Once you confirm it, ada@b\.example gets this from acme:<\/p>\n<ul><li>The alert [^<]+<\/li><\/ul>.*<button/s,
  )
  assert.equal((await store.get('acme', alert_id))!.unconfirmed, 'ada@b.example')
  const press = (origin = dashboard.url, value = token) =>
    fetch(`${dashboard.url}/confirm`, {
      method: 'POST',
      headers: { origin, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ ...formOf(html), token: value }),
    })
  assert.equal((await press('http://evil.example')).status, 403)
  assert.equal((await press(undefined, 'x'.repeat(43))).status, 404)
  const beganMs = Date.now()
  assert.equal((await press()).status, 200)
  const started = (await store.get('acme', alert_id))!
  assert.deepEqual([started.paused, started.unconfirmed], [undefined, undefined])
  assert.ok(Date.parse(started.active_since) >= beganMs)
  assert.equal(await redis.sismember(keys.alertingTenants(), 'acme'), 1)
  assert.equal((await press()).status, 404, 'once')
  assert.equal((await fetch(`${dashboard.url}/confirm?token=${token}`)).status, 404)
  const second = await post<CreatedAlertAnswer>(client, 'alerts', { ...email, name: 'Second', target: 'ada@b.example' })
  assert.deepEqual([second.alert.unconfirmed, second.alert.paused], [null, null])
  assert.equal((await client.post('/api/tenants/acme/alerts/test', { alert_id })).status, 200)
})

test('an unconfirmed address gets five mails in ten minutes, however its alerts are made, and a pause is no way around', async (t) => {
  const client = await signIn(t, { canEmail: true })
  const email = { ...WEBHOOK, to: 'email', target: 'eve@c.example' }
  const statuses: number[] = []
  for (let i = 0; i < 7; i++) {
    const made = await client.post('/api/tenants/acme/alerts', { ...email, name: `A ${i}` })
    statuses.push(made.status)
  }
  assert.deepEqual(statuses, [200, 200, 200, 200, 200, 429, 429])
  const [first] = (await read<AlertsAnswer>(client, 'alerts')).alerts
  const { alert_id } = first!
  assert.equal((await client.post('/api/tenants/acme/alerts/ask-again', { alert_id })).status, 429)
  await post(client, 'alerts/pause', { alert_id })
  assert.match((await refusal(client, 'alerts/resume', { alert_id }))[0], /waits for eve@c\.example/)
  await new RedisAddresses(redis, testSecrets).confirm(
    { tenantId: 'acme', address: 'eve@c.example' },
    systemClock.now(),
  )
  const alerts = (await read<AlertsAnswer>(client, 'alerts')).alerts
  assert.deepEqual(
    alerts.map(({ paused, unconfirmed }) => [paused?.by, unconfirmed]),
    [['person', null], ...Array(4).fill([undefined, null])],
  )
})
