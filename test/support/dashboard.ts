import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { Registry } from 'prom-client'
import type { SessionAnswer } from '../../schemas/dashboard/session.ts'
import { AlertAdmin } from '../../src/alerts/admin.ts'
import { RedisAddresses } from '../../src/alerts/redis/address-store.ts'
import { RedisAlerts } from '../../src/alerts/redis/alert-store.ts'
import { RedisDeliveries } from '../../src/alerts/redis/delivery-store.ts'
import { RedisTestLimits } from '../../src/alerts/redis/test-limits.ts'
import { Destinations } from '../../src/alerts/sending/destinations.ts'
import { Segments } from '../../src/companies/segments/segments.ts'
import type { CrmAdmin } from '../../src/crm/admin.ts'
import type { Oidc } from '../../src/dashboard/oidc/oidc-signing.ts'
import { RedisPersonStore } from '../../src/dashboard/redis/people.ts'
import { RedisSessionStore } from '../../src/dashboard/redis/sessions.ts'
import { People } from '../../src/dashboard/server/people.ts'
import type { DashboardRoute } from '../../src/dashboard/server/route.ts'
import { createDashboard } from '../../src/dashboard/server/server.ts'
import { type Grant, type Session, Sessions } from '../../src/dashboard/server/sessions.ts'
import type { SignInMails } from '../../src/dashboard/server/sign-in-mails.ts'
import type { SharedPages } from '../../src/dashboard/shared-links/shared-page.ts'
import { type Clock, systemClock } from '../../src/run/clock.ts'
import type { RedisClient } from '../../src/stores/redis/connect.ts'
import { RedisTenantStore } from '../../src/tenants/redis/tenant-store.ts'
import { testSecrets } from './alerts.ts'
import { testedEngine } from './engines.ts'
import { silent } from './pipeline.ts'
import { takePort } from './ports.ts'

/** A browser without pages: it keeps its cookie and its CSRF token. */
export class DashboardClient {
  readonly #url: string
  readonly cookie: string
  readonly csrfToken: string

  constructor(url: string, cookie: string, csrfToken = '') {
    this.#url = url
    this.cookie = cookie
    this.csrfToken = csrfToken
  }

  get(path: string): Promise<Response> {
    return fetch(this.#url + path, { headers: { cookie: this.cookie } })
  }

  post(path: string, body: unknown = {}, headers: Record<string, string> = {}): Promise<Response> {
    const all = { cookie: this.cookie, 'x-csrf-token': this.csrfToken, ...headers }
    return fetch(this.#url + path, { method: 'POST', headers: all, body: JSON.stringify(body) })
  }

  /** The body of the answer, whose status must be 200. */
  async read<T>(path: string): Promise<T> {
    const response = await this.get(path)
    const text = await response.text()
    assert.equal(response.status, 200, text)
    return JSON.parse(text) as T
  }
}

/** Opens a sign-in link, and confirms it if a page asks. */
export async function followLink(link: string): Promise<DashboardClient> {
  const { origin: url, searchParams } = new URL(link)
  const opened = await fetch(link, { redirect: 'manual' })
  const form = { method: 'POST', headers: { origin: url }, body: searchParams.toString(), redirect: 'manual' } as const
  const response = opened.status === 200 ? await fetch(`${url}/sign-in`, form) : opened
  assert.equal(response.status, 303)
  const cookie = response.headers.get('set-cookie')!.split(';')[0]!
  const { csrf_token: token } = await new DashboardClient(url, cookie).read<SessionAnswer>('/api/session')
  return new DashboardClient(url, cookie, token)
}

/** The fields of the form on a page of the dashboard's server. */
export function formOf(html: string): Record<string, string> {
  return Object.fromEntries([...html.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [name, value]))
}

/** Alerts as the dashboard manages them, with secrets of the tests. */
export function testAlertAdmin(redis: RedisClient, clock: Clock, allowsPrivate = true): AlertAdmin {
  return new AlertAdmin({
    ...{ alerts: new RedisAlerts(redis), deliveries: new RedisDeliveries(redis), segments: new Segments(redis, clock) },
    ...{ secrets: testSecrets, clock, destinations: new Destinations({ allowsPrivate }) },
    addresses: new RedisAddresses(redis, testSecrets),
    limits: new RedisTestLimits(redis),
    dashboardUrl: 'http://dash.example',
  })
}

export interface TestDashboard {
  readonly url: string
  readonly sessions: Sessions
  /** A link that was not opened yet. */
  link(grant?: Grant): Promise<string>
  signIn(grant?: Grant): Promise<DashboardClient>
}

interface DashboardSetting {
  readonly publicUrl?: string
  readonly onSignedOut?: (session: Session) => void
  readonly persisted?: () => Promise<void>
  readonly clock?: Clock
  /** Default: no link works. */
  readonly sharedPages?: Pick<SharedPages, 'open'>
  readonly mails?: Pick<SignInMails, 'request'>
  /** Of the dashboard's port: its address is part of it. */
  readonly oidc?: (port: number) => Oidc
}

/** The listener in this process, on a Redis of the test. */
export async function startDashboard(
  t: TestContext,
  redis: RedisClient,
  routes: readonly DashboardRoute[],
  options: DashboardSetting = {},
): Promise<TestDashboard> {
  const tenants = new RedisTenantStore(redis)
  const { clock = systemClock } = options
  const sessions = new Sessions(new RedisSessionStore(redis, clock), clock)
  const people = new People(new RedisPersonStore(redis), sessions, clock)
  const port = takePort()
  const server = await createDashboard({
    host: '127.0.0.1',
    port,
    publicUrl: options.publicUrl,
    onSignedOut: options.onSignedOut,
    engine: testedEngine(),
    sessions,
    people,
    routes,
    mails: options.mails,
    oidc: options.oidc?.(port),
    addresses: new RedisAddresses(redis, testSecrets),
    sharedPages: options.sharedPages ?? { open: async () => ({ status: 404, body: '' }) },
    digests: testAlertAdmin(redis, clock),
    findTenant: (id) => tenants.getTenant(id),
    persisted: options.persisted ?? (async () => {}),
    clock,
    log: silent,
    metrics: new Registry(),
  })
  await server.start()
  t.after(() => server.stop())
  const link = async (grant: Grant = { role: 'operator' }) =>
    `${server.url}/sign-in?token=${await sessions.createLink(grant, 60_000)}`
  return { url: server.url, sessions, link, signIn: async (grant) => followLink(await link(grant)) }
}

/** The CRM of tenants that have connected none. */
export const noCrm = { crm: { list: async () => [] } } as unknown as CrmAdmin
