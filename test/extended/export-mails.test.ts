import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { ClickHouseVisits } from '../../src/alerts/evaluation/visits.ts'
import { ATTACHED_BYTES_MAX, attachmentOf } from '../../src/alerts/export-mails/message.ts'
import { RedisAlerts } from '../../src/alerts/redis/alert-store.ts'
import { RedisDeliveries } from '../../src/alerts/redis/delivery-store.ts'
import { RedisOccurrences } from '../../src/alerts/redis/occurrence-store.ts'
import { Sender } from '../../src/alerts/sender.ts'
import { Channels } from '../../src/alerts/sending/channels.ts'
import { Destinations } from '../../src/alerts/sending/destinations.ts'
import { Mailer } from '../../src/alerts/sending/mail.ts'
import { Segments } from '../../src/companies/segments/segments.ts'
import { ExportAdmin } from '../../src/exports/admin.ts'
import { type ExportedFile, RedisExports } from '../../src/exports/redis/export-store.ts'
import { exportKey } from '../../src/exports/schedule.ts'
import { EndedJobs } from '../../src/pipeline/sources/batch/redis/ended-jobs.ts'
import { FolderStore } from '../../src/stores/objects/folder-store.ts'
import { connectRedis, type RedisClient } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { Membership } from '../../src/stores/redis/membership.ts'
import { RedisTenantStore } from '../../src/tenants/redis/tenant-store.ts'
import { testSecrets } from '../support/alerts.ts'
import { testAlertAdmin } from '../support/dashboard.ts'
import { Killer, SteppedEvaluator } from '../support/killer.ts'
import { headerOf, readMail, startMailServer } from '../support/mail.ts'
import { quiet, silent } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'
import { handClock } from '../support/tenants.ts'
import { until } from '../support/until.ts'

const HOUR_MS = 3_600_000
const redis = await startTestRedis()

/** An export of the tenant `acme` on an empty Redis, with files that the test writes as an exporter does. */
async function startWorld(t: TestContext) {
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop', timeoutMs: 5_000 }))
  const folder = await mkdtemp(join(tmpdir(), 'ipid-export-mails-'))
  await client.flushall()
  const clock = handClock(Date.UTC(2026, 10, 24, 12))
  const tenants = new RedisTenantStore(client)
  const createdAt = '2026-01-01T00:00:00.000Z'
  await tenants.createTenant({ id: 'acme', plan: 'starter', archive: false, addresses: 'full', createdAt })
  const segments = new Segments(client, clock)
  await segments.create('acme', 'Keen', 'country=DE')
  const exporting = new ExportAdmin(client, clock)
  const { exports } = exporting
  const one = await exporting.create('acme', {
    ...{ name: 'Daily', segment: 'Keen', every: 'day', at: '06:00', format: 'csv', keep: 30 },
  })
  const store = new FolderStore(folder)
  await store.prepare()
  const [admin, alerts, deliveries] = [
    testAlertAdmin(client, clock),
    new RedisAlerts(client),
    new RedisDeliveries(client),
  ]
  const lease = new Membership({ client, name: 'alerts' }).share(0)
  await lease.acquire(AbortSignal.timeout(10_000))
  t.after(async () => {
    await lease.release()
    client.disconnect()
    await rm(folder, { recursive: true, force: true })
  })
  const smtp = await startMailServer(t)
  const killable = (killer: Killer) =>
    killer.over(client, [
      'smembers',
      'hget',
      'hgetall',
      'hmget',
      'get',
      'zcard',
      'zrangebyscore',
      'evalsha',
      'eval',
    ]) as RedisClient
  const evaluator = (killer = new Killer()) => {
    const redisOf = killable(killer)
    return new SteppedEvaluator({
      ...{ lease, clock, log: silent, retentionDays: undefined, settleMs: 0, segments },
      ...{ alerts: new RedisAlerts(redisOf), exports: new RedisExports(redisOf), dashboardUrl: 'http://dash.example' },
      occurrences: new RedisOccurrences(redisOf, killer.over(lease, ['run'])),
      waiting: (id) => new RedisDeliveries(redisOf).waitingOf(id),
      jobs: new EndedJobs(client, 1, clock),
      visits: {} as ClickHouseVisits,
      readWeek: async () => assert.fail('there is no digest'),
      getTenant: (id) => tenants.getTenant(id),
    })
  }
  type Send = Channels['send']
  const startSender = async (killer = new Killer(), around = (send: Send): Send => send) => {
    const redisOf = killable(killer)
    const channels = new Channels({
      ...{ destinations: new Destinations({ allowsPrivate: false }), secrets: testSecrets, clock, log: silent },
      ...{ mailer: new Mailer({ url: smtp.url, from: 'ipid@site.example' }), userAgent: 'test', files: store },
    })
    const calls = killer.over({ send: around(channels.send.bind(channels)) }, ['send'])
    const sender = new Sender({
      lease: new Membership({ client, name: 'deliveries' }).share(0),
      ...{ deliveries: new RedisDeliveries(redisOf), alerts: new RedisAlerts(redisOf), clock, log: silent },
      ...{ tenants: async () => [], persisted: async () => {}, send: calls.send },
    })
    await sender.start()
    t.after(() => sender.stop())
    return sender
  }
  const isIdle = async () => (await deliveries.waiting(clock.now())).waiting === 0
  return {
    ...{ admin, alerts, client, clock, deliveries, evaluator, exports, isIdle, one, smtp, startSender, store },
    /** @param address it is confirmed */
    async subscribe(address: string, once = false) {
      await admin.confirm('acme', address)
      return await admin.mailExport('acme', { address, export: { id: one.id, name: one.name }, once })
    },
    async write(text: string, facts: Partial<ExportedFile> = {}): Promise<ExportedFile> {
      clock.nowMs += HOUR_MS
      const atMs = clock.nowMs
      const key = exportKey('acme', one, atMs)
      await store.put(key, Buffer.from(text))
      const file = { key, atMs, tookMs: 1, rows: 2, bytes: Buffer.byteLength(text), ...facts }
      const state = await exports.state(one.id)
      const runs = [file, ...(state.runs ?? [])]
      await client.set(keys.exportState(one.id), JSON.stringify({ ...state, last: file, runs }))
      return file
    },
    /** A turn of the evaluation, and everything that it sends. */
    async turn() {
      await evaluator().turn()
      const sender = await startSender()
      await until(isIdle)
      await sender.stop()
    },
  }
}

