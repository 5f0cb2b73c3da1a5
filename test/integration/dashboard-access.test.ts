import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import type { SessionAnswer } from '../../schemas/dashboard/session.ts'
import { RedisSessionStore } from '../../src/dashboard/redis/sessions.ts'
import { Access } from '../../src/dashboard/server/access.ts'
import { EventStreams } from '../../src/dashboard/server/event-streams.ts'
import { route } from '../../src/dashboard/server/route.ts'
import { type SessionStore, Sessions } from '../../src/dashboard/server/sessions.ts'
import { RedisTenantRemoval } from '../../src/operations/erasure/redis/tenant-removal.ts'
import { systemClock } from '../../src/run/clock.ts'
import type { RedisClient } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { DashboardClient, followLink, startDashboard } from '../support/dashboard.ts'
import { member, ROUTES, redis, tenant, tenants } from '../support/dashboard-access.ts'
import { sendRaw } from '../support/raw-request.ts'
import { until } from '../support/until.ts'

const DAY_MS = 86_400_000
const portOf = (url: string) => ({ port: Number(new URL(url).port), origin: url })

test('a link signs in once, and only its digest is stored', async (t) => {
  const dashboard = await startDashboard(t, redis, ROUTES)
  const link = await dashboard.link()
  const secret = new URL(link).searchParams.get('token')!
  assert.equal(Buffer.from(secret, 'base64url').length, 32)
  for (const key of await redis.keys('ipid:dashboard:*')) {
    assert.ok(!key.includes(secret) && !(await redis.get(key))!.includes(secret))
  }
  // Other files of this process have links and sessions of their own.
  const leftMs = await redis.pttl(keys.signInLink(createHash('sha256').update(secret).digest('hex')))
  assert.ok(leftMs > 0 && leftMs <= 60_000)
  const client = await followLink(link)
  const again = await fetch(link, { redirect: 'manual' })
  assert.equal(again.headers.get('set-cookie'), null)
  assert.equal(again.headers.get('location'), '/?sign-in=failed')
  const answer = await client.read<SessionAnswer>('/api/session')
  assert.deepEqual([answer.role, answer.tenants], ['operator', ['acme', 'other']])
  for (const key of await redis.keys('ipid:dashboard:*')) assert.ok(!key.includes(client.cookie.split('=')[1]!))
})

test('the cookie is for this server and its pages only', async (t) => {
  const plain = await startDashboard(t, redis, ROUTES)
  const cookie = (await fetch(await plain.link(), { redirect: 'manual' })).headers.get('set-cookie')!
  assert.match(
    cookie,
    new RegExp(
      `^ipid_session_${new URL(plain.url).port}=[\\w-]{43}; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict$`,
    ),
  )
  const proxied = await startDashboard(t, redis, ROUTES, { publicUrl: 'https://ipid.example' })
  const secure = (await fetch(await proxied.link(), { redirect: 'manual' })).headers.get('set-cookie')!
  assert.match(secure, /^__Host-ipid_session_\d+=.*; Secure$/)
})

test('a session that is signed out or unknown is refused', async (t) => {
  const dashboard = await startDashboard(t, redis, ROUTES)
  const client = await dashboard.signIn()
  assert.equal((await client.get('/api/system')).status, 200)
  assert.equal((await client.post('/sign-out')).status, 204)
  const refused = await client.get('/api/system')
  assert.deepEqual([refused.status, refused.headers.get('cache-control')], [401, 'no-store'])
  for (const cookie of ['', 'ipid_session=x', `ipid_session_${new URL(dashboard.url).port}=${'a'.repeat(43)}`]) {
    assert.equal((await new DashboardClient(dashboard.url, cookie).get('/api/session')).status, 401)
  }
})

test('open requests of a session end when it signs out', async (t) => {
  const streams = new EventStreams()
  t.after(() => streams.end())
  const begin = () => () => {}
  const live = route({ method: 'GET', path: '/api/live', handle: ({ session }) => streams.respond(session, begin) })
  const dashboard = await startDashboard(t, redis, [...ROUTES, live], {
    onSignedOut: (session) => streams.endOf(session),
  })
  const [client, other] = [await dashboard.signIn(), await dashboard.signIn()]
  const [mine] = await Promise.all([client.get('/api/live'), other.get('/api/live')])
  assert.equal(streams.size, 2)
  assert.equal((await client.post('/sign-out')).status, 204)
  assert.match(await mine.text(), /^retry/)
  assert.deepEqual([streams.size, (await client.get('/api/live')).status], [1, 401])
})

