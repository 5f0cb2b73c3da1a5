import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { OidcStart, SessionAnswer } from '../../schemas/dashboard/session.ts'
import type { OidcProviderOptions } from '../../src/dashboard/oidc/provider.ts'
import { RedisPersonStore } from '../../src/dashboard/redis/people.ts'
import { RedisSessionStore } from '../../src/dashboard/redis/sessions.ts'
import { People, type TenantOfPeople } from '../../src/dashboard/server/people.ts'
import { Sessions } from '../../src/dashboard/server/sessions.ts'
import { systemClock } from '../../src/run/clock.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { DashboardClient, startDashboard } from '../support/dashboard.ts'
import { member, ROUTES, redis } from '../support/dashboard-access.ts'
import { REFUSES, TestOidcProvider, testOidc } from '../support/oidc-provider.ts'
import { type Reply, sendRaw } from '../support/raw-request.ts'

/* Sign-in with a real provider of OpenID Connect. Its wrong answers are in test/unit/dashboard/oidc-provider.test.ts. */

const sessions = new Sessions(new RedisSessionStore(redis), systemClock)
const store = new RedisPersonStore(redis)
const people = new People(store, sessions, systemClock)
const other = { id: 'other', createdAt: member.tenant.createdAt }
const VERIFIED = { email_verified: true }

/** A dashboard with a provider, and what a browser does at both. */
async function instance(
  t: TestContext,
  provider: TestOidcProvider,
  change: (options: OidcProviderOptions) => Partial<OidcProviderOptions> = () => ({}),
) {
  const { url } = await startDashboard(t, redis, ROUTES, {
    oidc: (port) => {
      const options = provider.admit(`http://127.0.0.1:${port}/sign-in/oidc`)
      const oidc = testOidc(redis, { ...options, ...change(options) })
      t.after(() => oidc.provider.stop())
      return oidc
    },
  })
  const { origin, port, host } = new URL(url)
  const start = (headers: Record<string, string> = { origin }) =>
    sendRaw(Number(port), '/sign-in/oidc', { host, ...headers }, '{}')
  /** @returns the cookie of the attempt, and where the provider leads back to */
  const attempt = async (login: string) => {
    const started = await start()
    assert.equal(started.status, 200, started.text)
    const back = await provider.pass((JSON.parse(started.text) as OidcStart).url, login)
    return { back: back.slice(origin.length), cookie: cookieIn(started, 'sign_in') }
  }
  const arrive = (path: string, cookie: string) => sendRaw(Number(port), path, { host, cookie })
  const signIn = async (login: string) => {
    const { back, cookie } = await attempt(login)
    return await arrive(back, cookie)
  }
  const whoIs = async (reply: Reply) => {
    assert.deepEqual([reply.status, reply.headers.location], [303, '/'], reply.text)
    const client = new DashboardClient(url, cookieIn(reply, 'session'))
    const { name, role, tenants } = await client.read<SessionAnswer>('/api/session')
    return `${name} ${role} ${tenants}`
  }
  return { url, origin, port: Number(port), host, start, attempt, arrive, signIn, whoIs }
}

function cookieIn({ headers }: Reply, name: string): string {
  const lines = (headers['set-cookie'] ?? []) as string[]
  return lines.find((line) => line.startsWith(`ipid_${name}_`))!.split(';')[0]!
}

async function forgetAll() {
  await sessions.withdraw()
  await redis.del(keys.people('acme'), keys.people('other'), keys.signIns('acme'), keys.signIns('other'))
}

function invite(email: string, name = email, tenant: TenantOfPeople = member.tenant) {
  return people.invite(tenant, { email, name, role: 'viewer', by: { name: 'Ada' }, validMs: 60_000 })
}

const textOf = ({ status, text }: Reply) =>
  `${status} ${/<main.*<\/main>/s.exec(text)?.[0].replaceAll(/<[^>]+>/g, ' ')}`

