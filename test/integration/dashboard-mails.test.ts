import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { InviteAnswer, PeopleAnswer } from '../../schemas/dashboard/people.ts'
import type { SessionAnswer } from '../../schemas/dashboard/session.ts'
import { DEFAULT_PLANS } from '../../schemas/plans.ts'
import { RedisAlerts } from '../../src/alerts/redis/alert-store.ts'
import { RedisTestLimits } from '../../src/alerts/redis/test-limits.ts'
import { RedisPersonStore } from '../../src/dashboard/redis/people.ts'
import { RedisSessionStore } from '../../src/dashboard/redis/sessions.ts'
import { People } from '../../src/dashboard/server/people.ts'
import { peopleRoutes } from '../../src/dashboard/server/routes/people.ts'
import { Sessions } from '../../src/dashboard/server/sessions.ts'
import { SignInMails } from '../../src/dashboard/server/sign-in-mails.ts'
import { RedisSharedLinks } from '../../src/dashboard/shared-links/redis/link-store.ts'
import { SharedLinks } from '../../src/dashboard/shared-links/shared-links.ts'
import { systemClock } from '../../src/run/clock.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { TenantAdmin } from '../../src/tenants/admin.ts'
import { followLink, startDashboard } from '../support/dashboard.ts'
import { member, ROUTES, redis, tenants } from '../support/dashboard-access.ts'
import { silent } from '../support/pipeline.ts'
import { sendRaw } from '../support/raw-request.ts'
import { until } from '../support/until.ts'

interface Sent {
  readonly to: string
  readonly subject: string
  readonly text: string
}

const sessions = new Sessions(new RedisSessionStore(redis), systemClock)
const store = new RedisPersonStore(redis)
const people = new People(store, sessions, systemClock)
const admin = new TenantAdmin({ store: tenants, plans: new Map(Object.entries(DEFAULT_PLANS)), clock: systemClock })
const BY = { name: 'Ada' }
const VALID_MS = 60_000
const other = { id: 'other', createdAt: member.tenant.createdAt }

/** @param refusal the answer of the mail server; undefined: it takes every mail */
function mailing(dashboardUrl: string, refusal?: string, issuer?: string) {
  const sent: Sent[] = []
  const mails = new SignInMails({
    mailer: {
      async send({ to, subject, text }) {
        if (refusal !== undefined) throw new Error(refusal)
        sent.push({ to, subject, text })
        return 'kept'
      },
    },
    ...{ sessions, people: store, tenants, dashboardUrl, issuer, log: silent },
    limits: new RedisTestLimits(redis),
  })
  return { sent, mails }
}

async function forgetAll() {
  await sessions.withdraw()
  await redis.del(keys.people('acme'), keys.people('other'), keys.signIns('acme'), keys.signIns('other'))
  for (const key of await redis.keys('*:tests:*')) await redis.del(key)
}

const linksIn = ({ text }: Sent) => text.split('\n').filter((line) => line.startsWith('http'))

