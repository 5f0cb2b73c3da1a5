import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { AlertAdmin } from '../../src/alerts/admin.ts'
import type { ReadWeek, WeekMessage } from '../../src/alerts/digests/week.ts'
import type { ClickHouseVisits } from '../../src/alerts/evaluation/visits.ts'
import { RedisAddresses } from '../../src/alerts/redis/address-store.ts'
import { type Digest, RedisAlerts } from '../../src/alerts/redis/alert-store.ts'
import { RedisDeliveries } from '../../src/alerts/redis/delivery-store.ts'
import { RedisOccurrences } from '../../src/alerts/redis/occurrence-store.ts'
import { Sender } from '../../src/alerts/sender.ts'
import { Channels } from '../../src/alerts/sending/channels.ts'
import { Destinations } from '../../src/alerts/sending/destinations.ts'
import { Mailer } from '../../src/alerts/sending/mail.ts'
import { weekOf } from '../../src/companies/home.ts'
import { Segments } from '../../src/companies/segments/segments.ts'
import { RedisExports } from '../../src/exports/redis/export-store.ts'
import { EndedJobs } from '../../src/pipeline/sources/batch/redis/ended-jobs.ts'
import { SecretBox } from '../../src/secrets/secret-box.ts'
import { connectRedis, type RedisClient } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { Membership } from '../../src/stores/redis/membership.ts'
import { RedisTenantStore } from '../../src/tenants/redis/tenant-store.ts'
import { noFiles, testSecrets } from '../support/alerts.ts'
import { testAlertAdmin } from '../support/dashboard.ts'
import { WEEK } from '../support/home-week.ts'
import { Killer, SteppedEvaluator } from '../support/killer.ts'
import { headerOf, type MailServer, readMail, startMailServer } from '../support/mail.ts'
import { quiet, silent } from '../support/pipeline.ts'
import { takePort } from '../support/ports.ts'
import { startTestRedis } from '../support/redis.ts'
import { handClock } from '../support/tenants.ts'
import { until } from '../support/until.ts'

const DAY_MS = 86_400_000
/** A Tuesday. */
const START_MS = Date.UTC(2026, 10, 24, 12)
const redis = await startTestRedis()

/** The week that ended before a moment: always the same numbers. */
const anyWeek: ReadWeek = async (_tenant, _where, atMs) => ({
  ...WEEK,
  ...weekOf(Math.floor(atMs / DAY_MS) * DAY_MS - 1),
})

/** Subscribers of the tenant `acme` on an empty Redis. */
async function startWorld(t: TestContext, { subscribers = 3, every = 'day' as 'day' | 'week' } = {}) {
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop', timeoutMs: 5_000 }))
  await client.flushall()
  const clock = handClock(START_MS)
  const [alerts, deliveries, segments] = [
    new RedisAlerts(client),
    new RedisDeliveries(client),
    new Segments(client, clock),
  ]
  const tenants = new RedisTenantStore(client)
  const createdAt = '2026-01-01T00:00:00.000Z'
  await tenants.createTenant({ id: 'acme', plan: 'starter', archive: false, addresses: 'full', createdAt })
  const admin = testAlertAdmin(client, clock)
  const addresses = Array.from({ length: subscribers }, (_, i) => `p${i}@site.example`)
  const digests: Digest[] = []
  for (const address of addresses) {
    await admin.confirm('acme', address)
    digests.push(await admin.subscribe('acme', { address, every, at: '08:00' }))
  }
  const lease = new Membership({ client, name: 'alerts' }).share(0)
  await lease.acquire(AbortSignal.timeout(10_000))
  t.after(async () => {
    await lease.release()
    client.disconnect()
  })
  const killable = (killer: Killer) =>
    killer.over(client, ['smembers', 'hget', 'hgetall', 'hmget', 'zrangebyscore', 'evalsha', 'eval']) as RedisClient
  return {
    ...{ addresses, admin, alerts, client, clock, deliveries, digests, lease, segments },
    evaluator({ killer = new Killer(), readWeek = anyWeek, of = lease } = {}) {
      const store = killable(killer)
      return new SteppedEvaluator({
        ...{ lease: of, clock, log: silent, retentionDays: undefined, settleMs: 0 },
        ...{ alerts: new RedisAlerts(store), segments, dashboardUrl: 'http://dash.example' },
        occurrences: new RedisOccurrences(store, killer.over(of, ['run'])),
        ...{ exports: new RedisExports(client), waiting: async () => 0 },
        jobs: new EndedJobs(store, 1, clock),
        visits: {} as ClickHouseVisits,
        readWeek: (...args) => killer.over({ readWeek }, ['readWeek']).readWeek(...args),
        getTenant: (id) => tenants.getTenant(id),
      })
    },
    /** A sender that works until the end of the test, or until it is killed. */
    async sender(url: string, killer = new Killer()) {
      const store = killable(killer)
      const channels = new Channels({
        files: noFiles,
        ...{ destinations: new Destinations({ allowsPrivate: false }), secrets: testSecrets, clock, log: silent },
        ...{ mailer: new Mailer({ url, from: 'ipid@site.example' }), userAgent: 'test' },
      })
      const calls = killer.over({ send: channels.send.bind(channels) }, ['send'])
      const sender = new Sender({
        lease: new Membership({ client, name: 'deliveries' }).share(0),
        ...{ deliveries: new RedisDeliveries(store), alerts: new RedisAlerts(store), clock, log: silent },
        ...{ tenants: async () => [], persisted: async () => {}, send: calls.send },
      })
      await sender.start()
      t.after(() => sender.stop())
      return sender
    },
    /** All messages, newest first. */
    messages: async () => (await deliveries.page('acme', { limit: 1_000 })).deliveries,
    /** Resolves when no message waits. */
    sent: () => until(async () => (await deliveries.waiting(clock.now())).waiting === 0),
  }
}