test('a person who was invited signs in, with the role of the list, and stays the same person', async (t) => {
  await forgetAll()
  const provider = await TestOidcProvider.start(t)
  const { signIn, whoIs } = await instance(t, provider)
  await invite('Eve@Example.com', 'Eve')
  provider.accounts.set('eve', { email: 'eve@example.com', ...VERIFIED })
  assert.equal(await whoIs(await signIn('eve')), 'Eve viewer acme')

  const { id } = (await people.list(member.tenant))[0]!
  await people.setRole(member.tenant, id, 'member')
  await people.invite(member.tenant, { email: 'eve@example.com', name: 'Eve B', by: { name: 'Ada' }, validMs: 60_000 })
  provider.accounts.set('eve', { email: 'eve@new.example', ...VERIFIED })
  assert.equal(await whoIs(await signIn('eve')), 'Eve B member acme', 'the account counts, not its address')

  provider.accounts.set('mallory', { email: 'eve@example.com', ...VERIFIED })
  const refused = await signIn('mallory')
  assert.match(
    textOf(refused),
    /^403 .*eve@example.com signs in with another account of Example ID.*ask an admin to remove/,
  )
  assert.equal(refused.headers['set-cookie']!.toString().includes('ipid_session'), false)

  await people.remove(member.tenant, id)
  assert.match(textOf(await signIn('eve')), /^403 .*No workspace here has invited eve@new.example\./)
  await invite('eve@example.com', 'Mallory')
  assert.equal(await whoIs(await signIn('mallory')), 'Mallory viewer acme', 'a new person with the address')
})

test('nobody else signs in: strangers, people without an address, and who refused at the provider', async (t) => {
  await forgetAll()
  const provider = await TestOidcProvider.start(t)
  const { signIn } = await instance(t, provider)
  await people.invite(member.tenant, { name: 'stranger', by: { name: 'Ada' }, validMs: 60_000 })
  await invite('eve@example.com')
  provider.accounts.set('stranger', { email: 'stranger@example.com', ...VERIFIED })
  provider.accounts.set('unverified', { email: 'eve@example.com', email_verified: false })
  provider.accounts.set('silent', { email: 'eve@example.com' })
  provider.accounts.set('nameless', {})
  const answers: Record<string, RegExp> = {
    stranger: /^403 .*No workspace here has invited stranger@example.com\./,
    unverified: /^403 .*does not say that the address eve@example.com is yours\. Confirm it there/,
    silent: /^403 .*OIDC_TRUST_EMAIL/,
    nameless: /^403 .*did not say your e-mail address/,
    [REFUSES]: /^403 .*you or Example ID refused\./,
  }
  for (const [login, said] of Object.entries(answers)) {
    const reply = await signIn(login)
    assert.match(textOf(reply), said)
    assert.match(reply.text, /<a class="ui-button" href="\/">Back to the sign-in page/)
    assert.equal(String(reply.headers['set-cookie']).includes('ipid_session'), false, login)
  }
  assert.equal((await sessions.list('acme')).filter(({ kind }) => kind === 'session').length, 0)
})

test('a person of several workspaces chooses one, once', async (t) => {
  await forgetAll()
  const provider = await TestOidcProvider.start(t)
  provider.isEmailInToken = true
  const { signIn, whoIs, port, host, origin } = await instance(t, provider)
  await invite('eve@example.com', 'Eve')
  await invite('eve@example.com', 'Eve O', other)
  provider.accounts.set('eve', { email: 'eve@example.com', ...VERIFIED })
  const asked = await signIn('eve')
  assert.match(textOf(asked), /^200 .*several workspaces.*acme.*other/s)
  const [, token] = [...asked.text.matchAll(/name="token" value="([\w-]{43})"/g)].map(([, found]) => found!)
  const choose = () => sendRaw(port, '/sign-in', { host, origin }, `token=${token}`)
  assert.equal(await whoIs(await choose()), 'Eve O viewer other')
  assert.equal((await choose()).headers.location, '/?sign-in=failed')
  await people.remove(other, (await people.list(other))[0]!.id)
  assert.equal(await whoIs(await signIn('eve')), 'Eve viewer acme')
})

