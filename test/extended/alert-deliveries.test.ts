import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Logger, pino } from 'pino'
import { ALERT_LIMITS } from '../../schemas/alert.ts'
import type { Delivery } from '../../src/alerts/delivery.ts'
import { type Alert, RedisAlerts } from '../../src/alerts/redis/alert-store.ts'
import { RedisDeliveries } from '../../src/alerts/redis/delivery-store.ts'
import { deliveryOf, RedisOccurrences } from '../../src/alerts/redis/occurrence-store.ts'
import { Sender } from '../../src/alerts/sender.ts'
import { Channels } from '../../src/alerts/sending/channels.ts'
import { Destinations } from '../../src/alerts/sending/destinations.ts'
import { Mailer } from '../../src/alerts/sending/mail.ts'
import { connectRedis, type RedisClient } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { Membership } from '../../src/stores/redis/membership.ts'
import { addAlert, errorsOf, noFiles, occurrenceOf, Receiver, testSecrets } from '../support/alerts.ts'
import { type ChatAnswer, slackAnswer, teamsAnswer } from '../support/chat-services.ts'
import { readMail, startMailServer } from '../support/mail.ts'
import { quiet, silent } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'
import { handClock } from '../support/tenants.ts'
import { until } from '../support/until.ts'

const redis = await startTestRedis()

interface World {
  readonly sender: Sender
  readonly client: RedisClient
  readonly clock: ReturnType<typeof handClock>
  readonly deliveries: RedisDeliveries
  readonly alerts: RedisAlerts
  readonly results: string[]
  record(alert: Alert, companies: readonly string[]): Promise<unknown>
  /** The message about a company. */
  about(alert: Alert, company: string): Promise<Delivery | undefined>
}

interface WorldOptions {
  readonly destinations?: Destinations
  readonly mailer?: Mailer
  readonly timeoutMs?: number
  readonly log?: Logger
}

/** A sender on an empty Redis. */
async function startSender(t: TestContext, options: WorldOptions = {}): Promise<World> {
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop', timeoutMs: 5_000 }))
  await client.flushall()
  const clock = handClock()
  clock.nowMs = Date.now()
  const [deliveries, alerts] = [new RedisDeliveries(client), new RedisAlerts(client)]
  const evaluation = new Membership({ client, name: 'alerts' }).share(0)
  await evaluation.acquire(AbortSignal.timeout(10_000))
  const destinations = options.destinations ?? new Destinations({ allowsPrivate: true })
  const channels = new Channels({
    files: noFiles,
    ...{
      destinations,
      secrets: testSecrets,
      mailer: options.mailer,
      userAgent: 'test',
      clock,
      log: options.log ?? silent,
    },
    ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
  })
  const results: string[] = []
  const sender = new Sender({
    lease: new Membership({ client, name: 'deliveries' }).share(0),
    ...{ deliveries, alerts, clock, log: silent, persisted: async () => {} },
    tenants: async () => ['acme', 'idle'],
    send: (...args) => channels.send(...args),
    onAttempt: (result) => results.push(result),
  })
  await sender.start()
  t.after(async () => {
    await sender.stop()
    await evaluation.release()
    client.disconnect()
  })
  const occurrences = new RedisOccurrences(client, evaluation)
  return {
    ...{ sender, client, clock, deliveries, alerts, results },
    record: (alert, companies) =>
      occurrences.record(
        alert,
        companies.map((company) => occurrenceOf(alert, company)),
        clock.now(),
      ),
    about: (alert, company) => deliveries.get(alert.tenantId, deliveryOf(alert, occurrenceOf(alert, company), 0).id),
  }
}

test('an occurrence is one signed message, however often it is recorded', async (t) => {
  const world = await startSender(t)
  const receiver = await Receiver.start(t)
  const alert = await addAlert(world.client, 'acme', { url: `${receiver.url}/hook?a=b` })
  receiver.key = alert.key
  assert.equal(await world.record(alert, ['a.example', 'b.example']), 2)
  assert.equal(await world.record(alert, ['b.example', 'a.example']), 0)
  const delivered = await until(
    () => world.about(alert, 'a.example'),
    (found) => found?.state === 'delivered',
  )
  await until(() => receiver.received.length === 2)
  assert.deepEqual([receiver.invalid, receiver.received[0]!.path], [[], '/hook?a=b'])
  assert.deepEqual([delivered.attempts.length, delivered.attempts[0]!.status], [1, 200])
  const sent = receiver.received.find(({ id }) => id === delivered.id)!
  const { type, data } = JSON.parse(sent.body)
  assert.deepEqual(
    [type, data.company.company_id, data.url],
    ['company.first_seen', 'a.example', 'http://dash.example/t/acme/companies/of?id=a.example'],
  )
  assert.equal(await world.record(alert, ['a.example']), 0)
})

