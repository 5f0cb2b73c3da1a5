import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { CreatedKeyAnswer } from '../../schemas/dashboard/keys.ts'
import type {
  EndedAnswer,
  InviteAnswer,
  ListedPerson,
  MadeAnswer,
  PeopleAnswer,
} from '../../schemas/dashboard/people.ts'
import type { SessionAnswer } from '../../schemas/dashboard/session.ts'
import { DEFAULT_PLANS } from '../../schemas/plans.ts'
import { RedisAlerts } from '../../src/alerts/redis/alert-store.ts'
import { RedisPersonStore } from '../../src/dashboard/redis/people.ts'
import { RedisSessionStore } from '../../src/dashboard/redis/sessions.ts'
import { People, type TenantOfPeople } from '../../src/dashboard/server/people.ts'
import { route } from '../../src/dashboard/server/route.ts'
import { keyRoutes } from '../../src/dashboard/server/routes/keys.ts'
import { peopleRoutes } from '../../src/dashboard/server/routes/people.ts'
import { authorOf, Sessions } from '../../src/dashboard/server/sessions.ts'
import { RedisSharedLinks } from '../../src/dashboard/shared-links/redis/link-store.ts'
import { SharedLinks } from '../../src/dashboard/shared-links/shared-links.ts'
import { RedisTenantRemoval } from '../../src/operations/erasure/redis/tenant-removal.ts'
import { systemClock } from '../../src/run/clock.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { TenantAdmin } from '../../src/tenants/admin.ts'
import { DashboardClient, followLink, startDashboard, testAlertAdmin } from '../support/dashboard.ts'
import { member, ROUTES, redis, tenant, tenants } from '../support/dashboard-access.ts'
import { sendRaw } from '../support/raw-request.ts'

const MAC =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'
const PATH = '/api/tenants/acme/people'

const sessions = new Sessions(new RedisSessionStore(redis), systemClock)
const people = new People(new RedisPersonStore(redis), sessions, systemClock)
const who = route({
  method: 'GET',
  path: '/api/author',
  handle: ({ session }) => ({ status: 200, body: JSON.stringify(authorOf(session)) }),
})
const admin = new TenantAdmin({ store: tenants, plans: new Map(Object.entries(DEFAULT_PLANS)), clock: systemClock })
const alerts = new RedisAlerts(redis)
const alerting = testAlertAdmin(redis, systemClock)
const sharedLinks = new SharedLinks(new RedisSharedLinks(redis), new RedisPersonStore(redis), systemClock)
const parts = {
  people,
  sessions,
  admin,
  alerts,
  sharedLinks,
  publicUrl: undefined,
  mails: undefined,
  endMails: (tenantId: string, address: string) => alerting.endMails(tenantId, address),
  clock: systemClock,
}
const PEOPLE = [...ROUTES, who, ...peopleRoutes(parts), ...keyRoutes({ admin })]

/** An instance without sessions and people. */
async function start(t: TestContext) {
  await sessions.withdraw()
  await redis.del(keys.people('acme'), keys.people('other'))
  return await startDashboard(t, redis, PEOPLE)
}

async function post<T>(client: DashboardClient, path: string, body: unknown): Promise<T> {
  const response = await client.post(path, body)
  const text = await response.text()
  assert.equal(response.status, 200, text)
  return JSON.parse(text) as T
}

const refusal = async (client: DashboardClient, path: string, body: unknown, status = 422) => {
  const response = await client.post(path, body)
  assert.equal(response.status, status)
  return ((await response.json()) as { detail: string }).detail
}

const list = (client: DashboardClient) => client.read<PeopleAnswer>(PATH)
const named = ({ people }: PeopleAnswer, name: string | null): ListedPerson => {
  const found = people.filter((person) => person.name === name)
  assert.equal(found.length, 1, `${name} in ${JSON.stringify(people)}`)
  return found[0]!
}

/** Opens a link as a browser does. */
async function open(link: string, headers: Record<string, string> = {}) {
  const { port, host, pathname, search } = new URL(link)
  const head = { host, 'user-agent': MAC, 'sec-fetch-dest': 'document', 'sec-fetch-site': 'none', ...headers }
  return await sendRaw(Number(port), pathname + search, head)
}