test('an answer works in the browser that asked, once, and leads to no other site', async (t) => {
  await forgetAll()
  const provider = await TestOidcProvider.start(t)
  const { attempt, arrive, whoIs, start } = await instance(t, provider)
  await invite('eve@example.com', 'Eve')
  provider.accounts.set('eve', { email: 'eve@example.com', ...VERIFIED })
  const { back, cookie } = await attempt('eve')
  const ENDED = /^400 .*has ended, or began in another browser or tab/
  const foreign = cookieIn(await start(), 'sign_in')
  for (const [path, with_] of [
    [back, ''],
    [back, foreign],
    [back.replace(/state=[^&]*/, 'state=s'), cookie],
    [back.replace(/state=/, 'state=s&state='), cookie],
    [back.replace(/&?state=[^&]*/, ''), cookie],
  ] as const) {
    const refused = await arrive(path, with_)
    assert.match(textOf(refused), ENDED, path)
    assert.equal(refused.headers['set-cookie'], undefined, 'another site must not end the attempt')
  }
  const aside = '&redirect=https://evil.example&return_to=//evil.example&next=https://evil.example'
  const entered = await arrive(back + aside, cookie)
  assert.equal(await whoIs(entered), 'Eve viewer acme')
  assert.match(cookieLine(entered, 'sign_in'), /=; Path=\/; Max-Age=0;/)
  assert.match(textOf(await arrive(back, cookie)), /^400 .*was used already, or took too long/, 'the code is used')
  assert.match(textOf(await arrive(back, '')), ENDED)

  const mixed = await attempt('eve')
  const elsewhere = mixed.back.replace(/iss=[^&]*/, 'iss=https%3A%2F%2Fevil.example')
  assert.notEqual(elsewhere, mixed.back)
  assert.match(textOf(await arrive(elsewhere, mixed.cookie)), /^403 .*could not be verified/)
})

function cookieLine({ headers }: Reply, name: string): string {
  return (headers['set-cookie'] as string[]).find((line) => line.startsWith(`ipid_${name}_`))!
}

test('only our page begins a sign-in, at the configured address, and the provider leads back there', async (t) => {
  await forgetAll()
  const provider = await TestOidcProvider.start(t)
  const { start, port, host, origin, attempt, arrive, signIn, whoIs } = await instance(t, provider)
  assert.equal((await start({})).status, 403)
  assert.equal((await start({ origin: 'https://evil.example' })).status, 403)
  assert.equal((await start({ host: 'evil.example', origin: 'http://evil.example' })).status, 403)
  const local = { host: `localhost:${port}`, origin: `http://localhost:${port}` }
  const aside = await start(local)
  assert.deepEqual([aside.status, JSON.parse(aside.text).detail], [409, `open ${origin} to sign in with Example ID`])
  const started = await start()
  const { url } = JSON.parse(started.text) as OidcStart
  assert.equal(new URL(url).searchParams.get('redirect_uri'), `${origin}/sign-in/oidc`)
  assert.match(
    cookieLine(started, 'sign_in'),
    new RegExp(`^ipid_sign_in_${port}=[\\w-]{43}; Path=/; Max-Age=900; HttpOnly; SameSite=Lax$`),
  )
  assert.equal((await sendRaw(port, '/sign-in/oidc', { host, 'sec-fetch-dest': 'iframe' })).status, 403)
  const ways = await sendRaw(port, '/sign-in/ways', { host })
  assert.deepEqual(JSON.parse(ways.text), { can_email: false, provider: 'Example ID' })

  const session = await sessions.signIn(await sessions.createLink(member, 60_000))
  const signedIn = await start({ origin, cookie: `ipid_session_${port}=${session}` })
  assert.match(signedIn.text, /you are signed in already/)
  const { back, cookie } = await attempt('nobody')
  const statuses: number[] = []
  // Another site may lead here as often as it likes.
  for (let i = 0; i < 25; i++) statuses.push((await arrive('/sign-in/oidc?state=s', cookie)).status)
  assert.deepEqual(new Set(statuses), new Set([400]))
  for (let i = 0; i < 20; i++) await arrive(back, cookie)
  const refused = await arrive(back, cookie)
  assert.match(textOf(refused), /^429 .*Too many sign-ins failed\. Wait a minute/)
  assert.ok(Number(refused.headers['retry-after']) >= 1)
  await invite('eve@example.com', 'Eve')
  provider.accounts.set('eve', { email: 'eve@example.com', ...VERIFIED })
  for (let i = 0; i < 21; i++) assert.equal((await start()).status, 200)
  assert.equal(await whoIs(await signIn('eve')), 'Eve viewer acme', 'a right answer always works')
})

