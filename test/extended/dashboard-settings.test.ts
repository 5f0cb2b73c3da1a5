import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { ingest } from '../../pipelines/ingest.ts'
import type { CreatedKeyAnswer, KeysAnswer, ListedKey } from '../../schemas/dashboard/keys.ts'
import type { PageLookupAnswer } from '../../schemas/dashboard/lookup.ts'
import type { InviteAnswer } from '../../schemas/dashboard/people.ts'
import type { AccountsOfMonthAnswer, PlanAnswer } from '../../schemas/dashboard/plan.ts'
import type { Reenrichment, ReenrichmentsAnswer } from '../../schemas/dashboard/reenrichments.ts'
import type { RulesAnswer, RulesTrialAnswer } from '../../schemas/dashboard/rules.ts'
import type { SessionAnswer } from '../../schemas/dashboard/session.ts'
import type { CreatedSourceAnswer, ListedSource, SourceSetup, SourcesAnswer } from '../../schemas/dashboard/sources.ts'
import type { ListedTenant, SignedOutAnswer, TenantsAnswer } from '../../schemas/dashboard/tenants.ts'
import { DEFAULT_PLANS } from '../../schemas/plans.ts'
import type { TenantRules } from '../../schemas/tenant-rules.ts'
import { RedisAlerts } from '../../src/alerts/redis/alert-store.ts'
import { RedisPersonStore } from '../../src/dashboard/redis/people.ts'
import { RedisSessionStore } from '../../src/dashboard/redis/sessions.ts'
import { People } from '../../src/dashboard/server/people.ts'
import { addressesIn } from '../../src/dashboard/server/routes/lookup.ts'
import { sessionRoute } from '../../src/dashboard/server/routes/session.ts'
import { settingsRoutes } from '../../src/dashboard/server/routes.ts'
import { Sessions } from '../../src/dashboard/server/sessions.ts'
import { judgedLookup, ruleSetOf } from '../../src/enrichment/judge.ts'
import { parseRule } from '../../src/enrichment/tenant-rules/rule.ts'
import { ReenrichJobs } from '../../src/operations/reenrich/jobs/job-store.ts'
import { pullStatuses } from '../../src/pipeline/sources/pulls/statuses.ts'
import { systemClock } from '../../src/run/clock.ts'
import { UnavailableError } from '../../src/run/errors.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { TenantAdmin } from '../../src/tenants/admin.ts'
import { hashKey } from '../../src/tenants/key.ts'
import { DAILY_LOOKUPS, SharedLimit } from '../../src/tenants/limits/limits.ts'
import { RedisTokenCounters } from '../../src/tenants/limits/redis/token-counters.ts'
import { RedisTenantStore } from '../../src/tenants/redis/tenant-store.ts'
import { NO_COUNTS, NO_EVENTS, type SourceCounts } from '../../src/tenants/sources/health.ts'
import { type DashboardClient, followLink, startDashboard } from '../support/dashboard.ts'
import { ACME, lookupOf, TestLookups } from '../support/lookups.ts'
import { startTestRedis } from '../support/redis.ts'

after(() => redis.disconnect())
const redis = connectRedis((await startTestRedis()).url, { name: 'test', kind: 'loop' })
const store = new RedisTenantStore(redis)
const plans = new Map(Object.entries({ ...DEFAULT_PLANS, tiny: { ...DEFAULT_PLANS.starter!, daily_lookups: 3 } }))
const admin = new TenantAdmin({ store, plans, clock: systemClock })
const quota = new SharedLimit(DAILY_LOOKUPS, new RedisTokenCounters(redis), systemClock)
const usedBy = async (id: string) =>
  (await quota.read({ tenant: (await store.getTenant(id))!, plan: plans.get('tiny')! })).used
for (const id of ['acme', 'other']) await admin.createTenant(id)