test('use extends a session', async (t) => {
  const dashboard = await startDashboard(t, redis, ROUTES)
  await redis.del(await redis.keys(keys.session('*')))
  const client = await dashboard.signIn()
  const [key] = await redis.keys(keys.session('*'))
  await redis.pexpire(key!, 5_000)
  // Another process does not know when the session was last extended.
  const other = await startDashboard(t, redis, ROUTES)
  const cookie = `ipid_session_${new URL(other.url).port}=${client.cookie.split('=')[1]}`
  const again = new DashboardClient(other.url, cookie)
  const { headers } = await again.get('/api/session')
  assert.match(headers.get('set-cookie')!, new RegExp(`^${cookie}; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict$`))
  assert.equal((await again.get('/api/session')).headers.get('set-cookie'), null, 'once a minute')
  assert.ok((await redis.pttl(key!)) > 43_000_000)
})

test('a session and its cookie end 30 days after sign-in, however much it is used', async (t) => {
  let nowMs = systemClock.now()
  const dashboard = await startDashboard(t, redis, ROUTES, { clock: { now: () => nowMs } })
  await redis.del(await redis.keys(keys.session('*')))
  const client = await dashboard.signIn()
  const [key] = await redis.keys(keys.session('*'))
  nowMs += 30 * DAY_MS - 3_600_000
  const { status, headers } = await client.get('/api/session')
  assert.equal(status, 200)
  assert.match(headers.get('set-cookie')!, /; Max-Age=3600;/)
  assert.ok((await redis.pttl(key!)) <= 3_600_000)
  nowMs += 3_600_000
  // As if the expired session had not been removed in time.
  await redis.persist(key!)
  assert.equal((await client.get('/api/session')).status, 401)
})

test('the link of a member signs in only after a confirmation, as programs that scan mail open links', async (t) => {
  const dashboard = await startDashboard(t, redis, ROUTES)
  const { port, origin } = portOf(dashboard.url)
  const host = `127.0.0.1:${port}`
  const { pathname, search, searchParams } = new URL(await dashboard.link(member))
  const scanner = { host }
  const browser = { host, 'sec-fetch-site': 'none', 'sec-fetch-dest': 'document', 'sec-fetch-mode': 'navigate' }
  for (const headers of [scanner, browser, scanner]) {
    const { status, text, headers: answered } = await sendRaw(port, pathname + search, headers)
    assert.deepEqual([status, answered['set-cookie']], [200, undefined])
    assert.match(text, /<form [^>]*method="post" action="\/sign-in">/)
  }
  const done = await sendRaw(port, '/sign-in', { host, origin }, searchParams.toString())
  assert.deepEqual([done.status, done.headers.location], [303, '/'])
  assert.match(String(done.headers['set-cookie']), /HttpOnly/)
})

test('a link opened by another site, or prefetched, signs in only after a confirmation', async (t) => {
  const dashboard = await startDashboard(t, redis, ROUTES)
  const { port, origin } = portOf(dashboard.url)
  const link = new URL(await dashboard.link())
  const open = (headers: Record<string, string>, method = 'GET') =>
    sendRaw(port, link.pathname + link.search, { host: `127.0.0.1:${port}`, ...headers }, undefined, method)
  const others: Record<string, string>[] = [
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'document' },
    { 'sec-fetch-site': 'same-site', 'sec-fetch-dest': 'document' },
    { 'sec-fetch-site': 'none', 'sec-purpose': 'prefetch;prerender' },
    { purpose: 'prefetch' },
  ]
  for (const headers of others) {
    const { status, text, headers: answered } = await open(headers)
    assert.deepEqual([status, answered['set-cookie'], answered['cache-control']], [200, undefined, 'no-store'])
    assert.match(text, /<form [^>]*method="post" action="\/sign-in">/)
    assert.ok(!/<script|style=|operator/.test(text), 'strict, and nothing about the link')
    assert.equal(answered['referrer-policy'], 'strict-origin', 'or the form would have no origin')
  }
  assert.equal((await open({}, 'HEAD')).headers['set-cookie'], undefined)

  const confirm = (from: Record<string, string>) =>
    sendRaw(port, '/sign-in', { host: `127.0.0.1:${port}`, ...from }, link.searchParams.toString())
  for (const from of [{}, { origin: 'http://evil.example' }, { origin: 'null' }] as Record<string, string>[]) {
    assert.equal((await confirm(from)).status, 403)
  }
  const done = await confirm({ origin })
  assert.deepEqual([done.status, done.headers.location], [303, '/'])
  assert.match(String(done.headers['set-cookie']), /HttpOnly/)
  assert.equal((await confirm({ origin })).headers.location, '/?sign-in=failed')

  for (const site of ['none', 'same-origin']) {
    const { pathname, search } = new URL(await dashboard.link())
    assert.equal((await sendRaw(port, pathname + search, { 'sec-fetch-site': site, host: '[::1]' })).status, 303, site)
  }
})

