import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { DigestsAnswer, ListedDigest } from '../../schemas/dashboard/digests.ts'
import type { ReadWeek } from '../../src/alerts/digests/week.ts'
import { removeAddressesOf } from '../../src/alerts/redis/address-store.ts'
import { RedisAlerts } from '../../src/alerts/redis/alert-store.ts'
import { RedisDeliveries } from '../../src/alerts/redis/delivery-store.ts'
import { Sender } from '../../src/alerts/sender.ts'
import { Channels } from '../../src/alerts/sending/channels.ts'
import { Destinations } from '../../src/alerts/sending/destinations.ts'
import { Mailer } from '../../src/alerts/sending/mail.ts'
import { Segments } from '../../src/companies/segments/segments.ts'
import { RedisPersonStore } from '../../src/dashboard/redis/people.ts'
import { digestRoutes } from '../../src/dashboard/server/routes/digests.ts'
import { segmentRoutes } from '../../src/dashboard/server/routes/segments.ts'
import { sessionRoute } from '../../src/dashboard/server/routes/session.ts'
import { RedisExports } from '../../src/exports/redis/export-store.ts'
import { systemClock } from '../../src/run/clock.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { Membership } from '../../src/stores/redis/membership.ts'
import { noFiles, testSecrets } from '../support/alerts.ts'
import { type DashboardClient, formOf, noCrm, startDashboard, testAlertAdmin } from '../support/dashboard.ts'
import { member, redis, tenants } from '../support/dashboard-access.ts'
import { WEEK } from '../support/home-week.ts'
import { headerOf, readMail, startMailServer } from '../support/mail.ts'
import { silent } from '../support/pipeline.ts'
import { until } from '../support/until.ts'

const [store, deliveries, segments] = [
  new RedisAlerts(redis),
  new RedisDeliveries(redis),
  new Segments(redis, systemClock),
]
const ANNA = { address: ' Anna@Site.example', every: 'week', at: '08:00' } as const

async function start(t: TestContext, { canEmail = true } = {}) {
  const smtp = await startMailServer(t)
  const asked: (string | undefined)[] = []
  const readWeek: ReadWeek = async (_, where) => {
    asked.push(where)
    return WEEK
  }
  const alerts = testAlertAdmin(redis, systemClock)
  const parts = { alerts, alertActivity: store, deliveries, segments, canEmail, readWeek, clock: systemClock }
  const dashboard = await startDashboard(t, redis, [
    sessionRoute({ tenants, version: '1.2.3', apiUrl: null }),
    ...segmentRoutes({ ...parts, exports: new RedisExports(redis), crm: noCrm }),
    ...digestRoutes({ ...parts, persons: new RedisPersonStore(redis) }),
  ])
  const channels = new Channels({
    files: noFiles,
    ...{ destinations: new Destinations({ allowsPrivate: true }), secrets: testSecrets },
    mailer: new Mailer({ url: smtp.url, from: 'ipid@site.example' }),
    ...{ userAgent: 'test', clock: systemClock, log: silent },
  })
  const sender = new Sender({
    lease: new Membership({ client: redis, name: 'deliveries' }).share(0),
    ...{ deliveries, alerts: store, clock: systemClock, log: silent, persisted: async () => {} },
    tenants: async () => [],
    send: (...args) => channels.send(...args),
  })
  await sender.start()
  t.after(async () => {
    await sender.stop()
    await store.removeAll('acme', systemClock.now())
    await removeAddressesOf(redis, 'acme')
    await redis.del(keys.segmentsOf('acme'))
    for (const key of await redis.keys('*:tests:*')) await redis.del(key)
  })
  const mail = async (n: number) => (await until(() => smtp.mails.length >= n && smtp.mails[n - 1])) as string
  return { asked, dashboard, mail, smtp, client: await dashboard.signIn(member) }
}

async function post<T>(client: DashboardClient, path: string, body: unknown): Promise<T> {
  const response = await client.post(`/api/tenants/acme/${path}`, body)
  const text = await response.text()
  assert.equal(response.status, 200, text)
  return JSON.parse(text) as T
}

const list = async (client: DashboardClient) => client.read<DigestsAnswer>('/api/tenants/acme/digests')

/** The path and query of a link of a mail. */
const linkIn = (mail: string, path: string) =>
  readMail(mail).text.match(new RegExp(`http://dash\\.example(/${path}\\?\\S+)`))![1]!

async function confirmed(t: TestContext) {
  const world = await start(t)
  const digest = await post<ListedDigest>(world.client, 'digests', ANNA)
  const link = linkIn(await world.mail(1), 'confirm')
  const { url } = world.dashboard
  const body = new URLSearchParams(formOf(await (await fetch(url + link)).text()))
  assert.equal((await fetch(`${url}/confirm`, { method: 'POST', headers: { origin: url }, body })).status, 200)
  return { ...world, digest }
}