test('a failed message is tried again by the schedule, then its alert is paused', async (t) => {
  const world = await startSender(t)
  const receiver = await Receiver.start(t)
  receiver.answer = (_, response) => void response.writeHead(500).end('it broke')
  const alert = await addAlert(world.client, 'acme', { url: receiver.url })
  await world.record(alert, ['a.example'])
  const delays: number[] = []
  for (let attempt = 1; attempt <= 9; attempt++) {
    const found = await until(
      () => world.about(alert, 'a.example'),
      (one) => one?.attempts.length === attempt,
    )
    const [due] = (await world.deliveries.dueTimes([found])).values()
    const { atMs, tookMs } = found.attempts.at(-1)!
    delays.push((due! - atMs - tookMs) / 1_000)
    world.clock.nowMs = due!
  }
  assert.deepEqual(delays, [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400])
  const failed = await until(
    () => world.about(alert, 'a.example'),
    (one) => one?.state === 'failed',
  )
  assert.equal(new Set(receiver.received.map(({ id }) => id)).size, 1)
  assert.equal(receiver.received.length, 10)
  assert.deepEqual([errorsOf(failed).at(-1), failed.attempts.at(-1)!.answer], ['it answers 500', 'it broke'])
  const [paused] = await world.alerts.list('acme')
  assert.match(paused!.paused!.reason, /could not be delivered in 10 attempts: it answers 500/)
  assert.equal(paused!.paused!.by, 'failures')
  assert.equal(await world.record(alert, ['b.example']), 'inactive')

  receiver.answer = (_, response) => void response.end()
  const again: Delivery = { ...failed, rev: failed.rev + 1, state: 'waiting', failures: 0 }
  assert.equal(await world.deliveries.add('acme', again, world.clock.now(), failed.rev - 1), false)
  assert.equal(await world.deliveries.add('acme', again, world.clock.now(), failed.rev), true)
  await until(
    () => world.about(alert, 'a.example'),
    (one) => one?.state === 'delivered',
  )
  assert.equal(new Set(receiver.received.map(({ id }) => id)).size, 1)
})

test('a message that is sent again during an attempt is not lost', async (t) => {
  const { client, deliveries, alerts, clock } = await startSender(t)
  const alert = await addAlert(client, 'acme', { url: 'http://127.0.0.1:9/' })
  const queue = { tenantId: alert.tenantId, alertId: alert.id, queue: 'requested' } as const
  const first: Delivery = { ...deliveryOf(alert, occurrenceOf(alert, 'a.example'), clock.now()), rev: 1 }
  const later = clock.now() + 3_600_000
  await deliveries.add(alert.tenantId, first, later)
  assert.equal(await deliveries.add(alert.tenantId, { ...first, rev: 2 }, later, 1), true)
  const settled = { rev: 1, dueAtMs: undefined, nowMs: clock.now() }
  assert.equal(await deliveries.settle(queue, { ...first, rev: 2 }, settled), false, 'the attempt is too old')
  assert.deepEqual([...(await deliveries.dueTimes([first])).keys()], [first.id])

  await alerts.remove(alert.tenantId, alert.id, clock.now())
  assert.deepEqual([await deliveries.queues(), await client.keys('*waiting*')], [[], []])
})

test('messages of a paused alert are not sent until it is resumed', async (t) => {
  const world = await startSender(t)
  const receiver = await Receiver.start(t)
  let isUp = false
  receiver.answer = (_, response) => void response.writeHead(isUp ? 204 : 503).end()
  const alert = await addAlert(world.client, 'acme', { url: receiver.url })
  await world.record(alert, ['a.example'])
  await until(() => world.results.includes('retried'))
  const paused = { at: new Date().toISOString(), by: 'person', reason: '' } as const
  await world.alerts.change('acme', alert.id, { paused })
  isUp = true
  world.clock.nowMs += 60_000
  const other = await addAlert(world.client, 'acme', { url: receiver.url })
  await world.record(other, ['b.example'])
  await until(() => world.results.includes('delivered'))
  assert.equal((await world.about(alert, 'a.example'))!.state, 'waiting')
  await world.alerts.change('acme', alert.id, { paused: null })
  await until(
    () => world.about(alert, 'a.example'),
    (one) => one?.state === 'delivered',
  )
})