test('a link for another user replaces no session without a question', async (t) => {
  const dashboard = await startDashboard(t, redis, ROUTES)
  const { port, origin } = portOf(dashboard.url)
  const host = `127.0.0.1:${port}`
  const operator = await dashboard.signIn()
  const { pathname, search, searchParams } = new URL(await dashboard.link(member))
  const open = () => sendRaw(port, pathname + search, { host, cookie: operator.cookie, 'sec-fetch-site': 'none' })
  const confirm = (form: string) =>
    sendRaw(port, '/sign-in', { host, origin, cookie: operator.cookie }, `${searchParams}${form}`)
  for (const { status, text, headers } of [await open(), await confirm('')]) {
    assert.deepEqual([status, headers['set-cookie']], [200, undefined])
    assert.match(text, /signed in as an operator\. The link signs it in as a member of acme instead/)
  }
  assert.equal((await operator.get('/api/system')).status, 200)
  const { status, headers } = await confirm('&replace=yes')
  const next = new DashboardClient(dashboard.url, String(headers['set-cookie']).split(';')[0]!)
  assert.deepEqual([status, (await next.read<SessionAnswer>('/api/session')).role], [303, 'admin'])
  assert.equal((await operator.get('/api/system')).status, 401, 'the former session ends')

  const again = new URL(await dashboard.link(member))
  const same = await sendRaw(port, '/sign-in', { host, origin, cookie: next.cookie }, again.searchParams.toString())
  assert.equal(same.status, 303, 'a link for the same replaces without a question')
  assert.equal((await next.get('/api/session')).status, 401)
})

test('links and sessions of one or all tenants are withdrawn, and open requests end everywhere', async (t) => {
  const begin = () => () => {}
  const start = async () => {
    const streams: EventStreams = new EventStreams({ askEveryMs: 20 }, (session, of) => access.isValid(session, of))
    t.after(() => streams.end())
    const live = route({
      method: 'GET',
      path: '/api/tenants/:tenant/live',
      handle: ({ session, tenant }) => streams.respond(session, begin, { tenant }),
    })
    const dashboard = await startDashboard(t, redis, [...ROUTES, live])
    const access = new Access(dashboard.sessions, (id) => tenants.getTenant(id))
    const cookieName = `ipid_session_${portOf(dashboard.url).port}`
    const open = async ({ cookie }: DashboardClient, path = '/api/tenants/acme/live') => {
      const here = new DashboardClient(dashboard.url, `${cookieName}=${cookie.split('=')[1]}`)
      const answer = await here.get(path)
      assert.equal(answer.status, 200)
      return answer.text()
    }
    return { ...dashboard, streams, open }
  }
  const [one, two] = [await start(), await start()]
  const other = { role: 'admin', tenant: { ...member.tenant, id: 'other' } } as const
  const signIn = () => Promise.all([one.signIn(), one.signIn(member), one.signIn(other)])
  await one.sessions.withdraw()
  const [operator, ofAcme, ofOther] = await signIn()
  const ended = two.open(ofAcme)
  const goOn = [two.open(operator), two.open(ofOther, '/api/tenants/other/live')]
  await until(() => two.streams.size === 3)
  const links = [await one.link(member), await one.link(other)]
  assert.deepEqual(await one.sessions.withdraw('acme'), { links: 1, sessions: 1 })
  await ended
  assert.equal(two.streams.size, 2)
  assert.deepEqual([(await ofAcme.get('/api/session')).status, (await ofOther.get('/api/session')).status], [401, 200])
  const answers = await Promise.all(links.map((link) => fetch(link, { redirect: 'manual' })))
  assert.deepEqual(
    answers.map(({ status, headers }) => [status, headers.get('location')]),
    [
      [303, '/?sign-in=failed'],
      [200, null],
    ],
  )
  await followLink(links[1]!)
  // Signed out where the sign-in was.
  assert.equal((await operator.post('/sign-out')).status, 204)
  await goOn[0]
  await one.link()
  assert.deepEqual(await two.sessions.withdraw(), { links: 1, sessions: 2 })
  await Promise.all(goOn)

  const [looking, former] = await signIn()
  const streams = [two.open(looking), two.open(former)]
  await until(() => two.streams.size === 2)
  const removal = new RedisTenantRemoval(redis)
  await removal.mark('acme')
  await Promise.all(streams)
  const late = await one.link(member)
  assert.equal((await fetch(late, { redirect: 'manual' })).headers.get('location'), '/?sign-in=failed')
  await removal.removeKeys('acme')
  assert.deepEqual([(await former.get('/api/session')).status, (await looking.get('/api/session')).status], [401, 200])
  assert.deepEqual(await one.sessions.withdraw('acme'), { links: 0, sessions: 0 })
  await removal.removeRecord('acme')
  await tenants.createTenant(tenant('acme'))
})