/** The text of the attached file; undefined: there is none. */
function attached(mail: string): string | undefined {
  const [, body] = /filename="?Daily-[^\r\n]*\r\n(?:[^\r\n]+\r\n)*\r\n([\s\S]*?)\r\n--/.exec(mail) ?? []
  return body === undefined ? undefined : Buffer.from(body, 'base64').toString()
}

test('wherever evaluation and sender are killed, each subscriber gets each file once', async (t) => {
  const world = await startWorld(t)
  const { smtp } = world
  const addresses = ['p0@site.example', 'p1@site.example', 'p2@site.example']
  for (const address of addresses) await world.subscribe(address)
  const texts: string[] = []
  for (let isKilled = true; isKilled; ) {
    const text = `file ${texts.length}, über alles\n`
    await world.write(text)
    const [evaluating, sending] = [new Killer(texts.length), new Killer(texts.length)]
    texts.push(text)
    await world
      .evaluator(evaluating)
      .turn()
      .catch(() => {})
    await world.evaluator().turn()
    const first = await world.startSender(sending)
    await until(async () => sending.isDead || (await world.isIdle()))
    await first.stop()
    await world.turn()
    isKilled = evaluating.isDead || sending.isDead
  }
  assert.ok(texts.length > 15, `the last file alone has no kill: ${texts.length}`)
  for (const address of addresses) {
    const own = smtp.mails.filter((mail) => readMail(mail).to === address)
    const ids = texts.map(
      (text) => new Set(own.filter((mail) => attached(mail) === text).map((mail) => headerOf(mail, 'Message-ID'))).size,
    )
    assert.deepEqual(ids, Array(texts.length).fill(1), address)
  }
  assert.equal(new Set(smtp.mails.map((mail) => headerOf(mail, 'Message-ID'))).size, addresses.length * texts.length)
})