/** Opens a link as a browser does, and confirms it. */
async function enter(link: string) {
  const { port, host, origin, searchParams } = new URL(link)
  const asked = await open(link)
  assert.ok(asked.status === 200 && !asked.text.includes('name="name"'), 'a link with a name asks for none')
  return await sendRaw(Number(port), '/sign-in', { host, origin, 'user-agent': MAC }, searchParams.toString())
}

async function clientOf(url: string, { headers }: Awaited<ReturnType<typeof open>>): Promise<DashboardClient> {
  const cookie = String(headers['set-cookie']).split(';')[0]!
  const { csrf_token: token } = await new DashboardClient(url, cookie).read<SessionAnswer>('/api/session')
  return new DashboardClient(url, cookie, token)
}

test('an invited person is listed with a device, and no secret is', async (t) => {
  const dashboard = await start(t)
  const operator = await dashboard.signIn()
  const invited = await post<InviteAnswer>(operator, `${PATH}/invite`, {
    ...{ name: ' Ada  Lovelace ', email: 'Ada@Example.com', days: 3 },
  })
  const link = new URL(invited.url, dashboard.url).href
  const before = named(await list(operator), 'Ada Lovelace')
  assert.deepEqual([before.email, before.added_by, before.sessions], ['ada@example.com', 'operator', []])
  assert.equal(before.invitations.length, 1)
  assert.ok(Math.abs(Date.parse(before.invitations[0]!.expires_at) - Date.parse(invited.expires_at)) < 60_000)

  const answer = await enter(link)
  assert.equal(answer.status, 303)
  const ada = await clientOf(dashboard.url, answer)
  const session = await ada.read<SessionAnswer>('/api/session')
  assert.deepEqual([session.name, session.role, session.tenants], ['Ada Lovelace', 'admin', ['acme']])
  assert.equal(await ada.read('/api/author'), 'Ada Lovelace', 'corrections are signed with it')
  assert.equal(await operator.read('/api/author'), 'operator')

  const shown = await list(ada)
  const own = named(shown, 'Ada Lovelace')
  assert.deepEqual(own.invitations, [])
  assert.deepEqual(
    own.sessions.map(({ device, is_current }) => [device, is_current]),
    [['Chrome on macOS', true]],
  )
  assert.ok(Date.now() - Date.parse(own.sessions[0]!.signed_in_at!) < 60_000)
  assert.deepEqual(shown.operators, [], 'members do not see operators')
  const ofOperator = await list(operator)
  assert.deepEqual(
    ofOperator.operators.map((each) => each.sessions[0]!.is_current),
    [true],
  )
  assert.equal(named(ofOperator, 'Ada Lovelace').sessions[0]!.is_current, false)

  const text = JSON.stringify([shown, ofOperator])
  const secrets = [link, ...(await redis.keys(keys.session('*')))].map((each) => each.split(/[=:]/).at(-1)!)
  for (const secret of [...secrets, ada.cookie.split('=')[1]!, ada.csrfToken]) assert.ok(!text.includes(secret))
  const records = await Promise.all((await redis.keys('ipid:dashboard:*')).map((key) => redis.get(key)))
  // Secrets are random: three letters may be in one.
  assert.deepEqual(
    records.filter((json) => /Ada Lovelace|ada@example/.test(json!)),
    [],
    'the name is in the list only',
  )
})