const ORGANISATION = { ...lookupOf('', ACME), companyId: 'acme', rule: 'words:inc', answered: ['companies'] }
const lookups = new TestLookups(({ text }) => ({
  ...ORGANISATION,
  address: text,
  provenance: { business_name: { provider: 'companies', network: '198.51.100.0/24' } },
}))
const tried: TenantRules[] = []
const NO_COMPANIES = { changed: { companies: 0, gone_companies: 0, events: 0, visits: 0 }, companies: [] }
const TRIAL = {
  since: '2026-11-20',
  stored: 5,
  newly_filtered: {},
  newly_held: {},
  filtered: 0,
  newly_kept: {},
  unknown: 0,
}
/** ClickHouse's answer about sources: counts by id, or nothing while it is down. */
let sourceCounts: ReadonlyMap<string, SourceCounts> | undefined = new Map()
const sessions = new Sessions(new RedisSessionStore(redis), systemClock)
const SETTINGS = settingsRoutes({
  admin,
  plans,
  clock: systemClock,
  sessions,
  people: new People(new RedisPersonStore(redis), sessions, systemClock),
  alerts: new RedisAlerts(redis),
  sharedLinks: { list: async () => [] },
  publicUrl: undefined,
  quota,
  lookupCounts: quota,
  overview: { tracked: async (_id, month, limit) => ({ tracked_accounts: limit + month.length, passed_at: null }) },
  sources: ingest.sources.map(({ from }) => from),
  counts: {
    async counts() {
      if (sourceCounts === undefined) throw new UnavailableError('ClickHouse does not answer')
      return sourceCounts
    },
  },
  apiUrl: 'http://127.0.0.1:8080',
  publicApiUrl: undefined,
  mails: undefined,
  endMails: async () => {},
  fetches: (found) => pullStatuses(redis, ingest, found),
  readRule: parseRule,
  trials: {
    async run(_tenant, { after }) {
      tried.push(after)
      return { ...TRIAL, ...NO_COMPANIES, shown: 0, without_address: 0 }
    },
    hidden: async () => ({}),
  },
  reenrichments: Object.assign(new ReenrichJobs(redis), { isSupported: true, assertSupported: async () => {} }),
  lookups,
  asked: () => ['companies'],
  judge: (lookup, address, tenant) => judgedLookup(lookup, address, ruleSetOf(tenant)),
  attributionOf: (provider) => (provider === 'companies' ? 'Companies Ltd; CC BY 4.0' : undefined),
})

const dashboard = await startDashboard({ after } as unknown as TestContext, redis, [
  sessionRoute({ tenants: store, version: '1.2.3', apiUrl: null }),
  ...SETTINGS,
])

const memberOf = async (id: string) => {
  const { createdAt } = await admin.getTenant(id)
  return { role: 'admin', tenant: { id, createdAt } } as const
}

async function post<T>(client: DashboardClient, path: string, body?: unknown): Promise<T> {
  const response = await client.post(path, body)
  const text = await response.text()
  assert.equal(response.status, 200, text)
  return JSON.parse(text) as T
}

/** The text of a call's refusal. */
async function refusal(client: DashboardClient, path: string, body: unknown, status = 422): Promise<string> {
  const response = await client.post(path, body)
  assert.equal(response.status, status)
  return ((await response.json()) as { detail: string }).detail
}

test('no call answers for another tenant, or without a session', async () => {
  const member = await dashboard.signIn(await memberOf('acme'))
  const { key } = await admin.createKey('other')
  const { id: source_id } = await admin.createSource('other', { kind: 'segment', address: 'auto' })
  const bodies: Record<string, unknown> = {
    '/api/tenants': { name: 'stolen', plan: 'custom' },
    '/api/tenants/:tenant/plan': { plan: 'custom' },
    '/api/tenants/:tenant/time-zone': { time_zone: 'Europe/Berlin' },
    '/api/tenants/:tenant/people/invite': { days: 1 },
    '/api/tenants/:tenant/people/link': { person: '0'.repeat(16), days: 1 },
    '/api/tenants/:tenant/people/end': { id: '0'.repeat(16) },
    '/api/tenants/:tenant/people/sign-out': { person: '0'.repeat(16) },
    '/api/tenants/:tenant/people/remove': { person: '0'.repeat(16) },
    '/api/tenants/:tenant/keys/revoke': { prefix: key.slice(0, 12) },
    '/api/tenants/:tenant/sources': { kind: 'web', base: 'https://ipid.example' },
    '/api/tenants/:tenant/sources/set': { source_id, name: 'stolen' },
    '/api/tenants/:tenant/sources/revoke': { source_id },
    '/api/tenants/:tenant/rules': { unclassified: 'filtered' },
    '/api/tenants/:tenant/rules/try': { unclassified: 'filtered' },
    '/api/tenants/:tenant/rules/delete-hidden': { rule: 'own 203.0.113.0/24' },
    '/api/tenants/:tenant/reenrichments': { rules: ['own 203.0.113.0/24'], past: { days: 90 } },
    '/api/tenants/:tenant/reenrichments/cancel': { job_id: 'x' },
    '/api/tenants/:tenant/lookup': { text: '203.0.113.7' },
  }
  const all = async () =>
    JSON.stringify([await admin.listTenants(), await admin.listKeys('other'), await admin.listSources('other')])
  const before = await all()
  for (const { method, path, access } of SETTINGS) {
    const at = path.replace(':tenant', 'other').replace(':prefix', key.slice(0, 12))
    const call = (client: DashboardClient) => (method === 'GET' ? client.get(at) : client.post(at, bodies[path]))
    assert.equal((await call(member)).status, access === 'operator' ? 403 : 404, `${method} ${path}`)
    const nobody = await fetch(dashboard.url + at, { method, ...(method === 'POST' && { body: '{}' }) })
    assert.equal(nobody.status, 401, `${method} ${path}`)
    if (access !== 'operator') continue
    const own = path.replace(':tenant', 'acme')
    assert.equal((method === 'GET' ? await member.get(own) : await member.post(own, bodies[path])).status, 403)
  }
  assert.equal(await all(), before)
  assert.equal(await usedBy('other'), 0)
})

