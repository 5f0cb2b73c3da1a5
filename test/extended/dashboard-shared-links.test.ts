import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { SHARED_COLUMNS } from '../../schemas/dashboard/shared-columns.ts'
import type { CreatedSharedLink, SharedLinksAnswer } from '../../schemas/dashboard/shared-links.ts'
import { ClickHouseCompanies } from '../../src/companies/companies.ts'
import { Segments } from '../../src/companies/segments/segments.ts'
import { RedisPersonStore } from '../../src/dashboard/redis/people.ts'
import { RedisSessionStore } from '../../src/dashboard/redis/sessions.ts'
import { People } from '../../src/dashboard/server/people.ts'
import { sharedLinkRoutes } from '../../src/dashboard/server/routes/shared-links.ts'
import { Sessions } from '../../src/dashboard/server/sessions.ts'
import { RedisSharedLinks } from '../../src/dashboard/shared-links/redis/link-store.ts'
import { SharedLinks } from '../../src/dashboard/shared-links/shared-links.ts'
import { SharedPages } from '../../src/dashboard/shared-links/shared-page.ts'
import { RedisTenantRemoval } from '../../src/operations/erasure/redis/tenant-removal.ts'
import { connectReading, QuestionReader } from '../../src/stores/clickhouse/reader.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { RedisTokenCounters } from '../../src/tenants/limits/redis/token-counters.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { type DashboardClient, startDashboard } from '../support/dashboard.ts'
import { member, ROUTES, redis, tenant, tenants } from '../support/dashboard-access.ts'
import { eventInserter } from '../support/event-rows.ts'
import { handClock } from '../support/tenants.ts'

const NOW = Date.UTC(2026, 10, 28, 12)
const DAY_MS = 86_400_000
const PATH = '/api/tenants/acme/shared-links'
const OF = member.tenant

const clickhouse = await startTestClickHouse()
await eventInserter(clickhouse)(
  'acme',
  ['<b>bank</b>', 'clinic', 'diner'].map((name, i) => ({
    ...{ tenant_id: 'acme', event_id: name, company_id: `${i}.example`, account_id: 'a', domain: `${i}.example` },
    ...{ business_name: name, country_code: i === 2 ? 'FR' : 'DE', ip: `198.51.100.${i}` },
    ...{ received_at: NOW - i * 1_000, timestamp: NOW - i * 1_000, user_id: 'visitor@secret.example' },
  })),
)

/** A dashboard with shared links, and members Ada and Bob of acme. */
async function start(t: TestContext, limits?: ConstructorParameters<typeof SharedPages>[0]['limits']) {
  await redis.del(keys.people('acme'), keys.sharedLinks('acme'), keys.sharedLinkUses('acme'), keys.segmentsOf('acme'))
  const clock = handClock(NOW)
  const reading = connectReading(clickhouse.url, 'test')
  t.after(() => reading.close())
  const store = new RedisPersonStore(redis)
  const sharedLinks = new SharedLinks(new RedisSharedLinks(redis), store, clock)
  const segments = new Segments(redis, clock)
  const sharedPages = new SharedPages({
    links: sharedLinks,
    companies: new ClickHouseCompanies(new QuestionReader(reading), clock),
    ...(limits && { limits }),
    ...{ segments, clock, findTenant: (id) => tenants.getTenant(id), counters: new RedisTokenCounters(redis) },
  })
  const routes = [...ROUTES, ...sharedLinkRoutes({ sharedLinks, segments, publicUrl: undefined })]
  const dashboard = await startDashboard(t, redis, routes, { sharedPages, clock })
  const people = new People(store, new Sessions(new RedisSessionStore(redis, clock), clock), clock)
  const signIn = async (name: string) => {
    await people.invite(OF, { name, by: { name: 'operator' }, validMs: 60_000 })
    const { id } = (await people.list(OF)).find((person) => person.name === name)!
    return { id, client: await dashboard.signIn({ ...member, personId: id }) }
  }
  const open = (path: string) => fetch(dashboard.url + path)
  const list = async (client: DashboardClient) => (await client.read<SharedLinksAnswer>(PATH)).links
  return { clock, dashboard, list, open, people, segments, sharedLinks, signIn }
}

const KEEN = { name: 'For Eve', filter: { country: ['DE'], days: 30 }, columns: ['domain', 'visits'], days: 30 }