test('a file is attached, and one that is too large or not kept any more is a link', async (t) => {
  const world = await startWorld(t)
  await world.subscribe('ann@site.example')
  const small = await world.write('a,b\n1,2\n')
  await world.turn()
  await world.write('x', { bytes: ATTACHED_BYTES_MAX + 1 })
  await world.turn()
  const gone = await world.write('y')
  await world.store.delete(gone.key)
  await world.turn()
  const [first, large, lost] = world.smtp.mails as [string, string, string]
  const { filename } = attachmentOf(small.key)
  assert.equal(filename, 'Daily-2026-11-24T13-00Z.csv')
  assert.equal(readMail(first).subject, 'acme: Daily with 2 companies')
  assert.match(
    readMail(first).text,
    new RegExp(`${filename} is attached\\.\n\nAll files: http://dash\\.example/t/acme/exports\n`),
  )
  assert.equal(attached(first), 'a,b\n1,2\n')
  assert.match(
    headerOf(first, 'List-Unsubscribe'),
    /^<http:\/\/dash\.example\/unsubscribe\?tenant=acme&digest=alert_\w+&key=\w{48}>$/,
  )
  const page = 'http://dash.example/t/acme/exports'
  assert.match(readMail(large).text, new RegExp(`has 8 MB, too many for a mail\\. Save it on this page:\n${page}\n`))
  assert.match(readMail(lost).text, new RegExp(`is not kept any more\\. Other files are on this page:\n${page}\n`))
  assert.deepEqual([attached(large), attached(lost)], [undefined, undefined])
})

test('a mail with the largest file that is attached has less than 10 MB', async (t) => {
  const world = await startWorld(t)
  await world.subscribe('ann@site.example')
  const text = 'x'.repeat(ATTACHED_BYTES_MAX)
  await world.write(text)
  await world.turn()
  const [mail] = world.smtp.mails as [string]
  assert.equal(attached(mail), text)
  assert.ok(mail.length > 9_900_000 && mail.length < 10_010_000, String(mail.length))
})

test('a subscriber gets the files since the subscription, one with --once the next, and none after the end', async (t) => {
  const world = await startWorld(t)
  const { admin, exports, one, smtp } = world
  await world.write('before\n')
  const each = await world.subscribe('each@site.example')
  await world.subscribe('once@site.example', true)
  await world.subscribe('once@site.example')
  await world.write('first\n')
  await world.write('second\n')
  await world.turn()
  await world.turn()
  await world.write('third\n')
  await world.turn()
  const got = (address: string) =>
    smtp.mails
      .filter((mail) => readMail(mail).to === address)
      .map(attached)
      .sort()
  assert.deepEqual(got('each@site.example'), ['first\n', 'second\n', 'third\n'])
  assert.deepEqual(got('once@site.example'), ['first\n', 'second\n', 'third\n'], 'not twice for two subscriptions')
  const listed = (await admin.exportMails('acme')).map(({ target, once = false }) => `${target} ${once}`)
  assert.deepEqual(
    listed.sort(),
    ['each@site.example false', 'once@site.example false'],
    'the one for a file has ended',
  )
  assert.deepEqual(await world.subscribe('each@site.example'), each, 'a repeat changes nothing')

  const own = smtp.mails.find((mail) => readMail(mail).to === 'each@site.example')!
  const key = /&key=(\w+)/.exec(headerOf(own, 'List-Unsubscribe'))![1]!
  const found = await admin.subscriptionOfLink('acme', each.id, key)
  assert.ok(typeof found === 'object')
  await admin.unsubscribe(found)
  await exports.remove('acme', one.id)
  await world.turn()
  assert.deepEqual(await admin.exportMails('acme'), [], 'those of a removed export end')
})

test('a file goes to who wanted one, when the subscription to each began after it', async (t) => {
  const world = await startWorld(t)
  await world.subscribe('ann@site.example', true)
  await world.write('first\n')
  await world.subscribe('ann@site.example')
  await world.turn()
  await world.write('second\n')
  await world.turn()
  assert.deepEqual(world.smtp.mails.map(attached), ['first\n', 'second\n'])
})

test('mails with files go one after the other', async (t) => {
  const world = await startWorld(t)
  for (let i = 0; i < 12; i++) await world.subscribe(`p${i}@site.example`)
  await world.write('x'.repeat(1_000_000))
  await world.evaluator().turn()
  let [now, most] = [0, 0]
  const sender = await world.startSender(undefined, (send) => async (...args) => {
    most = Math.max(most, ++now)
    try {
      return await send(...args)
    } finally {
      now--
    }
  })
  await until(world.isIdle)
  await sender.stop()
  assert.deepEqual([most, new Set(world.smtp.mails.map((mail) => readMail(mail).to)).size], [1, 12])
})