test('a link that is withdrawn while it is opened leaves no session', async () => {
  const calls: string[] = []
  const store = new RedisSessionStore(redis)
  const watched = new Proxy(store, {
    get: (_, name: keyof SessionStore) => {
      if (name === 'removeLink') return async () => calls.push(name) === 0
      return (...args: never[]) => {
        calls.push(name)
        return (store[name] as (...args: never[]) => unknown).apply(store, args)
      }
    },
  })
  const sessions = new Sessions(watched, systemClock)
  await sessions.withdraw()
  calls.length = 0
  const link = await sessions.createLink({ role: 'operator' }, 60_000)
  assert.equal(await sessions.signIn(link), undefined)
  assert.deepEqual(calls, ['putLink', 'getLink', 'putSession', 'removeLink', 'removeSession'])
  assert.deepEqual(await sessions.withdraw(), { links: 1, sessions: 0 })
  // Links are read first: one that is opened right after the read already has its session.
  const patterns: string[] = []
  const scan = async (...[, , pattern]: string[]) => [patterns.push(pattern!) && '0', []]
  await new RedisSessionStore({ scan } as unknown as RedisClient).removeAll(undefined)
  assert.deepEqual(patterns, [keys.signInLink('*'), keys.session('*')])
})

test('failing links delay their client, and never keep out a valid link', async (t) => {
  const dashboard = await startDashboard(t, redis, ROUTES)
  const port = Number(new URL(dashboard.url).port)
  const attempt = async (headers: Record<string, string> = {}, secret = 'x'.repeat(43)) =>
    await sendRaw(port, `/sign-in?token=${secret}`, headers)
  for (let i = 0; i < 21; i++) {
    const { status } = await attempt({ 'sec-fetch-dest': 'image' })
    assert.equal(status, 403, 'requests of other sites count for no client')
  }
  for (let i = 0; i < 21; i++) {
    const { status } = await attempt({ 'sec-fetch-site': 'cross-site' }, 'x')
    assert.equal(status, 303, 'nor navigations from them without a valid link')
  }
  const replies = await Promise.all(Array.from({ length: 25 }, () => attempt()))
  assert.deepEqual(replies.map(({ status }) => status).sort(), [...Array(20).fill(303), ...Array(5).fill(429)])
  const refused = await attempt()
  assert.equal(refused.status, 429)
  assert.ok(Number(refused.headers['retry-after']) >= 1)
  await followLink(await dashboard.link())
  const asked = await attempt(
    { 'sec-fetch-site': 'cross-site' },
    new URL(await dashboard.link()).searchParams.get('token')!,
  )
  assert.equal(asked.status, 200)
  assert.equal((await attempt({ 'x-forwarded-for': '198.51.100.9, 203.0.113.7' })).status, 303, 'another client')
})