test("a member manages the keys of one tenant, and no prefix reaches another tenant's keys", async () => {
  const client = await dashboard.signIn(await memberOf('acme'))
  const made = await post<CreatedKeyAnswer>(client, '/api/tenants/acme/keys')
  assert.match(made.key, /^ipid_[0-9a-f]{64}$/)
  const list = async () => (await client.read<KeysAnswer>('/api/tenants/acme/keys')).keys
  assert.deepEqual(await list(), [
    {
      ...{ prefix: made.prefix, test: false, created_at: made.created_at, made_by: 'admin' },
      ...{ last_used: null, revoked_at: null },
    },
  ])
  const forTests = await post<CreatedKeyAnswer>(client, '/api/tenants/acme/keys', { test: true })
  assert.match(forTests.key, /^ipid_test_[0-9a-f]{64}$/)
  assert.deepEqual(
    (await list()).map(({ prefix, test }) => [prefix, test]),
    [
      [forTests.prefix, true],
      [made.prefix, false],
    ],
  )
  await post(client, '/api/tenants/acme/keys/revoke', { prefix: forTests.prefix })
  const one = `/api/tenants/acme/keys/${made.key.slice(0, 12)}`
  assert.equal((await client.read<ListedKey>(one)).last_used, null)
  await store.recordUses(new Map([[hashKey(made.key), Date.UTC(2026, 10, 21)]]))
  assert.equal((await client.read<ListedKey>(one)).last_used, '2026-11-21T00:00:00.000Z')
  assert.equal((await list())[1]!.last_used, '2026-11-21T00:00:00.000Z')

  const foreign = await admin.createKey('other')
  const prefix = foreign.key.slice(0, 12)
  const unknown = `no key has the prefix ${prefix}`
  assert.equal(await refusal(client, '/api/tenants/acme/keys/revoke', { prefix }), unknown)
  const operator = await dashboard.signIn()
  assert.equal(await refusal(operator, '/api/tenants/acme/keys/revoke', { prefix: foreign.prefix }), unknown)
  const seen = await client.get(`/api/tenants/acme/keys/${prefix}`)
  assert.deepEqual([seen.status, ((await seen.json()) as { detail: string }).detail], [422, unknown])
  assert.ok(await store.findHolder(foreign.key), 'the key of the other tenant is in force')
  assert.match(await refusal(client, '/api/tenants/acme/keys/revoke', { prefix: 'ipid_' }), /7 hexadecimal/)

  const revoked = await post<ListedKey>(client, '/api/tenants/acme/keys/revoke', { prefix: made.prefix })
  assert.ok(revoked.revoked_at)
  assert.deepEqual(await post(client, '/api/tenants/acme/keys/revoke', { prefix: made.prefix }), revoked)
  assert.equal(await store.findHolder(made.key), undefined)
})