/** Fills the list of a tenant, as far as links are concerned. */
async function fill(tenantId: string) {
  const entries = Array.from({ length: 1_000 }, (_, i) => [Date.now() + 3_600_000, `session:filled${i}`] as const)
  await redis.zadd(keys.signIns(tenantId), ...entries.flat())
}

test('a full workspace keeps nobody out of another, and failures are a page for people', async (t) => {
  await forgetAll()
  t.after(() => redis.del(keys.signIns('acme'), keys.signIns('other')))
  const provider = await TestOidcProvider.start(t)
  const { signIn, attempt, arrive } = await instance(t, provider)
  await invite('eve@example.com', 'Eve')
  await invite('eve@example.com', 'Eve O', other)
  provider.accounts.set('eve', { email: 'eve@example.com', ...VERIFIED })
  await fill('acme')
  const asked = await signIn('eve')
  assert.match(textOf(asked), /^200 .*Too many invitations and sessions are open in acme\./s)
  assert.equal(asked.text.split('name="token"').length, 2, 'only the other one')
  await fill('other')
  const refused = await signIn('eve')
  assert.match(textOf(refused), /^422 .*You are not signed in: too many invitations and sessions are open/)
  assert.equal(refused.headers['content-type'], 'text/html; charset=utf-8')

  const { back, cookie } = await attempt('eve')
  await redis.rename(keys.people('acme'), 'kept')
  await redis.set(keys.people('acme'), 'of another type')
  const failed = await arrive(back, cookie)
  await redis.rename('kept', keys.people('acme'))
  assert.match(textOf(failed), /^500 .*You are not signed in: Redis does not keep the people/)
})

test('a person has 20 sessions, and 5 links from choices, which are no invitations', async (t) => {
  await forgetAll()
  const provider = await TestOidcProvider.start(t)
  const { signIn } = await instance(t, provider)
  await sessions.signIn(await invite('bob@example.com', 'Bob'))
  await invite('eve@example.com', 'Eve')
  provider.accounts.set('eve', { email: 'eve@example.com', ...VERIFIED })
  const first = cookieIn(await signIn('eve'), 'session').split('=')[1]!
  const { id } = (await people.list(member.tenant)).find(({ name }) => name === 'Eve')!
  const grant = { ...member, personId: id } as const
  for (let i = 0; i < 19; i++) await sessions.signIn(await sessions.createLink(grant, 60_000))
  assert.notEqual(await sessions.look(first), undefined)
  const last = await Promise.all([1, 2, 3].map(async () => await signIn('eve')))
  const all = await sessions.list('acme')
  const ofEve = all.filter(({ kind, grant: { personId } }) => kind === 'session' && personId === id)
  assert.equal(ofEve.length, 20)
  assert.equal(await sessions.look(first), undefined, 'the oldest has ended')
  for (const reply of last) assert.notEqual(await sessions.look(cookieIn(reply, 'session').split('=')[1]!), undefined)
  assert.equal(all.filter(({ kind, grant: { personId } }) => kind === 'session' && personId !== id).length, 1)

  await invite('eve@example.com', 'Eve O', other)
  for (let i = 0; i < 7; i++) assert.equal((await signIn('eve')).status, 200)
  const links = (await sessions.list('other')).filter(({ kind }) => kind === 'link')
  assert.deepEqual(
    links.map(({ grant: { isAsked = false } }) => isAsked).sort(),
    [false, ...Array(5).fill(true)],
    'the invitation stays',
  )
})