test('who unsubscribed confirms again, also when another subscription confirmed the address', async (t) => {
  const { admin, alerts, one, subscribe } = await startWorld(t)
  const address = 'ann@site.example'
  const file = { address, export: { id: one.id, name: one.name }, once: true }
  const digest = { address, every: 'week', at: '08:00' } as const
  await subscribe(address)
  const first = await admin.subscribe('acme', digest)
  assert.equal(first.unconfirmed, undefined)
  await admin.unsubscribe(first)
  // The files still go there, so the address counts as confirmed.
  assert.equal((await admin.mailExport('acme', file)).unconfirmed, undefined)
  await admin.confirm('acme', address)
  const again = await admin.subscribe('acme', digest)
  assert.deepEqual([again.unconfirmed, again.paused?.by], [address, 'unconfirmed'])
  await admin.confirm('acme', address)
  assert.equal((await alerts.get('acme', again.id))!.unconfirmed, undefined)
  await admin.remove(again)
  assert.equal((await admin.subscribe('acme', digest)).unconfirmed, undefined, 'an admin ended it, not the receiver')
})

test('an address confirms first, and a mail that is refused shows on its subscription', async (t) => {
  const world = await startWorld(t)
  const { admin, alerts, smtp, one } = world
  const mail = await admin.mailExport('acme', {
    ...{ address: 'Ann@Site.example', export: { id: one.id, name: one.name }, once: false },
  })
  assert.deepEqual([mail.target, mail.unconfirmed], ['ann@site.example', 'ann@site.example'])
  await world.write('early\n')
  await world.turn()
  const [question] = smtp.mails as [string]
  assert.equal(readMail(question).subject, 'Confirm this address for an export of ipid')
  assert.match(readMail(question).text, /^The files of the export Daily of acme are to be sent to this address\./)
  assert.equal(smtp.mails.length, 1)
  await admin.confirm('acme', 'ann@site.example')
  smtp.refusal = 'this mailbox is full'
  await world.write('late\n')
  await world.evaluator().turn()
  const sender = await world.startSender()
  const { attempt } = await until(
    () => alerts.activity(mail.id),
    (activity) => activity.attempt?.error !== undefined,
  )
  assert.match(attempt!.error!, /this mailbox is full/)
  smtp.refusal = undefined
  world.clock.nowMs += 60_000
  await until(world.isIdle)
  await sender.stop()
  assert.equal(attached(smtp.mails[1]!), 'late\n')
  assert.equal((await alerts.activity(mail.id)).attempt?.error, undefined)
})

test('after a failed mail, one for a single file gets the next file', async (t) => {
  const world = await startWorld(t)
  const failed = await world.subscribe('ann@site.example', true)
  await world.write('first\n')
  await world.evaluator().turn()
  const paused = { at: new Date().toISOString(), by: 'failures', reason: 'this mailbox is full' } as const
  await world.alerts.change('acme', failed.id, { paused })
  const again = await world.subscribe('ann@site.example', true)
  assert.notEqual(again.id, failed.id)
  assert.equal(again.paused, undefined)
  await world.write('second\n')
  await world.turn()
  assert.deepEqual(world.smtp.mails.map(attached), ['second\n'])
})

test('after a restore, a subscription starts once its address has confirmed again', async (t) => {
  const world = await startWorld(t)
  const { admin, alerts, one } = world
  for (const address of ['ann@site.example', 'bob@site.example']) {
    const given = { address, export: { id: one.id, name: one.name }, once: false }
    const { id } = await admin.mailExport('acme', given)
    await alerts.change('acme', id, { paused: { at: new Date().toISOString(), by: 'restore', reason: '' } })
    if (address.startsWith('ann')) await admin.mailExport('acme', given)
    else await admin.askAgain(await admin.get('acme', id))
    assert.equal((await admin.get('acme', id)).paused?.by, 'unconfirmed')
    await admin.confirm('acme', address)
    assert.equal((await admin.get('acme', id)).paused, undefined)
  }
})

test('an alert that cannot be evaluated keeps no file back', async (t) => {
  const world = await startWorld(t)
  await world.subscribe('ann@site.example')
  // The visits of this world cannot be read.
  await world.admin.create('acme', { name: 'New', on: 'company.first_seen', to: 'email', target: 'ann@site.example' })
  await world.write('first\n')
  await world.turn()
  assert.deepEqual(world.smtp.mails.map(attached), ['first\n'])
})