test('a member makes, changes and revokes sources of one tenant, and sees their health', async () => {
  const client = await dashboard.signIn(await memberOf('acme'))
  const path = '/api/tenants/acme/sources'
  const list = () => client.read<SourcesAnswer>(path)
  const { sources, kinds } = await list()
  assert.deepEqual(
    [sources, kinds[0]],
    [[], { kind: 'web', title: 'Script tag', group: 'website', options: '', presets: [], fields: [] }],
  )

  const made = await post<CreatedSourceAnswer>(client, path, {
    kind: 'segment',
    name: 'Shop',
    base: 'https://t.example/',
  })
  assert.match(made.key, /^src_[0-9a-f]{40}$/)
  assert.match(made.browser_key!, /^pub_[0-9a-f]{40}$/)
  const [onServer, , inBrowser] = made.setup.blocks
  assert.ok(onServer!.code.includes(`writeKey: '${made.key}', host: 'https://t.example'`), onServer!.code)
  assert.ok(inBrowser!.code.includes(`writeKey: '${made.browser_key}', cdnURL: 'https://t.example/s/segment'`))
  assert.equal(made.setup.warning, null)
  const again = await client.read<SourceSetup>(`${path}/setup?source=${made.source_id}`)
  assert.deepEqual(
    { ...again, note: null },
    { ...made.setup, blocks: made.setup.blocks.filter(({ key }) => key === 'browser') },
    'the server key is not known any more',
  )
  assert.match(again.note!, /^The server key is secret, and was shown only when/)
  await post(client, `${path}/set`, { source_id: made.source_id, base: 'http://10.1.2.3:8080' })
  const nearby = await client.read<SourceSetup>(`${path}/setup?source=${made.source_id}`)
  assert.match(nearby.warning!, /^http:\/\/10\.1\.2\.3:8080 can be reached from this machine or network only/)
  assert.equal(made.url, `https://t.example/s/segment/${made.key}`)
  for (const base of ['', 'ipid.example', 'ftp://x', 'https://x.example/path', 'https://u:p@x.example'])
    assert.match(await refusal(client, path, { kind: 'segment', base }), /^base: must be https:\/\/host/)
  assert.match(await refusal(client, path, { kind: 'telnet', base: 'http://x' }), /^kind: "telnet" is unknown/)

  const [waiting] = (await list()).sources
  assert.deepEqual([waiting!.state, waiting!.name, waiting!.today!.received], ['waiting', 'Shop', 0])
  const recent = { ...NO_EVENTS, stored: 1, noIp: 9 }
  sourceCounts = new Map([[made.source_id, { ...NO_COUNTS, today: recent, recent, lastEventMs: 0 }]])
  const [found] = (await list()).sources
  assert.deepEqual([found!.state, found!.today!.received, found!.today!.without_address], ['attention', 10, 9])
  assert.deepEqual(
    found!.findings.map(({ kind, code }) => [kind, code]),
    [['no_address', 'analytics.page({ userId, context: { ip: request.ip } })']],
  )
  assert.equal(found!.last_event, '1970-01-01T00:00:00.000Z')
  sourceCounts = undefined
  const blind = await list()
  assert.deepEqual([blind.problem, blind.sources[0]!.state], ['ClickHouse does not answer', 'unknown'])
  assert.equal((await (await client.get(path)).text()).includes(made.key.slice(11)), false, 'the key is shown once')
  sourceCounts = new Map()

  const pull = { every_ms: 300_000, settings: { url: 's3://bucket/prefix' } }
  const pulled = await admin.createSource('acme', { kind: 's3', address: 'payload', pull })
  const { fetches } = await list()
  assert.deepEqual(
    fetches.map(({ source_id, status, place }) => [source_id, status, place.includes('s3://bucket')]),
    [[pulled.id, 'new', true]],
  )
  assert.match(await refusal(client, path, { kind: 's3', base: 'http://x' }), /^kind: \.\/ipid source create makes/)

  const changed = await post<ListedSource>(client, `${path}/set`, { source_id: made.source_id, address: 'payload' })
  assert.deepEqual([changed.address, changed.name], ['payload', 'Shop'])
  const { id: foreign } = await admin.createSource('other', { kind: 'segment', address: 'auto' })
  for (const [call, body] of [
    ['set', { source_id: foreign, name: 'stolen' }],
    ['revoke', { source_id: foreign }],
  ] as const)
    assert.equal(await refusal(client, `${path}/${call}`, body), `no source has the id ${foreign}`)
  assert.match(await refusal(client, `${path}/revoke`, { source_id: 'ipid_1234567' }), /src_ and 7 hexadecimal/)
  assert.equal((await admin.listSources('other')).at(-1)!.revokedAt, undefined)

  assert.equal((await post<ListedSource>(client, `${path}/revoke`, { source_id: made.source_id })).state, 'revoked')
  assert.equal(await store.findHolder(made.key), undefined)
})