test('a subscription is confirmed, sent, changed, and ended by one click of a program for mail', async (t) => {
  const { client, dashboard, digest, mail, smtp } = await confirmed(t)
  assert.deepEqual(
    [digest.address, digest.unconfirmed, digest.next_at],
    ['anna@site.example', 'anna@site.example', null],
  )
  assert.equal(readMail(smtp.mails[0]!).subject, 'Confirm this address for the digest of ipid')
  const [on] = (await list(client)).digests
  assert.deepEqual([on!.unconfirmed, on!.paused, new Date(on!.next_at!).getUTCDay()], [null, null, 1])

  await post(client, 'digests/send', { digest_id: digest.digest_id })
  const sent = await mail(2)
  assert.equal(readMail(sent).to, 'anna@site.example')
  assert.match(readMail(sent).text, /Acme is heating up/)
  const link = linkIn(sent, 'unsubscribe')
  assert.match(headerOf(sent, 'Message-ID'), /^<msg_[0-9a-f]{32}@site\.example>$/)
  assert.equal(headerOf(sent, 'List-Unsubscribe'), `<http://dash.example${link}>`)

  // Again with another schedule: the same subscription.
  const changed = await post<ListedDigest>(client, 'digests', { ...ANNA, every: 'day', at: '17:30', sends_empty: true })
  assert.deepEqual(
    [changed.digest_id, changed.every, changed.at, changed.sends_empty],
    [digest.digest_id, 'day', '17:30', true],
  )
  const wrong = await fetch(dashboard.url + link.slice(0, -1))
  assert.deepEqual([wrong.status, /not complete/.test(await wrong.text())], [404, true])
  const opened = await (await fetch(dashboard.url + link)).text()
  assert.match(opened, /anna@site\.example gets the digest of acme every day/)
  assert.equal((await list(client)).digests.length, 1, 'opening the link changes nothing')
  const form = { method: 'POST', body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }) }
  const ended = await fetch(dashboard.url + link, form)
  assert.deepEqual([ended.status, /gets no more/.test(await ended.text())], [200, true])
  assert.deepEqual((await list(client)).digests, [])
  const again = await fetch(dashboard.url + link, form)
  assert.deepEqual([again.status, /has ended/.test(await again.text())], [200, true])
  const asked = await post<ListedDigest>(client, 'digests', ANNA)
  assert.equal(asked.unconfirmed, 'anna@site.example', 'who ended it is asked again')
})

test('the button of the page ends a subscription, and a multipart form does', async (t) => {
  const { client, dashboard, digest, mail } = await confirmed(t)
  await post(client, 'digests/send', { digest_id: digest.digest_id })
  const link = linkIn(await mail(2), 'unsubscribe')
  const page = await (await fetch(dashboard.url + link)).text()
  const action = /action="([^"]+)"/.exec(page)![1]!.replaceAll('&#38;', '&')
  assert.equal(action, link)
  const elsewhere = await fetch(dashboard.url + action, { method: 'POST', headers: { origin: 'https://evil.example' } })
  assert.equal(elsewhere.status, 403)
  const form = new FormData()
  form.set('List-Unsubscribe', 'One-Click')
  assert.equal((await fetch(dashboard.url + action, { method: 'POST', body: form })).status, 200)
  assert.deepEqual((await list(client)).digests, [])
})

test('a digest of a segment is its own subscription, and the segment stays while it is needed', async (t) => {
  const { asked, client, mail } = await confirmed(t)
  const segment = await segments.create('acme', 'Germans', 'country=DE')
  const digest = await post<ListedDigest>(client, 'digests', { ...ANNA, segment_id: segment.id })
  assert.deepEqual([digest.segment, digest.unconfirmed], [{ segment_id: segment.id, name: 'Germans' }, null])
  assert.equal((await list(client)).digests.length, 2)
  const refused = await client.post('/api/tenants/acme/segments/remove', { segment_id: segment.id })
  assert.match(await refused.text(), /the digest for anna@site\.example needs segment Germans/)
  await post(client, 'digests/send', { digest_id: digest.digest_id })
  assert.match(readMail(await mail(2)).subject, /^acme, segment Germans: 12 companies in 7 days, 3 new$/)
  assert.deepEqual(asked, ['country=DE'])
  await post(client, 'digests/remove', { digest_id: digest.digest_id })
  assert.equal((await list(client)).digests.length, 1)
})

test('an alert and a digest are no calls of each other, and neither works without SMTP', async (t) => {
  const { client } = await start(t, { canEmail: false })
  const refused = await client.post('/api/tenants/acme/digests', ANNA)
  assert.match(await refused.text(), /set SMTP_URL and SMTP_FROM/)
  assert.deepEqual(await list(client), { digests: [], can_email: false, own_address: null })
  const late = await client.post('/api/tenants/acme/digests', { ...ANNA, at: '24:00' })
  assert.equal(late.status, 422)
  for (const verb of ['send', 'ask-again', 'remove']) {
    assert.equal((await client.post(`/api/tenants/acme/digests/${verb}`, { digest_id: 'alert_1' })).status, 422, verb)
  }
})

test('the page knows the address of a person who was invited by mail', async (t) => {
  const { dashboard } = await start(t)
  const tenant = member.tenant!
  const person = {
    id: 'person-of-digests',
    name: 'Ada',
    email: 'ada@site.example',
    role: 'member' as const,
    addedAt: '2026-01-01T00:00:00.000Z',
  }
  const persons = new RedisPersonStore(redis)
  await persons.putPerson(tenant, person, false)
  t.after(() => persons.removePerson('acme', person.id).then(() => {}))
  const client = await dashboard.signIn({ role: 'member', tenant, personId: person.id })
  assert.equal((await list(client)).own_address, 'ada@site.example')
})