/** Last day and Message-IDs of the digests that each address got. */
function received({ mails }: MailServer): ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>> {
  const found = new Map<string, Map<string, Set<string>>>()
  for (const mail of mails) {
    const { to, text } = readMail(mail)
    const day = / to (\d.*)\.\n/.exec(text)![1]!
    const days = found.get(to) ?? new Map<string, Set<string>>()
    days.set(day, (days.get(day) ?? new Set()).add(headerOf(mail, 'Message-ID')))
    found.set(to, days)
  }
  return found
}

test('wherever evaluation and sender are killed, each subscriber gets each digest under one Message-ID', async (t) => {
  const world = await startWorld(t)
  const smtp = await startMailServer(t)
  let days = 0
  for (let isKilled = true; isKilled; days++) {
    world.clock.nowMs += DAY_MS
    const [evaluating, sending] = [new Killer(days), new Killer(days)]
    await world
      .evaluator({ killer: evaluating })
      .turn()
      .catch(() => {})
    await world.evaluator().turn()
    const first = await world.sender(smtp.url, sending)
    await until(async () => sending.isDead || (await world.deliveries.waiting(world.clock.now())).waiting === 0)
    await first.stop()
    const second = await world.sender(smtp.url)
    await world.sent()
    await second.stop()
    isKilled = evaluating.isDead || sending.isDead
  }
  assert.ok(days > 20, `the last day alone has no kill: ${days}`)
  const found = received(smtp)
  assert.deepEqual([...found.keys()].sort(), world.addresses)
  const ids = [...found.values()].map((of) => [...of.values()].map(({ size }) => size))
  assert.deepEqual(
    ids,
    world.addresses.map(() => Array(days).fill(1)),
  )
})

test('two evaluations at once write one digest for each subscriber', async (t) => {
  const { alerts, client, clock, evaluator, messages, digests } = await startWorld(t, { every: 'week' })
  clock.nowMs += 7 * DAY_MS
  let reading = 0
  // Both have read the week before one writes, as if both held the lease.
  const readWeek: ReadWeek = async (...args) => {
    reading++
    await until(() => reading === 2)
    return await anyWeek(...args)
  }
  await Promise.all([evaluator({ readWeek }).turn(), evaluator({ readWeek }).turn()])
  const written = await messages()
  assert.deepEqual(written.map(({ alertId }) => alertId).sort(), digests.map(({ id }) => id).sort())
  assert.ok(written.every(({ body }) => (JSON.parse(body) as WeekMessage).timestamp === '2026-11-30T08:00:00.000Z'))

  // A process whose lease has ended while it hung writes nothing.
  clock.nowMs += 7 * DAY_MS
  const other = new Membership({ client, name: 'others' }).share(0)
  await assert.rejects(evaluator({ of: other }).turnOnce(), /lease/)
  assert.equal((await messages()).length, digests.length)
  assert.equal((await alerts.list('acme')).length, digests.length)
})

test('digests wait while the mail server is down, and each is sent once when it is up', async (t) => {
  const world = await startWorld(t, { subscribers: 10 })
  const port = takePort()
  world.clock.nowMs += DAY_MS
  await world.evaluator().turn()
  await world.sender(`smtp://127.0.0.1:${port}`)
  const failed = await until(world.messages, (all) => all.every(({ attempts }) => attempts.length === 1))
  assert.match(failed[0]!.attempts[0]!.error!, /ECONNREFUSED/)
  const smtp = await startMailServer(t, port)
  world.clock.nowMs += 60_000
  await world.sent()
  await world.evaluator().turn()
  assert.deepEqual(smtp.mails.map((mail) => readMail(mail).to).sort(), [...world.addresses].sort())
  const states = (await world.messages()).map(({ state, attempts }) => [state, attempts.length])
  assert.deepEqual(states, Array(10).fill(['delivered', 2]))
})