test('the page of an invitation says who invites, to what, as what, until when, and what happens next', async (t) => {
  const dashboard = await start(t)
  const operator = await dashboard.signIn()
  const invite = async (client: DashboardClient, body: object) => {
    const { url, expires_at } = await post<InviteAnswer>(client, `${PATH}/invite`, { days: 3, ...body })
    return { link: new URL(url, dashboard.url).href, until: `${expires_at.slice(0, 16).replace('T', ' ')} UTC` }
  }
  /** Texts of the page, without its head. */
  const shown = async (link: string, headers = {}) => {
    const { text } = await open(link, headers)
    return text
      .slice(text.indexOf('<main'))
      .replaceAll(/<[^>]*>/g, ' ')
      .replaceAll(/\s+/g, ' ')
  }
  const first = await invite(operator, { name: 'Ada', role: 'admin' })
  assert.match(await shown(first.link), /An operator invites you to acme/)
  const ada = await clientOf(dashboard.url, await enter(first.link))

  const { link, until } = await invite(ada, { name: 'Vera & Co', role: 'viewer' })
  for (const headers of [{}, { 'sec-fetch-site': 'cross-site' }]) {
    const text = await shown(link, headers)
    for (const part of [
      'Ada invites you to acme',
      'Workspace acme',
      'Invited by Ada',
      'Your name Vera &#38; Co',
      'You are a viewer, who reads',
      `Link works once, until ${until}`,
      'Next, this browser opens acme. It stays signed in until you sign out, or do not use it for 12 hours.',
    ]) {
      assert.ok(text.includes(part), `${part} in ${text}`)
    }
    assert.equal(text.split('Sign in').length, 2, 'one button')
  }
  const { link: nameless } = await invite(ada, { role: 'member' })
  assert.match(await shown(nameless), /Ada invites you to acme .* You are a member, who reads and changes/)
  assert.doesNotMatch(await shown(nameless), /Your name acme|undefined/)
})

test('a known person is invited again under the same id, and the earlier link ends', async (t) => {
  const dashboard = await start(t)
  const operator = await dashboard.signIn()
  const invite = async (body: object) =>
    new URL((await post<InviteAnswer>(operator, `${PATH}/invite`, { days: 1, ...body })).url, dashboard.url).href
  const first = await invite({ name: 'Ada', email: 'ada@example.com' })
  const { id } = named(await list(operator), 'Ada')
  const second = await invite({ name: 'Ada Lovelace', email: 'ADA@example.com' })
  assert.deepEqual([named(await list(operator), 'Ada Lovelace').id, (await list(operator)).people.length], [id, 1])
  assert.equal((await open(first)).headers.location, '/?sign-in=failed')
  const bare = await invite({ email: 'ada@example.com' })
  assert.equal(named(await list(operator), 'Ada Lovelace').id, id, 'an address alone does not rename')
  assert.equal((await open(second)).headers.location, '/?sign-in=failed')
  const third = new URL(
    (await post<InviteAnswer>(operator, `${PATH}/link`, { person: id, days: 1 })).url,
    dashboard.url,
  )
  assert.equal((await open(bare)).headers.location, '/?sign-in=failed')
  const ada = await clientOf(dashboard.url, await enter(third.href))
  await invite({ name: 'Ada Lovelace' })
  assert.equal(named(await list(operator), 'Ada Lovelace').id, id, 'without an address, the name recognises')
  assert.equal((await ada.get('/api/session')).status, 200, 'a new link ends no session')

  await invite({ name: 'Ada Lovelace', email: 'other@example.com' })
  assert.equal((await list(operator)).people.length, 2, 'another address is another person')
  const ambiguous = await refusal(operator, `${PATH}/invite`, { name: 'Ada Lovelace', days: 1 })
  assert.match(ambiguous, /several people are called "Ada Lovelace": give the e-mail address/)
  await invite({ email: 'grace@example.com' })
  assert.equal(named(await list(operator), 'grace@example.com').email, 'grace@example.com')

  for (const name of ['', ' ', 'a\u0000b', 'a\u202eb']) {
    assert.match(
      await refusal(operator, `${PATH}/invite`, { name, days: 1 }),
      /a person's name must be one line of 1 to 80 characters/,
    )
  }
  for (const email of ['', 'ada', 'a b@c']) {
    assert.match(await refusal(operator, `${PATH}/invite`, { email, days: 1 }), /no e-mail address like/)
  }
  const unknown = await refusal(operator, `${PATH}/link`, { person: '0'.repeat(16), days: 1 })
  assert.match(unknown, /not on the list any more/)
})