test('a source of any JSON has a preset, a mapping, or events with the field names of ipid', async () => {
  const client = await dashboard.signIn(await memberOf('acme'))
  const path = '/api/tenants/acme/sources'
  const { kinds } = await client.read<SourcesAnswer>(path)
  const { presets, fields } = kinds.find(({ kind }) => kind === 'http')!
  assert.deepEqual(presets[0], { name: 'cloudflare', about: 'Cloudflare Logpush, data set HTTP requests' })
  assert.deepEqual(fields.slice(0, 3), ['ip', 'event_id', 'timestamp'])
  const of = { kind: 'http', base: 'https://t.example' }
  const factsOf = async ({ source_id: id }: CreatedSourceAnswer) => {
    const { preset, map } = (await admin.getSource(id)).source
    return { preset, map }
  }
  const logs = await post<CreatedSourceAnswer>(client, path, { ...of, preset: 'cloudflare', map: ['ip=Client'] })
  assert.match(logs.setup.blocks[0]!.title, /^Logpush > Create a job/)
  assert.deepEqual(await factsOf(logs), { preset: 'cloudflare', map: { ip: 'Client' } })
  const mapped = await post<CreatedSourceAnswer>(client, path, { ...of, map: ['ip=client.ip', 'event_id=rid'] })
  assert.deepEqual(await factsOf(mapped), { preset: undefined, map: { ip: 'client.ip', event_id: 'rid' } })
  const plain = await post<CreatedSourceAnswer>(client, path, of)
  assert.match(plain.setup.blocks[1]!.title, /other names than ip, event_id and timestamp/)
  const refused: readonly (readonly [body: object, reason: RegExp])[] = [
    [{ preset: 'nginx' }, /^preset: there is no "nginx": give one of cloudflare, /],
    [{ map: ['address=ip'] }, /^map: there is no field "address"/],
    [{ map: ['ip'] }, /^map: give a path for ip/],
    [{ kind: 'segment', preset: 'cloudflare' }, /^preset: sources of this kind have none/],
    [{ kind: 'segment', map: ['ip=x'] }, /^map: sources of this kind have none/],
  ]
  for (const [body, reason] of refused) assert.match(await refusal(client, path, { ...of, ...body }), reason)
})

test('a tenant may have any number of keys, listed in pages, newest first', async () => {
  await admin.createTenant('many')
  const client = await dashboard.signIn(await memberOf('many'))
  const stored = Array.from({ length: 1_000 }, (_, i) => i.toString(16).padStart(7, '0'))
  for (const digits of stored) {
    const key = { prefix: `ipid_${digits}`, tenantId: 'many', createdAt: '2026-01-01T00:00:00.000Z' }
    await store.createKey(hashKey(digits), { ...key, revokedAt: undefined, lastUsed: undefined })
  }
  const made = await post<CreatedKeyAnswer>(client, '/api/tenants/many/keys')
  const prefixes: string[] = []
  for (let before: number | null | undefined; before !== null; ) {
    const page = `/api/tenants/many/keys?limit=300${before === undefined ? '' : `&before=${before}`}`
    const { keys, total, next }: KeysAnswer = await client.read<KeysAnswer>(page)
    assert.ok(keys.length <= 300 && total === 1_001)
    prefixes.push(...keys.map(({ prefix }) => prefix.slice(5, 12)))
    before = next
  }
  assert.deepEqual(prefixes, [made.key.slice(5, 12), ...stored.reverse()])
  const all = await admin.listKeys('many')
  assert.deepEqual([all.length, all.at(-1)?.prefix], [1_001, made.prefix])
  assert.equal((await client.get('/api/tenants/many/keys?limit=501')).status, 422)
})