test('a stop amid a round begins no attempt of another alert', async (t) => {
  const { sender, client, deliveries, record } = await startSender(t)
  const receiver = await Receiver.start(t)
  const [queues, due] = [deliveries.queues.bind(deliveries), deliveries.due.bind(deliveries)]
  // One round sees both alerts.
  deliveries.queues = async () => {
    const found = await queues()
    return found.length === 2 ? found : []
  }
  let stopped: Promise<void> | undefined
  deliveries.due = async (...args) => {
    const ids = await due(...args)
    stopped ??= sender.stop()
    return ids
  }
  for (const company of ['a.example', 'b.example']) {
    await record(await addAlert(client, 'acme', { url: receiver.url }), [company])
  }
  await until(() => stopped !== undefined)
  await stopped
  assert.equal(receiver.received.length, 1)
})

test('a silent receiver does not hold up the others', async (t) => {
  const world = await startSender(t, { timeoutMs: 600_000 })
  const [slow, quick] = [await Receiver.start(t), await Receiver.start(t)]
  slow.answer = () => {}
  const many = Array.from({ length: 60 }, (_, i) => `c${i}.example`)
  const stuck = await addAlert(world.client, 'acme', { url: slow.url })
  await world.record(stuck, many)
  await until(() => slow.received.length === 8)
  const sameTenant = await addAlert(world.client, 'acme', { url: quick.url })
  const otherTenant = await addAlert(world.client, 'other', { url: quick.url })
  await world.record(sameTenant, many)
  await world.record(otherTenant, many)
  await until(() => quick.received.length === 120)
  assert.equal(slow.received.length, 8)
})

test('at every connection, a destination that has become private is refused', async (t) => {
  const receiver = await Receiver.start(t)
  let address = '93.184.215.14'
  const destinations = new Destinations({ allowsPrivate: false, resolve: async () => [{ address, family: 4 }] })
  const logged: string[] = []
  const log = pino({ level: 'info' }, { write: (text) => void logged.push(text) })
  const world = await startSender(t, { destinations, timeoutMs: 1_000, log })
  const url = `http://hook.example:${new URL(receiver.url).port}/`
  await destinations.read(url)
  address = '127.0.0.1'
  const alert = await addAlert(world.client, 'acme', { url })
  await world.record(alert, ['a.example'])
  const found = await until(
    () => world.about(alert, 'a.example'),
    (one) => one?.attempts.length === 1,
  )
  assert.match(errorsOf(found)[0]!, /^hook\.example does not lead to a public address/)
  assert.ok(!JSON.stringify(found).includes('127.0.0.1'), 'the tenant must not learn our network from it')
  assert.match(logged.join(''), /"address":"127\.0\.0\.1 \(loopback\)"/)
  assert.equal(receiver.received.length, 0)
})

test('a redirect is a failure that says so, and its place is not asked', async (t) => {
  const world = await startSender(t)
  const [receiver, inner] = [await Receiver.start(t), await Receiver.start(t)]
  receiver.answer = (_, response) => void response.writeHead(302, { location: inner.url }).end()
  const alert = await addAlert(world.client, 'acme', { url: receiver.url })
  await world.record(alert, ['a.example'])
  const found = await until(
    () => world.about(alert, 'a.example'),
    (one) => one?.attempts.length === 1,
  )
  assert.match(errorsOf(found)[0]!, /^it redirects \(302\) to http:\/\/127.*redirects are not followed/)
  assert.equal(inner.received.length, 0)
})

const LINK = 'http://dash.example/t/acme/companies/of?id=a.example'

test('Slack gets blocks with name, facts and a button, in which a name makes no marks', async (t) => {
  const world = await startSender(t)
  const receiver = await Receiver.start(t)
  answersAs(receiver, slackAnswer)
  const alert = await addAlert(world.client, 'acme', { url: receiver.url, to: 'slack' })
  await world.record(alert, ['a.example'])
  await delivered(world, alert)
  const { text, blocks } = JSON.parse(receiver.received[0]!.body)
  const sentence = `*<${LINK}|a.example &amp; &lt;Co&gt;>* was seen for the first time`
  assert.equal(text.split('\n')[0], sentence)
  assert.equal(blocks[0].text.text, sentence)
  assert.deepEqual(
    blocks[1].fields.map((field: { readonly text: string }) => field.text),
    FACTS.map(([label, value]) => `${label}\n${value}`),
  )
  assert.deepEqual([blocks[2].elements[0].text.text, blocks[2].elements[0].url], ['Open company', LINK])
})