test('a member ends sessions and invitations, and a removed person is out at once', async (t) => {
  const dashboard = await start(t)
  const link = async (name: string) => {
    const secret = await people.invite(member.tenant, { name, by: { name: 'operator' }, validMs: 60_000 })
    return `${dashboard.url}/sign-in?token=${secret}`
  }
  const [ada, again] = [await followLink(await link('Ada')), await followLink(await link('Ada'))]
  const [bob, late] = [await followLink(await link('Bob')), await link('Bob')]
  const operator = await dashboard.signIn()
  const shown = await list(bob)
  const other = named(shown, 'Ada').sessions
  assert.equal(other.length, 2)

  assert.equal(
    (await new DashboardClient(dashboard.url, bob.cookie).post(`${PATH}/end`, { id: other[0]!.id })).status,
    403,
  )
  const firstEnded = await post<EndedAnswer>(bob, `${PATH}/end`, { id: other[0]!.id })
  assert.deepEqual(firstEnded, { ended: 1 })
  const statuses = await Promise.all([ada, again].map(async (each) => (await each.get('/api/session')).status))
  assert.deepEqual(statuses.sort(), [200, 401])
  assert.match(await refusal(bob, `${PATH}/end`, { id: other[0]!.id }), /ended already/)
  assert.deepEqual(await post(bob, `${PATH}/end`, { id: named(shown, 'Bob').invitations[0]!.id }), { ended: 1 })
  assert.equal((await open(late)).headers.location, '/?sign-in=failed')

  const { operators } = await list(operator)
  assert.match(await refusal(bob, `${PATH}/end`, { id: operators[0]!.sessions[0]!.id }), /ended already/)
  assert.equal((await operator.get('/api/session')).status, 200, 'a member ends no session of an operator')

  const person = named(shown, 'Ada').id
  const third = await link('Ada')
  assert.deepEqual(await post(bob, `${PATH}/sign-out`, { person }), { ended: 2 })
  assert.equal((await open(third)).headers.location, '/?sign-in=failed')
  assert.equal(named(await list(bob), 'Ada').id, person, 'signed out, and still on the list')

  const back = await followLink(await link('Ada'))
  const fourth = await link('Ada')
  // As if the process were killed right after it removed the person.
  await new RedisPersonStore(redis).removePerson('acme', person!)
  assert.equal((await back.get('/api/session')).status, 401)
  assert.equal((await open(fourth)).headers.location, '/?sign-in=failed')
  assert.match(await refusal(bob, `${PATH}/remove`, { person }), /not on the list any more/)
  const { id: own } = named(await list(bob), 'Bob')
  assert.deepEqual(await post(bob, `${PATH}/remove`, { person: own }), { ended: 1 })
  assert.deepEqual([(await bob.get('/api/session')).status, (await list(operator)).people], [401, []])
})

test('a removed member does not come back by links that they made, and their keys are listed', async (t) => {
  const dashboard = await start(t)
  const operator = await dashboard.signIn()
  const absolute = ({ url }: InviteAnswer) => new URL(url, dashboard.url).href
  const invite = async (client: DashboardClient, body: object = {}) =>
    absolute(await post<InviteAnswer>(client, `${PATH}/invite`, { days: 30, ...body }))
  const ada = await followLink(await invite(operator, { name: 'Ada' }))
  const person = named(await list(ada), 'Ada').id!
  const maker = `person:${person}`
  const unnamed = await invite(ada)
  const carls = await invite(ada, { name: 'Carl' })
  // A session without a person, and its records.
  const second = await followLink(await invite(ada))
  const bySecond = await invite(second)
  const keyBySecond = await post<CreatedKeyAnswer>(second, '/api/tenants/acme/keys', {})
  const named2 = new URL(await invite(second))
  const dora = await sendRaw(
    Number(named2.port),
    '/sign-in',
    { host: named2.host, origin: named2.origin },
    `${named2.searchParams}&name=Dora`,
  )
  assert.equal(dora.status, 303)
  const created = await post<CreatedKeyAnswer>(ada, '/api/tenants/acme/keys', {})
  await admin.createKey('acme')
  const source = await admin.createSource(
    'acme',
    { kind: 'web', address: 'auto' },
    {
      madeBy: { id: maker, name: 'Ada' },
    },
  )
  const own = await invite(operator)
  const bob = await followLink(await invite(operator, { name: 'Bob' }))

  await post(bob, `${PATH}/remove`, { person })
  assert.equal((await second.get('/api/session')).status, 401, 'a session without a person, by a link of theirs')
  for (const link of [unnamed, carls, bySecond]) {
    assert.equal((await open(link)).headers.location, '/?sign-in=failed')
  }
  assert.equal((await open(own)).status, 200, 'links of others work')
  assert.equal((await bob.get('/api/session')).status, 200)

  const made = await bob.read<MadeAnswer>(`${PATH}/made?maker=${maker}`)
  assert.deepEqual(
    made.keys.map(({ prefix, made_by }) => [prefix, made_by]).sort(),
    [
      [created.prefix, 'Ada'],
      [keyBySecond.prefix, 'admin'],
    ].sort(),
  )
  assert.deepEqual(
    made.sources.map(({ source_id }) => source_id),
    [source.id],
  )
  assert.deepEqual(
    made.people.map(({ name }) => name),
    ['Carl', 'Dora'],
  )
  assert.ok(made.unknown.keys >= 1)
  await post(bob, '/api/tenants/acme/keys/revoke', { prefix: created.prefix })
  await post(bob, `${PATH}/remove`, { person: named(await list(bob), 'Dora').id })
  const after = await bob.read<MadeAnswer>(`${PATH}/made?maker=${maker}`)
  assert.deepEqual(
    [after.keys.map(({ prefix }) => prefix), after.people.map(({ name }) => name)],
    [[keyBySecond.prefix], ['Carl']],
  )
  const stranger = await dashboard.signIn({ role: 'admin', tenant: { ...member.tenant, id: 'other' } })
  assert.equal((await stranger.get(`${PATH}/made?maker=${maker}`)).status, 404)
  const elsewhere = await stranger.read<MadeAnswer>(`/api/tenants/other/people/made?maker=${maker}`)
  assert.deepEqual([elsewhere.keys, elsewhere.people], [[], []])
})