test('plan and limits come with their current use', async () => {
  const client = await dashboard.signIn(await memberOf('other'))
  const plan = await client.read<PlanAnswer>('/api/tenants/other/plan')
  assert.deepEqual([plan.plan, plan.exists, plan.limits], ['starter', true, DEFAULT_PLANS.starter])
  assert.equal(plan.lookups_today, 0)
  assert.ok(Date.parse(plan.resets_at) > Date.now() && plan.resets_at.endsWith('T00:00:00.000Z'))
  const accounts = await client.read<AccountsOfMonthAnswer>('/api/tenants/other/accounts-of-month')
  assert.deepEqual(accounts, { month: new Date().toISOString().slice(0, 7), tracked_accounts: 507, passed_at: null })
  await store.createTenant({ ...(await admin.getTenant('other')), id: 'old', plan: 'gone' })
  const old = await dashboard.signIn()
  const left = await old.read<PlanAnswer>('/api/tenants/old/plan')
  assert.deepEqual([left.plan, left.exists, left.limits], ['gone', false, DEFAULT_PLANS.starter])
})

test('an operator creates tenants, changes plans, and invites members', async () => {
  const client = await dashboard.signIn()
  const made = await post<ListedTenant>(client, '/api/tenants', { name: 'fresh', plan: 'growth' })
  assert.deepEqual([made.id, made.plan, made.deleting], ['fresh', 'growth', false])
  assert.match(await refusal(client, '/api/tenants', { name: 'fresh', plan: 'growth' }), /tenant fresh already exists/)
  assert.match(await refusal(client, '/api/tenants', { name: 'No Slug', plan: 'growth' }), /1 to 64 of a-z/)
  assert.match(
    await refusal(client, '/api/tenants', { name: 'third', plan: 'gold' }),
    /unknown plan "gold": must be one of/,
  )
  const changed = await post<ListedTenant>(client, '/api/tenants/fresh/plan', { plan: 'custom' })
  assert.equal(changed.plan, 'custom')
  assert.match(await refusal(client, '/api/tenants/fresh/plan', { plan: 'gold' }), /unknown plan/)
  assert.equal(await refusal(client, '/api/tenants/nobody/plan', { plan: 'custom' }, 404), 'tenant not found')
  const { tenants, plans: known } = await client.read<TenantsAnswer>('/api/tenants')
  assert.equal(tenants.find(({ id }) => id === 'fresh')?.plan, 'custom')
  assert.deepEqual(known[0], { name: 'starter', limits: DEFAULT_PLANS.starter })

  for (const days of [0, 91, 1.5]) await refusal(client, '/api/tenants/fresh/people/invite', { days })
  const link = await post<InviteAnswer>(client, '/api/tenants/fresh/people/invite', { days: 2 })
  const leftMs = Date.parse(link.expires_at) - Date.now()
  assert.ok(leftMs > 170_000_000 && leftMs <= 172_800_000)
  const member = await followLink(new URL(link.url, dashboard.url).href)
  assert.deepEqual((await member.read<KeysAnswer>('/api/tenants/fresh/keys')).keys, [])
  assert.equal((await member.get('/api/tenants/acme/keys')).status, 404)
  await post(client, '/api/tenants/fresh/people/invite', { days: 1 })
  const ended = await post<SignedOutAnswer>(client, '/api/tenants/fresh/sign-out', {})
  assert.deepEqual(ended, { links: 1, sessions: 1 })
  assert.equal((await member.get('/api/session')).status, 401)
  assert.equal((await client.get('/api/tenants')).status, 200)
})

test('a tenant is made in a time zone, and its admins change it', async () => {
  const operator = await dashboard.signIn()
  await post(operator, '/api/tenants', { name: 'zoned', plan: 'growth', time_zone: 'Asia/Kolkata' })
  const client = await dashboard.signIn(await memberOf('zoned'))
  const zones = async (of: DashboardClient) => (await of.read<SessionAnswer>('/api/session')).time_zones
  assert.deepEqual(await zones(client), { zoned: 'Asia/Kolkata' })
  assert.deepEqual(await zones(operator), { zoned: 'Asia/Kolkata' })
  const path = '/api/tenants/zoned/time-zone'
  assert.match(await refusal(client, path, { time_zone: 'Berlin' }), /"Berlin" is no time zone: write its IANA name/)
  await post(client, path, { time_zone: 'Europe/Berlin' })
  assert.deepEqual(await zones(client), { zoned: 'Europe/Berlin' })
  await post(client, path, { time_zone: 'UTC' })
  assert.deepEqual(await zones(client), {})
})

