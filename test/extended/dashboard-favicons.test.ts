import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { Resolver } from 'node:dns/promises'
import type { ClientRequest } from 'node:http'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { Registry } from 'prom-client'
import { ingest } from '../../pipelines/ingest.ts'
import type { SessionAnswer } from '../../schemas/dashboard/session.ts'
import { createRoles } from '../../src/app.ts'
import { readConfig } from '../../src/config/config.ts'
import { Favicons } from '../../src/dashboard/favicons/favicons.ts'
import { IconCache } from '../../src/dashboard/favicons/icon-cache.ts'
import { RedisSessionStore } from '../../src/dashboard/redis/sessions.ts'
import { Sessions } from '../../src/dashboard/server/sessions.ts'
import { settingsOf } from '../../src/pipeline/declaration/pipeline.ts'
import { systemClock } from '../../src/run/clock.ts'
import { RedisTenantStore } from '../../src/tenants/redis/tenant-store.ts'
import { clock, event, ODD, startCompanies } from '../support/companies.ts'
import { DashboardClient, followLink } from '../support/dashboard.ts'
import { temporaryFolder } from '../support/enrichment-data.ts'
import { PNG } from '../support/icons.ts'
import { silent } from '../support/pipeline.ts'
import { takePort } from '../support/ports.ts'
import { Sites } from '../support/sites.ts'

/* Favicons as calls of the dashboard. */

const sites = await Sites.start({ after } as never)
const dir = join(await temporaryFolder({ after } as never), 'favicons')
const favicons = new Favicons({
  ...{ cache: new IconCache({ dir, clock, log: silent }), userAgent: 'ipid/1', log: silent },
  ...{ destinations: sites.destinations, siteOf: sites.siteOf },
})
const { clickhouse, redis, redisUrl, dashboard, member, operator, insert } = await startCompanies(favicons)
sites.answers.set('anvil.example/favicon.ico', (_request, response) => {
  const theirs = { 'cache-control': 'public, max-age=31536000', 'set-cookie': 'a=b', 'content-security-policy': '*' }
  response.writeHead(200, { 'content-type': 'text/html', ...theirs }).end(PNG)
})
const pathOf = (company: string, tenant = 'acme') =>
  `/api/tenants/${tenant}/companies/of/${encodeURIComponent(company)}/icon`

test('a member gets the icon of a company, with none of the headers of its site', async () => {
  assert.equal((await member.read<SessionAnswer>('/api/session')).favicons, true)
  const response = await member.get(pathOf('anvil.example'))
  const headers = Object.fromEntries(response.headers)
  assert.deepEqual(
    [response.status, headers['content-type'], headers['cache-control'], headers['x-content-type-options']],
    [200, 'image/png', 'private, max-age=86400', 'nosniff'],
  )
  assert.equal(headers['content-security-policy'], "default-src 'none'; sandbox; frame-ancestors 'none'")
  assert.equal(headers['cross-origin-resource-policy'], 'same-origin')
  assert.equal(headers['set-cookie'], undefined)
  assert.deepEqual(Buffer.from(await response.arrayBuffer()), PNG)
  const none = await member.get(pathOf('bolt.example'))
  assert.deepEqual([none.status, none.headers.get('cache-control')], [204, 'private, max-age=3600'])
})

test('only for companies of the tenant, and only for signed-in users', async () => {
  sites.asked.length = 0
  for (const [client, path, status] of [
    [member, pathOf('secret.example'), 404],
    [member, pathOf('any.example'), 404],
    [member, pathOf('secret.example', 'other'), 404],
    [new DashboardClient(dashboard.url, ''), pathOf('anvil.example'), 401],
    [member, pathOf(ODD), 204],
  ] as const) {
    const response = await client.get(path)
    const caching = status === 204 ? 'private, max-age=3600' : 'no-store'
    assert.deepEqual([response.status, response.headers.get('cache-control')], [status, caching], path)
  }
  assert.deepEqual(sites.asked, [])
  assert.equal((await operator.get(pathOf('secret.example', 'other'))).status, 204)
  assert.deepEqual(sites.asked, ['secret.example/favicon.ico', 'secret.example/'])
})

test('the domain is that of the company, not its id', async () => {
  await insert([event('Plain Name', { tenant_id: 'quiet', domain: 'anvil.example' })])
  assert.equal((await operator.get(pathOf('Plain Name', 'quiet'))).status, 200)
})

/** The dashboard as a process has it. Returns the names that it looked up, and the hosts that it asked. */
async function askedBy(t: TestContext, settings: Readonly<Record<string, string>>) {
  const names: string[] = []
  for (const method of ['resolve4', 'resolve6'] as const) {
    t.mock.method(Resolver.prototype, method, async (name: string) => {
      names.push(name)
      throw Object.assign(new Error('no network'), { code: 'ENOTFOUND' })
    })
  }
  const note = (message: unknown) => {
    const { host } = (message as { request: ClientRequest }).request
    if (host !== new URL(clickhouse.url).hostname) names.push(host)
  }
  subscribe('http.client.request.start', note)
  t.after(() => unsubscribe('http.client.request.start', note))
  const place = { DATA_DIR: await temporaryFolder(t), DASHBOARD_PORT: String(takePort()), DEFAULT_DATA: 'off' }
  const config = {
    ...readConfig({ ...place, ...settings, LOG_LEVEL: 'silent' }, {}, undefined, { settings: settingsOf(ingest) }),
    ...{ redisUrl, clickhouseUrl: clickhouse.url },
  }
  const app = await createRoles(config, ['dashboard'], { log: silent, metrics: new Registry(), clock: systemClock })
  t.after(() => app.stop())
  const { url } = await app.start()
  const sessions = new Sessions(new RedisSessionStore(redis, systemClock), systemClock)
  const client = await followLink(`${url}/sign-in?token=${await sessions.createLink({ role: 'operator' }, 60_000)}`)
  const { favicons: isOn } = await client.read<SessionAnswer>('/api/session')
  for (const path of ['home', 'companies', 'companies/of/anvil.example']) await client.read(`/api/tenants/acme/${path}`)
  const { status } = await client.get(pathOf('anvil.example'))
  return { isOn, status, names }
}

test('DASHBOARD_FAVICONS=off looks no company up: there is no such call, and no page has icons', async (t) => {
  assert.deepEqual(await askedBy(t, { DASHBOARD_FAVICONS: 'off' }), { isOn: false, status: 404, names: [] })
})

test('by default the site of the company that is shown is looked up, and no other', async (t) => {
  assert.deepEqual(await askedBy(t, { WEBHOOK_PRIVATE: 'on' }), {
    ...{ isOn: true, status: 204, names: ['anvil.example', 'anvil.example'] },
  })
})

test('for a company of sample data nobody is asked', async () => {
  await new RedisTenantStore(redis).createTenant({
    ...{ id: 'sample-data', plan: 'starter', archive: false, addresses: 'full', createdAt: new Date(0).toISOString() },
    sampleUntil: '2026-07-01',
  })
  await insert([event('anvil.example', { tenant_id: 'sample-data', domain: 'anvil.example' })])
  sites.asked.length = 0
  assert.equal((await operator.get(pathOf('anvil.example', 'sample-data'))).status, 204)
  assert.deepEqual(sites.asked, [])
})