test('Teams gets a card with name, facts and a button', async (t) => {
  const world = await startSender(t)
  const receiver = await Receiver.start(t)
  answersAs(receiver, teamsAnswer)
  const alert = await addAlert(world.client, 'acme', { url: `${receiver.url}/workflows/1?sig=secret`, to: 'teams' })
  await world.record(alert, ['a.example'])
  await delivered(world, alert)
  const [{ content }] = JSON.parse(receiver.received[0]!.body).attachments
  const lines = content.body.map(({ inlines }: { readonly inlines: readonly { readonly text: string }[] }) =>
    inlines.map((inline) => inline.text).join(''),
  )
  assert.deepEqual(lines, [
    'a.example & <Co> was seen for the first time',
    ...FACTS.map(([label, value]) => `${label}: ${value}`),
  ])
  assert.deepEqual([content.actions[0].title, content.actions[0].url], ['Open company', LINK])
  assert.equal(receiver.received[0]!.path, '/workflows/1?sig=secret')
})

/** The facts of `ACTIVITY` in words. */
const FACTS = [
  ['Company', 'a.example, Software, DE'],
  ['Page', 'shop.example/our_pricing'],
  ['Came from', 'search.example'],
  ['Visits', '3'],
  ['Heat', '41 of 100'],
] as const

function answersAs(receiver: Receiver, service: (body: string) => ChatAnswer): void {
  receiver.answer = (_, response, { body }) => {
    const { status, text } = service(body)
    response.writeHead(status).end(text)
  }
}

async function delivered(world: World, alert: Alert): Promise<void> {
  const found = await until(
    () => world.about(alert, 'a.example'),
    (one) => (one?.attempts.length ?? 0) > 0,
  )
  assert.deepEqual([found.state, errorsOf(found)], ['delivered', [undefined]])
}

test('an e-mail has name, reason and link, and the id of its message', async (t) => {
  const smtp = await startMailServer(t)
  const world = await startSender(t, { mailer: new Mailer({ url: smtp.url, from: 'ipid <ipid@site.example>' }) })
  const alert = await addAlert(world.client, 'acme', { to: 'email', target: 'anna@site.example' })
  await world.record(alert, ['a.example'])
  await until(
    () => world.about(alert, 'a.example'),
    (one) => one?.state === 'delivered',
  )
  const [mail] = smtp.mails
  assert.deepEqual(readMail(mail!), {
    ...{ from: 'ipid <ipid@site.example>', to: 'anna@site.example' },
    subject: 'a.example & <Co> was seen for the first time',
    text: [
      'a.example & <Co> was seen for the first time.',
      ...FACTS.map(([label, value]) => `${label}: ${value}`),
      '',
      'http://dash.example/t/acme/companies/of?id=a.example',
      '',
      `Alert ${alert.name} of acme`,
    ].join('\n'),
  })
  const { id } = (await world.about(alert, 'a.example'))!
  assert.ok(mail!.includes(`<${id}@site.example>`))
})