async function share(client: DashboardClient, body: object): Promise<CreatedSharedLink> {
  const response = await client.post(PATH, body)
  const text = await response.text()
  assert.equal(response.status, 200, text)
  return JSON.parse(text) as CreatedSharedLink
}

test('a link shows the chosen columns of a list, to be read, and nothing else', async (t) => {
  const { open, signIn } = await start(t)
  const { client } = await signIn('Ada')
  const { url } = await share(client, KEEN)
  const response = await open(url)
  const html = await response.text()
  assert.equal(response.status, 200, html)
  assert.match(html, /<title>For Eve<\/title>/)
  assert.match(html, /2 companies/)
  assert.match(html, /&#60;b&#62;bank&#60;\/b&#62;/)
  for (const shown of ['clinic', '0.example', 'Visits']) assert.ok(html.includes(shown), shown)
  for (const hidden of ['diner', 'secret', '198.51', 'Heat', 'Visits from', 'Ada', '<script', '<form'])
    assert.ok(!html.includes(hidden), hidden)
  const headers = ['x-robots-tag', 'referrer-policy', 'cache-control', 'set-cookie'].map((name) =>
    response.headers.get(name),
  )
  assert.deepEqual(headers, ['noindex, nofollow, noarchive, nosnippet', 'no-referrer', 'no-store, private', null])
  assert.match(response.headers.get('content-security-policy')!, /^default-src 'none'; script-src 'self'/)
  assert.equal((await open(`${url}?page=2`).then((page) => page.text())).includes('No company is on this page'), true)
})

test('only the digest of a secret is stored, and the list says who made a link and when it was opened', async (t) => {
  const { clock, list, open, signIn } = await start(t)
  const { client } = await signIn('Ada')
  const { url } = await share(client, KEEN)
  const secret = url.split('/').at(-1)!
  assert.match(secret, /^[\w-]{43}$/)
  const stored = JSON.stringify(await redis.hgetall(keys.sharedLinks('acme')))
  assert.ok(!stored.includes(secret))
  const [made] = await list(client)
  assert.deepEqual(
    { ...made, id: '' },
    {
      ...{ id: '', name: 'For Eve', kind: 'list', of: 'country=DE,days=30', columns: ['domain', 'visits'] },
      ...{ made_by: 'Ada', created_at: new Date(NOW).toISOString(), last_used: null },
      expires_at: new Date(NOW + 30 * DAY_MS).toISOString(),
    },
  )
  assert.ok(!stored.includes(made!.id))
  clock.nowMs += 60_000
  await open(url)
  assert.equal((await list(client))[0]!.last_used, new Date(NOW + 60_000).toISOString())
})

test('a link ends when it expires, is revoked, or its maker is removed', async (t) => {
  const { clock, list, open, people, signIn } = await start(t)
  const [ada, bob] = [await signIn('Ada'), await signIn('Bob')]
  const status = async ({ url }: CreatedSharedLink) => (await open(url)).status
  const links = await Promise.all([
    share(ada.client, { ...KEEN, days: 7 }),
    share(ada.client, KEEN),
    share(bob.client, KEEN),
  ])
  assert.deepEqual(await Promise.all(links.map(status)), [200, 200, 200])
  const [week, month, bobs] = links as [CreatedSharedLink, CreatedSharedLink, CreatedSharedLink]
  clock.nowMs += 7 * DAY_MS
  assert.equal(await status(week), 404)
  // A session lasts for hours only.
  const client = (await signIn('Cy')).client
  assert.equal((await client.post(`${PATH}/revoke`, { id: month.link.id })).status, 200)
  assert.equal(await status(month), 404)
  assert.equal((await client.post(`${PATH}/revoke`, { id: month.link.id })).status, 422)
  assert.equal(await status(bobs), 200)
  await people.remove(OF, bob.id)
  assert.equal(await status(bobs), 404)
  assert.deepEqual(await list(client), [])
  assert.deepEqual(await redis.hgetall(keys.sharedLinks('acme')), {})
})

test('a link ends with its tenant, and one of the same name does not get it', async (t) => {
  const { open, dashboard, sharedLinks } = await start(t)
  const id = 'short-lived'
  await tenants.createTenant(tenant(id))
  const client = await dashboard.signIn()
  const response = await client.post(`/api/tenants/${id}/shared-links`, { ...KEEN, days: null })
  const { url } = (await response.json()) as CreatedSharedLink
  assert.equal((await open(url)).status, 200)
  const removal = new RedisTenantRemoval(redis)
  await removal.mark(id)
  assert.equal((await open(url)).status, 404)
  await removal.removeKeys(id)
  await removal.removeRecord(id)
  assert.deepEqual(await redis.keys('*shared-link*short-lived*'), [])
  const again = tenant(id, '2026-02-01T00:00:00.000Z')
  await tenants.createTenant(again)
  assert.equal((await open(url)).status, 404)
  const former = { id, createdAt: '2026-01-01T00:00:00.000Z' }
  const facts = { name: 'x', target: { where: '' }, columns: [], by: { id: 'operator:0', name: 'operator' }, days: 7 }
  await assert.rejects(sharedLinks.create(former, facts), /unknown tenant/)
})

test('a segment is shown as it is now, and a company without what colleagues wrote', async (t) => {
  const { open, segments, signIn, list } = await start(t)
  const { client } = await signIn('Ada')
  const { id } = await segments.create('acme', 'Keen', 'country=DE')
  const base = { name: 'Keen ones', columns: [...SHARED_COLUMNS], days: 90 }
  const { url } = await share(client, { ...base, segment_id: id })
  const shown = async () => (await open(url)).text()
  assert.match(await shown(), /2 companies/)
  await segments.change('acme', id, { where: 'country=FR' })
  assert.match(await shown(), /1 company/)
  const company = await share(client, { ...base, company_id: '1.example' })
  const html = await (await open(company.url)).text()
  for (const text of ['clinic', 'Germany', '1 visit from Oct 30, 2026 to Nov 28, 2026'])
    assert.ok(html.includes(text), text)
  assert.ok(!/secret|198\.51|Owner|Tags/.test(html))
  await segments.remove('acme', id)
  assert.equal((await open(url)).status, 404)
  assert.deepEqual((await list(client)).map(({ kind, of }) => [kind, of]).sort(), [
    ['company', '1.example'],
    ['segment', null],
  ])
  assert.equal((await open((await share(client, { ...base, company_id: 'none.example' })).url)).status, 404)
})

test('requests about links are checked', async (t) => {
  const { dashboard, open, signIn } = await start(t)
  const { client } = await signIn('Ada')
  for (const [body, status] of [
    [{ ...KEEN, days: null }, 403],
    [{ ...KEEN, days: 31 }, 422],
    [{ ...KEEN, columns: ['owner'] }, 422],
    [{ ...KEEN, columns: ['tags'] }, 422],
    [{ ...KEEN, company_id: '1.example' }, 422],
    [{ ...KEEN, filter: undefined }, 422],
    [{ ...KEEN, filter: { days: 0 } }, 422],
    [{ ...KEEN, filter: undefined, segment_id: 'segment_1' }, 422],
    [{ ...KEEN, name: ' ' }, 422],
    [{ ...KEEN, name: 'a\u202eb' }, 422],
  ] as const)
    assert.equal((await client.post(PATH, body)).status, status, JSON.stringify(body))
  const operator = await dashboard.signIn()
  const { link, url } = await share(operator, { ...KEEN, days: null })
  assert.equal(link.expires_at, null)
  assert.equal((await client.post('/api/tenants/other/shared-links', KEEN)).status, 404)
  assert.equal((await fetch(dashboard.url + PATH)).status, 401)
  for (const path of [url.slice(0, -1), `${url}x`, url.replace('acme', 'other'), url.replace('acme', 'nobody')])
    assert.equal((await open(path)).status, 404, path)
  assert.equal((await fetch(dashboard.url + url, { method: 'POST', body: '' })).status, 404)
})

test('a link that is opened very often, or for very many bytes, is refused for a while, and others are not', async (t) => {
  const rate = { size: 2, rate: 1e-6 }
  const plain = await start(t)
  const { url } = await share((await plain.signIn('Ada')).client, KEEN)
  const { length } = await (await plain.open(url)).text()
  for (const [limits, wait, allowed] of [
    [{ requests: rate, bytesOfDay: 1e9 }, '60', 2],
    [{ requests: { size: 99, rate: 1 }, bytesOfDay: 1.5 * length }, '3600', 1],
  ] as const) {
    const { open, signIn } = await start(t, limits)
    const { client } = await signIn('Ada')
    const [busy, quiet] = [await share(client, KEEN), await share(client, KEEN)]
    for (let i = 0; i < allowed; i++) assert.equal((await open(busy.url)).status, 200)
    const refused = await open(busy.url)
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, wait])
    assert.match(await refused.text(), /opened very often/)
    assert.equal((await open(quiet.url)).status, 200)
  }
})