test('nothing is sent any more to the address of a person who was removed', async (t) => {
  const dashboard = await start(t)
  const admin = await dashboard.signIn(member)
  t.after(() => alerts.removeAll('acme', systemClock.now()))
  await post<InviteAnswer>(admin, `${PATH}/invite`, { name: 'Lea', email: 'Lea@site.example', days: 1 })
  const file = { export: { id: 'export_0123456789ab', name: 'Daily' }, once: false }
  for (const address of ['lea@site.example', 'max@site.example']) {
    await alerting.confirm('acme', address)
    await alerting.subscribe('acme', { address, every: 'week', at: '08:00' })
    await alerting.mailExport('acme', { address, ...file })
    await alerting.create('acme', { name: `To ${address}`, on: 'company.first_seen', to: 'email', target: address })
  }
  await post(admin, `${PATH}/remove`, { person: named(await list(admin), 'Lea').id })
  const left = (await alerts.list('acme')).map(({ on, target, paused }) => `${on} ${target} ${paused?.by}`)
  assert.deepEqual(left.sort(), [
    'company.first_seen lea@site.example person',
    'company.first_seen max@site.example undefined',
    'digest max@site.example undefined',
    'export max@site.example undefined',
  ])
  const again = await alerting.subscribe('acme', { address: 'lea@site.example', every: 'week', at: '08:00' })
  assert.equal(again.unconfirmed, 'lea@site.example')
})

test('a link that is made while its maker is removed does not work', async (t) => {
  const dashboard = await start(t)
  const link = await people.invite(member.tenant, { name: 'Ada', by: { name: 'operator' }, validMs: 60_000 })
  const ada = await followLink(`${dashboard.url}/sign-in?token=${link}`)
  const { id } = named(await list(ada), 'Ada')
  await people.remove(member.tenant, id!)
  const late = await sessions.createLink({ ...member, madeBy: `person:${id}` }, 60_000)
  assert.equal((await open(`${dashboard.url}/sign-in?token=${late}`)).headers.location, '/?sign-in=failed')
})