test('a link by e-mail signs in the person with that address, once, in each of their workspaces', async (t) => {
  await forgetAll()
  const asked: string[] = []
  const dashboard = await startDashboard(t, redis, ROUTES, {
    mails: {
      request: (address) => {
        asked.push(address)
        mails.request(address)
      },
    },
  })
  const { sent, mails } = mailing(dashboard.url)
  await people.invite(member.tenant, {
    email: 'Eve@Example.com',
    name: 'Eve',
    role: 'viewer',
    by: BY,
    validMs: VALID_MS,
  })
  await people.invite(other, { email: 'eve@example.com', name: 'Eve B', by: BY, validMs: VALID_MS })
  const invited = (await sessions.list('acme')).length
  const { host, port, origin } = new URL(dashboard.url)
  const ask = (email: string, headers: Record<string, string> = { origin }) =>
    sendRaw(Number(port), '/sign-in/mail', { host, ...headers }, JSON.stringify({ email }))
  const known = await ask(' EVE@example.com ')
  await until(() => sent.length === 1)
  assert.deepEqual([sent[0]!.to, sent[0]!.subject], ['eve@example.com', 'Your sign-in link for ipid'])
  const links = linksIn(sent[0]!)
  assert.equal(links.length, 2)
  const roles: string[] = []
  for (const link of links) {
    const client = await followLink(link)
    const { role, tenants: seen, name } = await client.read<SessionAnswer>('/api/session')
    roles.push(`${name} ${role} ${seen}`)
    assert.equal((await fetch(link, { redirect: 'manual' })).headers.get('location'), '/?sign-in=failed')
  }
  assert.deepEqual(roles, ['Eve viewer acme', 'Eve B admin other'])
  assert.equal((await sessions.list('acme')).filter(({ kind }) => kind === 'link').length, invited, 'invitations stay')

  const unknown = await ask('nobody@example.com')
  const same = ({ status, text, headers }: typeof known) => [status, text, Object.keys(headers).sort()]
  assert.deepEqual(same(unknown), same(known), 'the answer says nothing about the address')
  assert.equal((await ask('eve@example.com', {})).status, 403, 'only our page asks')
  assert.equal((await ask('eve@example.com', { origin: 'https://evil.example' })).status, 403)
  assert.deepEqual(asked, [' EVE@example.com ', 'nobody@example.com'])
  await mails.stop()
  assert.equal(sent.length, 1)
})

test('a link is mailed for each workspace with room, and to nobody who is bound to the provider', async () => {
  await forgetAll()
  const invite = (tenant: typeof other) =>
    people.invite(tenant, { email: 'eve@example.com', name: 'Eve', by: BY, validMs: VALID_MS })
  await invite(member.tenant)
  await invite(other)
  const entries = Array.from({ length: 1_000 }, (_, i) => [Date.now() + 3_600_000, `session:filled${i}`] as const)
  await redis.zadd(keys.signIns('acme'), ...entries.flat())
  const links = async (issuer?: string) => {
    const { sent, mails } = mailing('https://ipid.example', undefined, issuer)
    mails.request('eve@example.com')
    // The mail that is on its way is sent first.
    await mails.stop()
    return sent.map(({ text }) => text.match(/To the workspace.*/g)!)
  }
  assert.deepEqual(await links(), [['To the workspace other, as Eve:']])
  await redis.del(keys.signIns('acme'))
  const { id } = (await people.list(other))[0]!
  await store.bindAccount(other, id, 'eve@example.com', { issuer: 'https://id.example', subject: '1' })
  assert.deepEqual(await links('https://id.example/'), [['To the workspace acme, as Eve:']])
  assert.equal((await links('https://next.example'))[0]!.length, 2, 'another provider')
  assert.equal((await links())[0]!.length, 2, 'no provider')
})

test('mails to an address and requests of a client are limited', async (t) => {
  await forgetAll()
  const dashboard = await startDashboard(t, redis, ROUTES, { mails: { request: () => {} } })
  const { sent, mails } = mailing(dashboard.url)
  await people.invite(member.tenant, { email: 'eve@example.com', name: 'Eve', by: BY, validMs: VALID_MS })
  for (let i = 0; i < 8; i++) mails.request('eve@example.com')
  await mails.stop()
  assert.ok(sent.length <= 5)
  const { host, port, origin } = new URL(dashboard.url)
  const ask = () => sendRaw(Number(port), '/sign-in/mail', { host, origin }, JSON.stringify({ email: 'a@b.example' }))
  const answers = []
  for (let i = 0; i < 21; i++) answers.push((await ask()).status)
  assert.deepEqual(answers, [...Array(20).fill(204), 429])
})

test('an instance without SMTP_URL mails nothing, and says so to the sign-in page', async (t) => {
  const dashboard = await startDashboard(t, redis, ROUTES)
  const { host, port, origin } = new URL(dashboard.url)
  const ways = await sendRaw(Number(port), '/sign-in/ways', { host })
  assert.deepEqual([ways.status, JSON.parse(ways.text)], [200, { can_email: false, provider: null }])
  const asked = await sendRaw(Number(port), '/sign-in/mail', { host, origin }, '{"email":"a@b.example"}')
  assert.equal(asked.status, 409)
})

const sharedLinks = new SharedLinks(new RedisSharedLinks(redis), new RedisPersonStore(redis), systemClock)