test('rules are edited in form fields, tested first, and refused with a clear text', async () => {
  await admin.createTenant('ruled')
  const client = await dashboard.signIn(await memberOf('ruled'))
  const path = '/api/tenants/ruled/rules'
  const add = (kind: string, subject: string) => ({ add: { kind, subject } })
  assert.deepEqual(await client.read(path), { rules: [], unclassified: 'account', hidden: {}, job: null })
  assert.deepEqual(await post<RulesAnswer>(client, path, add('own', '203.0.113.9/32')), {
    ...{ rules: ['own 203.0.113.9/32'], unclassified: 'account', hidden: {}, job: null },
  })
  await post(client, path, add('keep', 'ISP'))
  assert.deepEqual((await post<RulesAnswer>(client, path, { unclassified: 'event' })).unclassified, 'event')
  // The page Accuracy accepts a proposal so, and another person undoes it.
  const { rules } = await post<RulesAnswer>(client, path, add('is', '198.51.100.0/29 office.example'))
  assert.ok(rules.includes('is 198.51.100.0/29 office.example'))
  const another = await dashboard.signIn(await memberOf('ruled'))
  const undo = { remove: 'is 198.51.100.0/29 office.example' }
  const stranger = await dashboard.signIn(await memberOf('acme'))
  assert.equal((await stranger.post(path, undo)).status, 404)
  assert.deepEqual(
    (await post<RulesAnswer>(another, path, undo)).rules.filter((rule) => rule.startsWith('is ')),
    [],
  )
  assert.match(await refusal(client, path, add('own', 'AS64500')), /must be a network/)
  assert.match(await refusal(client, path, add('keep', 'business')), /must be a class that is filtered/)
  assert.match(await refusal(client, path, { remove: 'own 10.0.0.0/8' }), /has no rule "own 10.0.0.0\/8"/)
  for (const body of [{}, { add: { kind: 'no', subject: 'x' } }, { rules: [] }]) await refusal(client, path, body)

  const trial = await post<RulesTrialAnswer>(client, `${path}/try`, { remove: 'keep isp', ...add('own', '10.0.0.1') })
  assert.equal(trial.stored, 5)
  assert.deepEqual(tried, [{ rules: ['own 203.0.113.9/32', 'own 10.0.0.1/32'], unclassified: 'event' }])
  assert.match(await refusal(client, `${path}/try`, { remove: 'keep cdn' }), /has no rule/)
  assert.equal(((await client.read(path)) as RulesAnswer).rules.length, 2, 'a dry run changes nothing')
  assert.deepEqual((await post<RulesAnswer>(client, path, { remove: 'keep isp' })).rules, ['own 203.0.113.9/32'])
  await store.changeRules(
    'ruled',
    Array.from({ length: 999 }, (_, i) => `own 10.0.${i >> 8}.${i & 255}/32`),
    [],
  )
  assert.match(await refusal(client, path, add('keep', 'cdn')), /at most 1000 rules/)
})

