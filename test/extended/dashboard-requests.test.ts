import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { SessionAnswer } from '../../schemas/dashboard/session.ts'
import type { DataUpdate } from '../../schemas/dashboard/system.ts'
import { FolderUpdates } from '../../src/dashboard/server/data-updates.ts'
import { EventStreams } from '../../src/dashboard/server/event-streams.ts'
import { isOurHost } from '../../src/dashboard/server/hosts.ts'
import { systemRoutes } from '../../src/dashboard/server/routes/system.ts'
import { SharedFeed } from '../../src/dashboard/server/shared-feed.ts'
import type { ProviderReport } from '../../src/enrichment/files/report.ts'
import { endAskedUpdate, readAskedUpdate } from '../../src/enrichment/files/update/asked-update.ts'
import { systemClock } from '../../src/run/clock.ts'
import { UnavailableError } from '../../src/run/errors.ts'
import { DashboardClient, startDashboard } from '../support/dashboard.ts'
import { member, ROUTES, redis } from '../support/dashboard-access.ts'
import { temporaryFolder } from '../support/enrichment-data.ts'
import { sendRaw } from '../support/raw-request.ts'

test('a member sees one tenant, and no trace of another', async (t) => {
  const dashboard = await startDashboard(t, redis, ROUTES)
  const client = await dashboard.signIn(member)
  assert.deepEqual((await client.read<SessionAnswer>('/api/session')).tenants, ['acme'])
  assert.deepEqual(await client.read('/api/tenants/acme/thing/a%2Fb?limit=3&kinds=x&kinds=y'), [
    'acme',
    'a/b',
    { limit: 3, kinds: ['x', 'y'] },
  ])
  const other = await client.get('/api/tenants/other/thing/1')
  const none = await client.get('/api/tenants/nobody/thing/1')
  assert.deepEqual([other.status, await other.text()], [404, await none.text()])
  assert.equal((await client.post('/api/tenants/other/change', { name: 'a' })).status, 404)
  assert.equal((await client.get('/api/system')).status, 403)
  const gone = { ...member, tenant: { id: 'acme', createdAt: '2025-01-01T00:00:00.000Z' } }
  const refused = await fetch(await dashboard.link(gone), { redirect: 'manual' })
  assert.equal(refused.headers.get('location'), '/?sign-in=failed')
  const secret = await dashboard.sessions.signIn(new URL(await dashboard.link(gone)).searchParams.get('token')!)
  const former = new DashboardClient(dashboard.url, `${client.cookie.split('=')[0]}=${secret}`)
  assert.equal((await former.get('/api/session')).status, 200)
  assert.equal((await former.get('/api/tenants/acme/thing/1')).status, 404, 'a tenant created again is another one')
})

test('a change needs the token of its session, and must come from our pages', async (t) => {
  const dashboard = await startDashboard(t, redis, ROUTES)
  const [client, other] = [await dashboard.signIn(), await dashboard.signIn()]
  const change = (headers: Record<string, string>) => client.post('/api/tenants/acme/change', { name: 'a' }, headers)
  assert.equal((await change({})).status, 200)
  for (const token of ['', 'x', other.csrfToken]) assert.equal((await change({ 'x-csrf-token': token })).status, 403)
  assert.equal((await change({ origin: dashboard.url })).status, 200)
  for (const origin of ['http://evil.example', 'null']) assert.equal((await change({ origin })).status, 403)
  assert.equal((await client.post('/sign-out', {}, { 'x-csrf-token': '' })).status, 403)
})

test('a change that may not be on disk is not reported as done', async (t) => {
  const persisted = async () => {
    throw new UnavailableError('the change may not be on disk yet')
  }
  const client = await (await startDashboard(t, redis, ROUTES, { persisted })).signIn()
  assert.equal((await client.post('/api/tenants/acme/change', { name: 'a' })).status, 500)
  assert.equal((await client.get('/api/session')).status, 200, 'nothing changes')
})

/** The calls of the system page, on their own folder of sources, beside a default set that is 157 days old. */
async function systemCalls(t: TestContext, hosts: string[] = [hostname()]) {
  const dir = join(await temporaryFolder(t), 'made', 'enrich')
  const old = { name: 'ip-location-db-asn', builtAt: new Date(Date.now() - 157 * 86_400_000), hasSource: false }
  const engine = { providers: () => [old as unknown as ProviderReport] }
  const updates = new FolderUpdates({ dir, engine, hosts: async () => hosts, clock: systemClock })
  const routes = systemRoutes({
    streams: new EventStreams({}, async () => true),
    system: new SharedFeed(() => () => {}),
    updates,
  })
  const dashboard = await startDashboard(t, redis, [...ROUTES, ...routes])
  const sources = async () =>
    JSON.parse(await readFile(join(dir, 'sources.json'), 'utf8').catch(() => '[]')) as object[]
  return { dir, updates, dashboard, sources, path: '/api/system/data-update' }
}