test('the end of a session without a person ends the links that it made', async (t) => {
  const dashboard = await start(t)
  const [nameless, operator] = [await dashboard.signIn(member), await dashboard.signIn()]
  const link = async (client: DashboardClient) =>
    new URL((await post<InviteAnswer>(client, `${PATH}/invite`, { days: 1 })).url, dashboard.url).href
  const [first, second, kept] = [await link(nameless), await link(operator), await link(await dashboard.signIn())]
  const { people: found, operators } = await list(operator)
  const session = found.find(({ sessions }) => sessions.length > 0)!.sessions[0]!
  const by = { id: `session:${session.id}`, name: 'member' }
  await sharedLinks.create(member.tenant, { name: 'List', target: { where: '' }, columns: [], by, days: 7 })
  assert.deepEqual(await post(operator, `${PATH}/end`, { id: session.id }), { ended: 2 })
  const { shared_links: still } = await operator.read<MadeAnswer>(`${PATH}/made?maker=${by.id}`)
  assert.deepEqual(
    still.map(({ name, last_used }) => [name, last_used]),
    [['List', null]],
    'a list that it shared is named, to be revoked',
  )
  const other = operators.flatMap(({ sessions: own }) => own).find(({ is_current }) => is_current)!
  await post(operator, `${PATH}/end`, { id: other.id })
  for (const ended of [first, second]) assert.equal((await open(ended)).headers.location, '/?sign-in=failed')
  assert.equal((await open(kept)).status, 200)
})

test('a member makes no link for another person on the list', async (t) => {
  const dashboard = await start(t)
  const invite = async (name: string, email?: string) => {
    const secret = await people.invite(member.tenant, {
      name,
      by: { name: 'operator' },
      validMs: 60_000,
      ...(email && { email }),
    })
    return `${dashboard.url}/sign-in?token=${secret}`
  }
  const [ada, bob] = [await followLink(await invite('Ada', 'ada@example.com')), await followLink(await invite('Bob'))]
  const shown = await list(bob)
  const [ofAda, ofBob] = [named(shown, 'Ada').id!, named(shown, 'Bob').id!]
  assert.match(await refusal(bob, `${PATH}/link`, { person: ofAda, days: 1 }, 403), /only an operator/)
  for (const body of [{ email: 'ADA@example.com' }, { name: 'Ada' }, { name: 'Renamed', email: 'ada@example.com' }]) {
    assert.match(await refusal(bob, `${PATH}/invite`, { ...body, days: 1 }), /is on the list already/)
  }
  const after = await list(bob)
  assert.deepEqual([named(after, 'Ada').invitations, named(after, 'Ada').id], [[], ofAda])
  await post(bob, `${PATH}/link`, { person: ofBob, days: 1 })
  await post(bob, `${PATH}/invite`, { name: 'Carl', days: 1 })
  await post(await dashboard.signIn(), `${PATH}/link`, { person: ofAda, days: 1 })
  assert.equal((await ada.get('/api/session')).status, 200)
})

test('more links than a list shows are refused', async (t) => {
  const dashboard = await start(t)
  const operator = await dashboard.signIn()
  const open = Array.from({ length: 1_000 }, (_, i) => [Date.now() + 60_000, `link:${i}`]).flat()
  await redis.zadd(keys.signIns('acme'), ...open)
  t.after(() => redis.del(keys.signIns('acme')))
  assert.match(await refusal(operator, `${PATH}/invite`, { days: 1 }), /too many invitations and sessions are open/)
  await redis.zrem(keys.signIns('acme'), 'link:0')
  await post<InviteAnswer>(operator, `${PATH}/invite`, { days: 1 })
})