test('a rule is applied to the past by a job, which another request joins and a person cancels', async () => {
  await admin.createTenant('past')
  const client = await dashboard.signIn(await memberOf('past'))
  const path = '/api/tenants/past/rules'
  const jobs = '/api/tenants/past/reenrichments'
  assert.deepEqual(await client.read(jobs), { job: null, waiting: null })
  const add = [
    { kind: 'always-noise', subject: '203.0.113.0/24' },
    { kind: 'always-noise', subject: 'AS64500' },
  ]
  const { rules, job } = await post<RulesAnswer>(client, path, { add, past: { days: 90 } })
  assert.deepEqual(rules, ['always-noise 203.0.113.0/24', 'always-noise AS64500'])
  assert.deepEqual([job!.state, job!.days, job!.rules], ['waiting', 90, rules])
  const gone = await post<RulesAnswer>(client, path, { remove: rules[0], past: { days: null } })
  assert.deepEqual([gone.job!.job_id, gone.job!.days, gone.job!.rules], [job!.job_id, null, rules])
  const both = await Promise.all(
    [1, 2].map(() => post<Reenrichment>(client, jobs, { rules: [rules[1]], past: { days: 7 } })),
  )
  assert.deepEqual(new Set(both.map(({ job_id }) => job_id)), new Set([job!.job_id]))
  assert.match(await refusal(client, path, { past: { days: 1 } }), /needs a change/)
  assert.match(await refusal(client, jobs, { rules: ['own 10.0.0.0/8'], past: { days: 1 } }), /has no rule/)
  // Events that a removed rule hid are shown again without a request. Deleting them for good is a call of its own.
  const deletion = `${path}/delete-hidden`
  assert.match(await refusal(client, deletion, { rule: 'own 10.0.0.0/8' }), /has no rule/)
  const { job_id: id } = await post<Reenrichment>(client, deletion, { rule: rules[1] })
  const deleting = (await new ReenrichJobs(redis).read('past')).waiting
  assert.deepEqual([deleting!.jobId, deleting!.deletes], [id, [rules[1]]])
  const last = await post<RulesAnswer>(client, path, { remove: rules[1] })
  assert.equal(last.job!.job_id, id)
  const stranger = await dashboard.signIn(await memberOf('acme'))
  assert.equal((await stranger.post(`${jobs}/cancel`, { job_id: job!.job_id })).status, 404)
  const { waiting } = await post<ReenrichmentsAnswer>(client, `${jobs}/cancel`, { job_id: job!.job_id })
  assert.equal(waiting, null)
  assert.match(await refusal(client, `${jobs}/cancel`, { job_id: job!.job_id }), /has ended/)
})

test("a lookup explains each address once, by the tenant's rules, and counts on the quota", async () => {
  await admin.createTenant('looker', { plan: 'tiny' })
  const client = await dashboard.signIn(await memberOf('looker'))
  const path = '/api/tenants/looker/lookup'
  await admin.changeRules('looker', { add: ['own 203.0.113.0/24'] })
  const found = await post<PageLookupAnswer>(client, path, { text: '198.51.100.7, 203.0.113.7:443\n198.51.100.7 x' })
  assert.deepEqual(
    found.results.map(({ ip, status, tenant_rule, company_id }) => [ip, status, tenant_rule, company_id]),
    [
      ['198.51.100.7', 'ok', null, 'acme'],
      ['203.0.113.7', 'filtered', 'own 203.0.113.0/24', null],
    ],
  )
  const [first] = found.results
  assert.deepEqual(first!.attributes[0], {
    ...{ name: 'business_name', value: 'Acme', provider: 'companies', network: '198.51.100.0/24' },
    ...{ word: null, precision: null },
  })
  assert.deepEqual([first!.rule, found.asked], ['words:inc', ['companies']])
  assert.deepEqual([found.skipped, found.skipped_count], [['x'], 1])
  assert.deepEqual(found.attributions, [{ provider: 'companies', text: 'Companies Ltd; CC BY 4.0' }])
  assert.deepEqual([found.quota.daily_limit, found.quota.daily_used], [3, 2])
  assert.match(await refusal(client, path, { text: '1.1.1.1 2.2.2.2' }, 429), /allows 3 lookups, and 2 are used/)
  assert.equal(await usedBy('looker'), 2)
  assert.match(await refusal(client, path, { text: 'no 1.2.3 address' }), /no IPv4 or IPv6 address/)
  const many = Array.from({ length: 1_001 }, (_, i) => `10.0.${i >> 8}.${i & 255}`).join()
  assert.match(await refusal(client, path, { text: many }), /this text has 1001 addresses: give at most 1000/)
  assert.equal(await usedBy('looker'), 2)
})

test('addresses are found whatever separates them', () => {
  const found = (text: string) => addressesIn(text).addresses.map(({ text }) => text)
  assert.deepEqual(found('"1.2.3.4","2001:DB8::1"|[2001:db8::2]:443;::ffff:1.2.3.4 (5.6.7.8).'), [
    ...['1.2.3.4', '2001:db8::1', '2001:db8::2', '5.6.7.8'],
  ])
  assert.deepEqual(found('ip=9.9.9.9:53, 2001:db8::: fe80::'), ['9.9.9.9', 'fe80::'])
  // The longest text that is allowed. A check at each end of each run of dots would take a minute.
  assert.deepEqual(addressesIn(`${'.'.repeat(199_990)}x 1.2.3.4`).addresses.length, 1)
  assert.deepEqual(addressesIn('10.0.0.0/8 12:30').skipped, ['10.0.0.0/8', '12:30'])
})