test('an operator adds newer data: each source is added once, however often it is asked for', async (t) => {
  const { dir, updates, dashboard, sources, path } = await systemCalls(t)
  const operator = await dashboard.signIn()
  const asMember = await dashboard.signIn(member)
  assert.equal((await asMember.post(path)).status, 403)
  assert.equal((await operator.post(path, {}, { 'x-csrf-token': '' })).status, 403)
  assert.equal((await operator.post(path, {}, { origin: 'http://evil.example' })).status, 403)
  assert.equal((await fetch(dashboard.url + path, { method: 'POST' })).status, 401)
  assert.deepEqual([await sources(), (await updates.read([]))?.state], [[], 'idle'])

  const ask = async () => {
    const response = await operator.post(path)
    assert.equal(response.status, 200)
    return (await response.json()) as DataUpdate
  }
  const [first, second] = await Promise.all([ask(), ask()])
  const iptoasn = { file: 'iptoasn.mmdb', url: 'https://iptoasn.com/data/ip2asn-combined.tsv.gz', schedule: 'weekly' }
  assert.deepEqual(await sources(), [iptoasn])
  assert.deepEqual([first.state, first.adds, first.command], ['fetching', [], './ipid db update'])
  assert.deepEqual(second, first, 'one is under way')

  const end = { endedAt: new Date().toISOString(), changed: [] }
  const failures = [{ file: 'iptoasn.mmdb', reason: 'the server answered 503' }]
  await endAskedUpdate(dir, (await readAskedUpdate(dir))!, { ...end, failures })
  const failed = (await updates.read([]))!
  assert.deepEqual([failed.state, failed.failures], ['failed', failures])
  assert.equal((await ask()).state, 'fetching')
  assert.deepEqual(await sources(), [iptoasn])
})

test('data sets kept elsewhere or not writable are not fetched, and the reason is shown', async (t) => {
  const away = await systemCalls(t, [hostname(), 'other-machine'])
  const operator = await away.dashboard.signIn()
  const refusal = async () => {
    const response = await operator.post(away.path)
    return [response.status, ((await response.json()) as { detail: string }).detail]
  }
  const [status, reason] = await refusal()
  assert.equal(status, 409)
  assert.match(String(reason), /^processes run on other machines too \(other-machine\), .*: run this on each machine$/)
  const seen = await away.updates.read([hostname(), 'other-machine'])
  assert.deepEqual([seen?.blocked, seen?.command], [reason, './ipid db add iptoasn && ./ipid db update'])
  assert.deepEqual(await away.sources(), [])

  const full = await systemCalls(t)
  await writeFile(dirname(full.dir), 'a file where the folder belongs')
  await assert.rejects(full.updates.ask(), { message: /^nothing can be written into / })
  const damaged = await systemCalls(t)
  await mkdir(damaged.dir, { recursive: true })
  await writeFile(join(damaged.dir, 'sources.json'), '[{"url"')
  await assert.rejects(damaged.updates.ask(), { message: /sources\.json: not JSON/ })
  assert.equal(await readFile(join(damaged.dir, 'sources.json'), 'utf8'), '[{"url"')
})

test('request bodies are checked against their schema', async (t) => {
  const client = await (await startDashboard(t, redis, ROUTES)).signIn()
  for (const query of ['limit=11', 'limit=x', 'limit=1&limit=2', 'other=1', '__proto__=1', 'constructor=1']) {
    assert.equal((await client.get(`/api/tenants/acme/thing/1?${query}`)).status, 422, query)
  }
  for (const body of [{}, { name: 'abcdef' }, { name: 'a', more: 1 }]) {
    assert.equal((await client.post('/api/tenants/acme/change', body)).status, 422)
  }
  assert.equal((await client.post('/api/tenants/acme/change', { name: 'x'.repeat(2 ** 20) })).status, 413)
  assert.equal((await client.get('/api/nothing/at/all')).status, 404)
})

test('a foreign host name that resolves to this server is refused', async (t) => {
  const dashboard = await startDashboard(t, redis, ROUTES)
  const port = Number(new URL(dashboard.url).port)
  const status = async (host: string) => (await sendRaw(port, '/', { host })).status
  assert.equal(await status('evil.example'), 403)
  assert.equal(await status(`127.0.0.1:${port}`), 200)
  const hosts = [
    'localhost',
    '10.0.0.7:8081',
    '[fe80::1]:8081',
    'ipid.example',
    'evil.example',
    '10.0.0.7.evil.example',
    '',
  ]
  const ours = hosts.filter((host) => isOurHost(host, 'https://ipid.example/'))
  assert.deepEqual(ours, ['localhost', '10.0.0.7:8081', '[fe80::1]:8081', 'ipid.example'])
})

test('pages and their files have security headers, are small, and are compressed', async (t) => {
  const dashboard = await startDashboard(t, redis, ROUTES)
  const page = await fetch(`${dashboard.url}/t/acme/companies`)
  const html = await page.text()
  const policy = page.headers.get('content-security-policy')!
  assert.match(policy, /default-src 'none'; script-src 'self';.*frame-ancestors 'none'/)
  assert.ok(!/unsafe|https?:/.test(policy) && !/<script(?![^>]*src=)|https?:\/\/(?!www\.w3\.org)/.test(html))
  let bytes = html.length
  for (const [, path] of html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)) {
    const file = await fetch(dashboard.url + path, { headers: { 'accept-encoding': 'br' } })
    assert.equal(file.headers.get('content-encoding'), 'br')
    assert.match(file.headers.get('cache-control')!, /immutable/)
    bytes += Number(file.headers.get('content-length'))
  }
  assert.ok(bytes > 20_000 && bytes < 220_000, `${bytes} bytes`)
  assert.equal((await fetch(`${dashboard.url}/assets/none.js`)).status, 404)
})