test('a sender of an earlier version finds no digest, because it knows no link that ends one', async (t) => {
  const { admin, alerts, client, clock, deliveries, digests, evaluator } = await startWorld(t, { subscribers: 1 })
  const [digest] = digests as [Digest]
  clock.nowMs += DAY_MS
  await evaluator().turn()
  await admin.sendDigest(digest, anyWeek)
  const due = await deliveries.due({ tenantId: 'acme', alertId: digest.id, queue: 'digest' }, clock.now(), 9)
  assert.equal(due.length, 2)
  // As that version reads the queues: TENANT ALERT QUEUE.
  const found = (await client.smembers(keys.deliveryQueues())).map((member) => member.split(' '))
  const known = new Set((await alerts.list('acme')).map(({ id }) => id))
  assert.deepEqual([found.length, found.filter(([, id]) => known.has(id!))], [1, []])
  for (const queue of ['due', 'requested'])
    assert.equal(await client.exists(keys.waitingDeliveries(digest.id, queue)), 0, queue)
  await admin.remove(digest)
  assert.deepEqual([await deliveries.queues(), await client.keys('*waiting*')], [[], []])
})

test('a digest whose subscription ended or is paused is not sent', async (t) => {
  const world = await startWorld(t, { subscribers: 2 })
  const { admin, alerts, clock, digests, evaluator, messages } = world
  const [ended, paused] = digests as [Digest, Digest]
  clock.nowMs += DAY_MS
  await evaluator().turn()
  await admin.unsubscribe(ended)
  const reason = { at: new Date().toISOString(), by: 'restore', reason: '' } as const
  await alerts.change('acme', paused.id, { paused: reason })
  await assert.rejects(admin.sendDigest((await admin.digests('acme'))[0]!, anyWeek), /subscribe the address again/)
  const [failed] = (await messages()).filter(({ alertId }) => alertId === paused.id)
  await assert.rejects(admin.sendAgain('acme', failed!.id), /subscribe the address again/)
  const other = await admin.subscribe('acme', { address: 'p1@site.example', every: 'week', at: '09:00' })
  assert.deepEqual([other.id, other.paused], [paused.id, undefined])
  const smtp = await startMailServer(t)
  await world.sender(smtp.url)
  await world.sent()
  assert.deepEqual(
    smtp.mails.map((mail) => readMail(mail).to),
    ['p1@site.example'],
  )
})

test('digests with the same cut name are different, and one address is subscribed once to each', async (t) => {
  const { admin, alerts, segments } = await startWorld(t, { subscribers: 0 })
  const address = `${'a'.repeat(60)}@site.example`
  const given = { address, every: 'week', at: '08:00' } as const
  for (const name of ['Keen', 'Keener']) {
    const { id } = await segments.create('acme', name, 'country=DE')
    await admin.subscribe('acme', { ...given, segment: name })
    await segments.change('acme', id, { name: `${name} once` })
  }
  const digests = await admin.digests('acme')
  assert.deepEqual([digests.length, new Set(digests.map(({ name }) => name)).size], [2, 1])
  const both = { ...digests[0]!, id: 'alert_0123456789ab' }
  await assert.rejects(alerts.create(both), /was subscribed at the same moment/)
  for (let i = 2; i < 100; i++) await alerts.create({ ...both, id: `alert_${i}`, target: `p${i}@site.example` })
  await assert.rejects(admin.subscribe('acme', given), /at most 100 digests/)
})

test('after the secrets key was replaced, links end nothing, and a new subscription makes a new one', async (t) => {
  const { client, clock, alerts, deliveries, digests, segments, admin } = await startWorld(t, { subscribers: 1 })
  const [digest] = digests as [Digest]
  const key = testSecrets.open(digest.secret!, digest.id)
  const others = new AlertAdmin({
    ...{ alerts, deliveries, segments, clock, dashboardUrl: 'http://dash.example' },
    ...{ destinations: new Destinations({ allowsPrivate: false }), addresses: new RedisAddresses(client, testSecrets) },
    limits: { take: async () => {} },
    secrets: new SecretBox({ dataDir: '/nonexistent', secretsKey: 'cd'.repeat(32) }),
  })
  assert.equal(await others.subscriptionOfLink('acme', digest.id, key), 'sealed')
  await others.subscribe('acme', { address: digest.target, every: 'day', at: '08:00' })
  assert.equal(await others.subscriptionOfLink('acme', digest.id, key), 'invalid')
  assert.equal(await admin.subscriptionOfLink('acme', digest.id, key), 'sealed')
  for (const tenant of ['', 'acme:of', 'Acme', 'a'.repeat(65), 'a\n'])
    assert.equal(await admin.subscriptionOfLink(tenant, digest.id, key), 'invalid', tenant)
  for (const id of ['', 'alert_1', `${digest.id}0`, 'x'.repeat(10_000)])
    assert.equal(await admin.subscriptionOfLink('acme', id, key), 'invalid', id)
  assert.equal(await admin.subscriptionOfLink('other', digest.id, key), 'gone')
})