test('without a provider, or with one that is down, the other ways work and the page says what to do', async (t) => {
  const plain = await startDashboard(t, redis, ROUTES)
  const { port, host, origin } = new URL(plain.url)
  assert.equal((await sendRaw(Number(port), '/sign-in/oidc', { host, origin }, '{}')).status, 409)
  assert.equal((await sendRaw(Number(port), '/sign-in/oidc', { host })).status, 404)

  await forgetAll()
  const provider = await TestOidcProvider.start(t)
  const { start, attempt, arrive, whoIs, signIn } = await instance(t, provider)
  await invite('eve@example.com', 'Eve')
  provider.accounts.set('eve', { email: 'eve@example.com', ...VERIFIED })
  provider.close()
  const down = await start()
  const detail = 'Example ID does not answer now. Try again in a minute, or ask an operator for a link.'
  assert.deepEqual([down.status, JSON.parse(down.text).detail], [503, detail])
  await provider.listen()
  const { back, cookie } = await attempt('eve')
  provider.close()
  assert.match(textOf(await arrive(back, cookie)), /^503 .*Example ID does not answer now/)
  await provider.listen()
  assert.equal(await whoIs(await signIn('eve')), 'Eve viewer acme')
})

test('a wrong secret is the fault of the operator, not of the person', async (t) => {
  const provider = await TestOidcProvider.start(t)
  const { signIn } = await instance(t, provider, () => ({ clientSecret: 'another' }))
  provider.accounts.set('eve', { email: 'eve@example.com', ...VERIFIED })
  assert.match(textOf(await signIn('eve')), /^503 .*Example ID refuses this ipid/)
})

test('an account belongs to one person of a tenant, a person to one account of an issuer', async () => {
  await forgetAll()
  await invite('eve@example.com')
  await invite('bob@example.com')
  const [bob, eve] = (await people.list(member.tenant)).map(({ id }) => id) as [string, string]
  const bind = (id: string, email: string, issuer: string, subject: string, tenant: TenantOfPeople = member.tenant) =>
    store.bindAccount(tenant, id, email, { issuer, subject })
  assert.equal(await bind(eve, 'eve@example.com', 'https://one.example', '1'), true)
  assert.equal(await bind(eve, 'eve@example.com', 'https://one.example', '1'), true)
  assert.equal(await bind(eve, 'eve@example.com', 'https://one.example', '2'), false, 'another account')
  assert.equal(await bind(bob, 'bob@example.com', 'https://one.example', '1'), false, 'the account of Eve')
  assert.equal(await bind(bob, 'old@example.com', 'https://one.example', '3'), false, 'another address')
  assert.equal(await bind('gone', 'bob@example.com', 'https://one.example', '3'), false)
  const former = { id: 'acme', createdAt: '2025-01-01T00:00:00.000Z' }
  assert.equal(await bind(bob, 'bob@example.com', 'https://one.example', '3', former), false, 'a deleted tenant')
  assert.equal(await bind(eve, 'eve@example.com', 'https://two.example', '2'), true, 'the operator changed the issuer')
  const { account, name, email, role } = (await store.getPerson(member.tenant, eve))!
  assert.deepEqual(
    [account, name, email, role],
    [{ issuer: 'https://two.example', subject: '2' }, 'eve@example.com', 'eve@example.com', 'viewer'],
  )
})
