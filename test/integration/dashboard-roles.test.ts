import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { DASHBOARD_ROLES, type DashboardRole, TENANT_ROLES } from '../../schemas/dashboard/roles.ts'
import type { SessionAnswer } from '../../schemas/dashboard/session.ts'
import { SAMPLE_TENANT } from '../../schemas/tenant.ts'
import { RedisSessionStore } from '../../src/dashboard/redis/sessions.ts'
import { type DashboardRoute, json } from '../../src/dashboard/server/route.ts'
import { sessionRoute } from '../../src/dashboard/server/routes/session.ts'
import { dashboardRoutes } from '../../src/dashboard/server/routes.ts'
import type { Grant } from '../../src/dashboard/server/sessions.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { startDashboard } from '../support/dashboard.ts'
import { member as anyAdmin, redis, tenant, tenants } from '../support/dashboard-access.ts'

/*
 * Every call of the dashboard, as each role. The calls are those of the program; what they would do is replaced, because only the
 * decision to do it is asked for.
 */

/** Anything that a route may look at when it is made. */
const NOTHING: Record<string, unknown> = new Proxy(
  {},
  { get: (_, name) => (name === 'sources' ? [] : name === 'canEmail' ? false : NOTHING) },
)
const ROUTES = dashboardRoutes(NOTHING as unknown as Parameters<typeof dashboardRoutes>[0])

/** A client reads its CSRF token there. */
const SESSION = sessionRoute({ tenants, version: '1', apiUrl: null })

/** Calls for admins: people, keys, sources, and what cannot be taken back. */
const OF_ADMINS = [
  ...['people', 'people/made', 'keys', 'keys/:prefix', 'first-steps'].map((path) => `GET ${path}`),
  ...['invite', 'link', 'role', 'end', 'sign-out', 'remove'].map((path) => `POST people/${path}`),
  ...['keys', 'keys/revoke', 'sources', 'sources/set', 'sources/revoke', 'rules/delete-hidden', 'sample'].map(
    (path) => `POST ${path}`,
  ),
  ...['connect', 'close'].map((path) => `POST first-steps/${path}`),
  ...['GET crm', 'POST time-zone'],
  ...['connect', 'sync', 'disconnect'].map((path) => `POST crm/${path}`),
  ...['heat-weights', 'fit'].flatMap((path) => [`POST ${path}`, `POST ${path}/preview`]),
]
/** They change nothing, but cost something. */
const OF_MEMBERS = ['POST lookup']
/** Calls of a tenant for operators. */
const OF_OPERATORS = ['POST plan', 'POST sign-out']
const OF_TENANT = '/api/tenants/:tenant/'

/** The least role for a call, as the text of this test says it. */
function neededFor({ method, path, changes }: DashboardRoute): DashboardRole {
  if (path === '/api/session') return 'viewer'
  if (!path.startsWith(OF_TENANT)) return 'operator'
  const call = `${method} ${path.slice(OF_TENANT.length)}`
  if (OF_OPERATORS.includes(call)) return 'operator'
  if (OF_ADMINS.includes(call)) return 'admin'
  return changes || OF_MEMBERS.includes(call) ? 'member' : 'viewer'
}

/** A path that the call matches. */
const pathOf = (path: string, of: string) => path.replace(':tenant', of).replace(/:\w+/g, 'x')

/** Makes every call as one role. */
async function walk(t: TestContext) {
  const reached: DashboardRoute[] = ROUTES.filter(({ path }) => path !== SESSION.path).map((route) => ({
    ...route,
    ...{ query: undefined, body: undefined, streamedMaxBytes: undefined, contentSecurityPolicy: undefined },
    handle: () => json('reached'),
  }))
  const dashboard = await startDashboard(t, redis, [SESSION, ...reached])
  return async (grant: Grant, of: string) => {
    const signed = await dashboard.signIn(grant)
    const found: string[] = []
    for (const { method, path } of ROUTES) {
      const response = method === 'GET' ? await signed.get(pathOf(path, of)) : await signed.post(pathOf(path, of))
      const text = await response.text()
      found.push(`${method} ${path} ${response.status === 200 ? 'may' : response.status}`)
      if (response.status === 403) assert.match(text, /admins|operators|not change it|sample data/)
    }
    return found
  }
}

test('each role makes exactly the calls that are listed for it, of all calls', async (t) => {
  const asked = await walk(t)
  assert.ok(ROUTES.length > 60)
  for (const role of DASHBOARD_ROLES) {
    const grant = role === 'operator' ? { role } : { ...anyAdmin, role }
    const wanted = ROUTES.map((route) => {
      const isAllowed = DASHBOARD_ROLES.indexOf(role) >= DASHBOARD_ROLES.indexOf(neededFor(route))
      return `${route.method} ${route.path} ${isAllowed ? 'may' : 403}`
    })
    assert.deepEqual(await asked(grant, 'acme'), wanted, role)
  }
})

test('sample data are read by people whose workspace shows them, and every change is refused', async (t) => {
  await tenants.createTenant({ ...tenant(SAMPLE_TENANT), sampleUntil: '2026-01-01' })
  t.after(() => redis.hdel(keys.tenants(), SAMPLE_TENANT))
  const asked = await walk(t)
  const ofSample = (route: DashboardRoute) => route.path.startsWith(OF_TENANT)
  const results = async (grant: Grant) => (await asked(grant, SAMPLE_TENANT)).filter((_, i) => ofSample(ROUTES[i]!))
  const wanted = ROUTES.filter(ofSample).map(
    (route) => `${route.method} ${route.path} ${neededFor(route) === 'viewer' ? 'may' : 403}`,
  )
  const hidden = await results(anyAdmin)
  assert.ok(
    hidden.every((line) => /(?:404|403)$/.test(line)),
    'a workspace that does not show them does not see them',
  )
  await tenants.changeTenant('acme', { shows_sample: true })
  t.after(() => tenants.changeTenant('acme', { shows_sample: false }))
  for (const grant of [anyAdmin, { role: 'operator' } as const]) {
    assert.deepEqual(await results(grant), wanted, grant.role)
  }
})

test('people of earlier versions may do what they could: they are admins', async () => {
  const store = new RedisSessionStore(redis)
  const digest = 'a'.repeat(64)
  await redis.set(keys.signInLink(digest), JSON.stringify({ role: 'member', tenant: anyAdmin.tenant }), 'PX', 60_000)
  assert.equal((await store.getLink(digest))?.role, 'admin')
  await redis.set(keys.signInLink(digest), JSON.stringify({ role: 'operator' }), 'PX', 60_000)
  assert.equal((await store.getLink(digest))?.role, 'operator')
  // An earlier version that reads a new record sees a role that it knows.
  for (const role of TENANT_ROLES) {
    await store.putLink(digest, { ...anyAdmin, role }, 60_000)
    assert.equal(JSON.parse((await redis.get(keys.signInLink(digest)))!).role, 'member')
    assert.equal((await store.getLink(digest))?.role, role)
  }
  await store.removeLink(digest)
})

test('a session says its role and whether it may see sample data', async (t) => {
  const dashboard = await startDashboard(t, redis, [SESSION])
  for (const role of TENANT_ROLES) {
    const client = await dashboard.signIn({ ...anyAdmin, role })
    const answer = await client.read<SessionAnswer>('/api/session')
    assert.deepEqual([answer.role, answer.tenants, answer.sample], [role, ['acme'], null])
  }
})