test('of the answers of a receiver, a message keeps a short text of the last one', async (t) => {
  const world = await startSender(t)
  const receiver = await Receiver.start(t)
  receiver.answer = (_, response) => void response.writeHead(500).end(`\u0000\u001b[2J"${'\u202e€'.repeat(1_000)}`)
  const alert = await addAlert(world.client, 'acme', { url: receiver.url })
  await world.record(alert, ['a.example'])
  const look = (attempts: number) =>
    until(
      () => world.about(alert, 'a.example'),
      (one) => one?.attempts.length === attempts,
    )
  const dueMs = async () => {
    const found = (await world.about(alert, 'a.example'))!
    return (await world.deliveries.dueTimes([found])).get(found.id)!
  }
  const { attempts: first } = await look(1)
  assert.match(first[0]!.answer!, /^\[2J"( €)+…$/)
  assert.ok(Buffer.byteLength(first[0]!.answer!) <= 256)
  receiver.answer = (_, response) =>
    void response.writeHead(302, { location: `http://x.example/${'y'.repeat(500)}` }).end()
  world.clock.nowMs = await dueMs()
  const { attempts } = await look(2)
  assert.deepEqual(
    attempts.map(({ answer }) => answer),
    [undefined, ''],
  )
  assert.match(attempts[1]!.error!, /redirects are not followed/)
  world.clock.nowMs = await dueMs()
  const later = (await look(3)).attempts
  assert.ok(Buffer.byteLength(later[1]!.error!) <= 80 && later[1]!.error!.endsWith('…'), later[1]!.error)
})

test('messages of a tenant without attempts are removed after their time', async (t) => {
  const world = await startSender(t)
  const receiver = await Receiver.start(t)
  const alert = await addAlert(world.client, 'idle', { url: receiver.url })
  await world.record(alert, ['a.example'])
  await until(
    () => world.about(alert, 'a.example'),
    (one) => one?.state === 'delivered',
  )
  world.clock.nowMs += (ALERT_LIMITS.deliveryDays - 1) * 86_400_000
  const recent = await addAlert(world.client, 'acme', { url: receiver.url })
  await world.record(recent, ['b.example'])
  await until(
    () => world.about(recent, 'b.example'),
    (one) => one?.state === 'delivered',
  )
  assert.ok(await world.about(alert, 'a.example'))
  world.clock.nowMs += 2 * 86_400_000
  await until(
    () => world.about(alert, 'a.example'),
    (one) => one === undefined,
  )
  const names = [keys.deliveries('idle'), keys.deliveryTimes('idle'), keys.finishedDeliveries('idle')]
  assert.equal(await world.client.exists(...names), 0)
  assert.ok(await world.about(recent, 'b.example'), 'a younger one stays')
})

test('requested messages above the limit are refused', async (t) => {
  const { client, deliveries, clock } = await startSender(t)
  const alert = await addAlert(client, 'acme', { url: 'http://127.0.0.1:9/' })
  const later = clock.now() + 3_600_000
  const full = Array.from({ length: ALERT_LIMITS.waitingMax - 1 }, (_, i) => [later, `msg_${i}`]).flat()
  await client.zadd(keys.waitingDeliveries(alert.id, 'requested'), ...full)
  const message = (company: string) => deliveryOf(alert, occurrenceOf(alert, company), clock.now())
  assert.equal(await deliveries.add('acme', message('a.example'), later), true)
  await assert.rejects(deliveries.add('acme', message('b.example'), later), {
    name: 'InputError',
    message: /^2000 requested messages of this alert wait: try again/,
  })
  const again = { ...message('a.example'), rev: 2 }
  assert.equal(await deliveries.add('acme', again, later, 1), true, 'one that waits already takes no place')
})

test('a receiver that answers 429 gets nothing until the end of its retry-after, and no attempt counts as failed', async (t) => {
  const world = await startSender(t)
  const receiver = await Receiver.start(t)
  let isBusy = true
  receiver.answer = (_, response) =>
    void (isBusy ? response.writeHead(429, { 'retry-after': '120' }).end() : response.end('ok'))
  const alert = await addAlert(world.client, 'acme', { url: receiver.url })
  await world.record(alert, ['a.example'])
  for (let attempt = 1; attempt <= 11; attempt++) {
    const found = await until(
      () => world.about(alert, 'a.example'),
      (one) => one?.attempts.length === attempt,
    )
    assert.deepEqual([found.state, found.failures], ['waiting', 0])
    const [due] = (await world.deliveries.dueTimes([found])).values()
    const { atMs, tookMs } = found.attempts.at(-1)!
    assert.equal(due! - atMs - tookMs, 120_000)
    assert.ok((await world.deliveries.heldUntil(alert.id)) >= atMs + 120_000)
    isBusy = attempt < 11
    world.clock.nowMs = Math.max(due!, await world.deliveries.heldUntil(alert.id))
  }
  await until(
    () => world.about(alert, 'a.example'),
    (one) => one?.state === 'delivered',
  )
  assert.equal((await world.alerts.get('acme', alert.id))!.paused, undefined)
})

interface Busy {
  readonly to: 'webhook' | 'slack'
  readonly status: number
  /** The header `retry-after`; of milliseconds from now it is a date. */
  readonly after?: string | number
  /** Until the next attempt, and until another message, seconds. */
  readonly retry: number
  readonly hold: number
  readonly failures: number
}

const BUSY: readonly Busy[] = [
  { to: 'slack', status: 429, after: '60', retry: 60, hold: 60, failures: 0 },
  { to: 'webhook', status: 429, after: '60', retry: 60, hold: 60, failures: 0 },
  { to: 'webhook', status: 429, after: 600_000, retry: 600, hold: 600, failures: 0 },
  { to: 'webhook', status: 429, after: '0', retry: 5, hold: 0, failures: 0 },
  { to: 'webhook', status: 429, after: '999999999', retry: 86_400, hold: 86_400, failures: 0 },
  { to: 'webhook', status: 429, retry: 5, hold: 5, failures: 1 },
  { to: 'slack', status: 429, after: 'soon', retry: 5, hold: 5, failures: 1 },
  { to: 'webhook', status: 503, after: '120', retry: 120, hold: 120, failures: 1 },
  { to: 'webhook', status: 500, after: '120', retry: 120, hold: 120, failures: 1 },
  { to: 'webhook', status: 502, retry: 5, hold: 5, failures: 1 },
  { to: 'webhook', status: 504, retry: 5, hold: 5, failures: 1 },
  { to: 'webhook', status: 500, retry: 5, hold: 0, failures: 1 },
  { to: 'webhook', status: 404, retry: 5, hold: 0, failures: 1 },
]

test('a receiver under load gets nothing until it says, or for 5 s', async (t) => {
  const world = await startSender(t)
  const receiver = await Receiver.start(t)
  const nowMs = Math.ceil(world.clock.now() / 1_000) * 1_000
  world.clock.nowMs = nowMs
  for (const busy of BUSY) {
    const { to, status, after, retry, hold, failures } = busy
    const header = typeof after === 'number' ? new Date(nowMs + after).toUTCString() : after
    receiver.answer = (_, response) =>
      void response.writeHead(status, header === undefined ? {} : { 'retry-after': header }).end()
    const alert = await addAlert(world.client, 'acme', { url: receiver.url, to })
    await world.record(alert, ['a.example'])
    const found = await until(
      () => world.about(alert, 'a.example'),
      (one) => one?.attempts.length === 1,
    )
    const [due] = (await world.deliveries.dueTimes([found])).values()
    const held = await world.deliveries.heldUntil(alert.id)
    const { atMs, tookMs } = found.attempts[0]!
    assert.deepEqual(
      [(due! - atMs - tookMs) / 1_000, Math.max(0, held - nowMs) / 1_000, found.failures, found.state],
      [retry, hold, failures, 'waiting'],
      JSON.stringify(busy),
    )
  }
})

test('of two attempts at the same time, the longer wait holds', async (t) => {
  const world = await startSender(t)
  const receiver = await Receiver.start(t)
  const open: (() => void)[] = []
  receiver.answer = (_, response) => {
    const after = open.length === 0 ? '600' : '10'
    open.push(() => void response.writeHead(429, { 'retry-after': after }).end())
  }
  const alert = await addAlert(world.client, 'acme', { url: receiver.url })
  await world.record(alert, ['a.example', 'b.example'])
  await until(() => open.length === 2)
  const attempts = async () => {
    const both = await Promise.all(['a.example', 'b.example'].map((company) => world.about(alert, company)))
    return both.flatMap((one) => one?.attempts ?? []).length
  }
  open[0]!()
  await until(attempts, (count) => count === 1)
  open[1]!()
  await until(attempts, (count) => count === 2)
  assert.equal((await world.deliveries.heldUntil(alert.id)) - world.clock.now(), 600_000)
})

test('a receiver that answers 410 disables its alert, which says so', async (t) => {
  const world = await startSender(t)
  const receiver = await Receiver.start(t)
  receiver.answer = (_, response) => void response.writeHead(410).end()
  const alert = await addAlert(world.client, 'acme', { url: receiver.url })
  await world.record(alert, ['a.example'])
  const failed = await until(
    () => world.about(alert, 'a.example'),
    (one) => one?.state === 'failed',
  )
  assert.equal(failed.attempts.length, 1)
  const { paused } = (await world.alerts.get('acme', alert.id))!
  assert.deepEqual(
    [paused!.by, paused!.reason],
    ['failures', 'its receiver answered 410 (gone) and wants no more messages, so the alert is disabled'],
  )
})