test('a link without a name asks a browser for one, which makes a new person', async (t) => {
  const dashboard = await start(t)
  await people.invite(member.tenant, { name: 'Ada', by: { name: 'operator' }, validMs: 60_000 })
  const link = new URL(await dashboard.link(member))
  const { status, text, headers } = await open(link.href)
  assert.deepEqual([status, headers['set-cookie']], [200, undefined])
  assert.match(text, /<input class="ui-input" id="name" name="name"/)
  const confirm = async (form: string, to = link) => {
    const { port, host, origin, searchParams } = to
    return await sendRaw(Number(port), '/sign-in', { host, origin, 'user-agent': MAC }, `${searchParams}${form}`)
  }
  assert.equal((await confirm(`&name=${'x'.repeat(81)}`)).status, 422)
  const client = await clientOf(dashboard.url, await confirm('&name=Ada'))
  const answer = await list(client)
  assert.equal(answer.people.length, 2, 'a name given at sign-in does not claim a listed person')
  const own = answer.people.find(({ sessions }) => sessions.length > 0)!
  assert.deepEqual([own.name, own.sessions[0]!.device, own.added_by], ['Ada', 'Chrome on macOS', null])

  const second = new URL(await dashboard.link(member))
  const nameless = await clientOf(dashboard.url, await confirm('&name=+', second))
  const [unnamed] = (await list(nameless)).people.filter(({ id }) => id === null)
  assert.deepEqual([unnamed!.name, unnamed!.sessions[0]!.is_current], [null, true])
  assert.equal(await nameless.read('/api/author'), 'admin')

  const operatorLink = await dashboard.link()
  assert.equal((await open(operatorLink)).status, 303, 'an operator is not asked')
  const crossed = new URL(await dashboard.link({ role: 'operator', name: 'Grace <b>' }))
  const { text: asked } = await open(crossed.href, { 'sec-fetch-site': 'cross-site' })
  assert.ok(asked.includes('Continue only if') && !asked.includes('name="name"'))
  const grace = await clientOf(dashboard.url, await confirm('&name=Mallory', crossed))
  assert.equal(await grace.read('/api/author'), 'Grace <b>', 'the name of the link wins')
  const swapped = await open(await dashboard.link(member), { cookie: grace.cookie })
  assert.match(swapped.text, /signed in as Grace &#60;b&#62;, an operator\. The link signs it in as a member of acme/)
  const renewed = await clientOf(dashboard.url, await open(await dashboard.link(), { cookie: grace.cookie }))
  assert.equal(await renewed.read('/api/author'), 'Grace <b>')
})

test('people of a tenant are unknown to another, to a later one of its name, and after its deletion', async (t) => {
  const dashboard = await start(t)
  const other = { role: 'admin', tenant: { ...member.tenant, id: 'other' } } as const
  const invite = (of: TenantOfPeople, name: string) =>
    people.invite(of, { name, by: { name: 'operator' }, validMs: 60_000 })
  const link = `${dashboard.url}/sign-in?token=${await invite(member.tenant, 'Ada')}`
  const [ada, stranger] = [await followLink(link), await dashboard.signIn(other)]
  const { id: person, sessions: own } = named(await list(ada), 'Ada')
  assert.equal((await stranger.get(PATH)).status, 404)
  for (const [path, body] of [
    ['remove', { person }],
    ['sign-out', { person }],
    ['end', { id: own[0]!.id }],
    ['link', { person, days: 1 }],
    ['invite', { days: 1 }],
  ] as const) {
    assert.equal((await stranger.post(`${PATH}/${path}`, body)).status, 404, path)
    const mine = await stranger.post(`/api/tenants/other/people/${path}`, body)
    if (path === 'sign-out') assert.deepEqual(await mine.json(), { ended: 0 })
    else if (path !== 'invite') assert.equal(mine.status, path === 'link' ? 403 : 422, path)
  }
  assert.equal((await ada.get('/api/session')).status, 200)

  const former = { ...member.tenant, createdAt: '2025-01-01T00:00:00.000Z' }
  await assert.rejects(invite(former, 'Old'), { message: 'unknown tenant "acme"' })
  await redis.hset(
    keys.people('acme'),
    'f'.repeat(16),
    JSON.stringify({ name: 'Old', tenant_created_at: former.createdAt }),
  )
  await sessions.createLink({ role: 'admin', tenant: former }, 60_000)
  assert.deepEqual(
    (await list(ada)).people.map(({ name }) => name),
    ['Ada'],
  )

  const removal = new RedisTenantRemoval(redis)
  await removal.mark('acme')
  await removal.removeKeys('acme')
  await assert.rejects(invite(member.tenant, 'Late'), { message: 'unknown tenant "acme"' })
  await removal.removeRecord('acme')
  await tenants.createTenant(tenant('acme', '2026-02-02T00:00:00.000Z'))
  const left = await redis.keys('*')
  const texts = await Promise.all(
    left.map(async (key) => ((await redis.type(key)) === 'string' ? redis.get(key) : key)),
  )
  assert.ok(!texts.some((text) => /Ada|-of:acme/.test(text!)), texts.join('\n'))
  assert.deepEqual((await list(await dashboard.signIn())).people, [])
  // Other files of this process know the first one.
  await removal.mark('acme')
  await removal.removeRecord('acme')
  await tenants.createTenant(tenant('acme'))
})