test('an invitation is mailed with its link, and the inviter learns what the mail server said', async (t) => {
  await forgetAll()
  const parts = {
    people,
    sessions,
    admin,
    alerts: new RedisAlerts(redis),
    sharedLinks,
    endMails: async () => {},
    publicUrl: undefined,
    clock: systemClock,
  }
  const invite = async (refusal?: string) => {
    const { sent, mails } = mailing('https://ipid.example', refusal)
    const dashboard = await startDashboard(t, redis, [...ROUTES, ...peopleRoutes({ ...parts, mails })])
    const client = await dashboard.signIn({ ...member, name: 'Ada' })
    const body = { email: `vera${sent.length}@example.com`, name: refusal ?? 'Vera', role: 'viewer', days: 7 }
    const response = await client.post('/api/tenants/acme/people/invite', body)
    assert.equal(response.status, 200)
    return { sent, answer: (await response.json()) as InviteAnswer }
  }
  const { sent, answer } = await invite()
  assert.deepEqual([answer.mailed_to, answer.mail_problem], ['vera0@example.com', null])
  assert.equal(sent[0]!.subject, 'Ada invites you to acme on ipid')
  const [link] = linksIn(sent[0]!)
  assert.equal(link, `https://ipid.example${answer.url}`)
  await redis.del(keys.people('acme'))
  const refused = await invite('no such mailbox')
  assert.deepEqual([refused.answer.mailed_to, refused.answer.mail_problem], [null, 'no such mailbox'])
  assert.match(refused.answer.url, /^\/sign-in\?token=/)
})

test('a role is given by another admin, holds at once, and ends links of a former admin', async (t) => {
  await forgetAll()
  const parts = {
    people,
    sessions,
    admin,
    alerts: new RedisAlerts(redis),
    sharedLinks,
    endMails: async () => {},
    publicUrl: undefined,
    mails: undefined,
  }
  const dashboard = await startDashboard(t, redis, [...ROUTES, ...peopleRoutes({ ...parts, clock: systemClock })])
  const join = async (name: string) => {
    const secret = await people.invite(member.tenant, { name, by: BY, validMs: VALID_MS })
    return await followLink(`${dashboard.url}/sign-in?token=${secret}`)
  }
  const [ada, bob] = [await join('Ada'), await join('Bob')]
  const { id: bobId } = (await people.list(member.tenant)).find(({ name }) => name === 'Bob')!
  await sessions.createLink({ ...member, personId: bobId, isAsked: true }, VALID_MS)
  const { people: listed } = await ada.read<PeopleAnswer>('/api/tenants/acme/people')
  assert.deepEqual(
    listed.map(({ name, invitations }) => [name, invitations.length]),
    [
      ['Ada', 0],
      ['Bob', 0],
    ],
    'a link that a person asked for is no invitation',
  )
  const idOf = async (name: string) => (await people.list(member.tenant)).find((person) => person.name === name)!.id
  const setRole = (client: typeof ada, person: string, role: string) =>
    client.post('/api/tenants/acme/people/role', { person, role })
  const made = await bob.post('/api/tenants/acme/people/invite', { days: 7 })
  const link = new URL(((await made.json()) as InviteAnswer).url, dashboard.url).href
  assert.equal((await setRole(ada, await idOf('Ada'), 'viewer')).status, 403, 'nobody changes their own role')
  assert.equal((await setRole(ada, 'f'.repeat(16), 'viewer')).status, 422)
  assert.equal((await setRole(ada, await idOf('Bob'), 'operator')).status, 422)
  assert.equal((await setRole(ada, await idOf('Bob'), 'viewer')).status, 200)
  assert.equal((await bob.read<SessionAnswer>('/api/session')).role, 'viewer')
  assert.equal((await bob.get('/api/tenants/acme/people')).status, 403)
  assert.equal((await fetch(link, { redirect: 'manual' })).headers.get('location'), '/?sign-in=failed')
  // Invited again, a person keeps their role.
  await people.invite(member.tenant, { name: 'Bob', by: BY, validMs: VALID_MS })
  assert.equal((await bob.read<SessionAnswer>('/api/session')).role, 'viewer')
})
