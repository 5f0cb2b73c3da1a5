import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { CompaniesPage, CompanyChoices, CompanyDetailsAnswer } from '../../schemas/dashboard/companies.ts'
import type { CompanyAnswer } from '../../schemas/dashboard/company.ts'
import type { OverviewAnswer } from '../../schemas/dashboard/overview.ts'
import { ClickHouseCompanies } from '../../src/clickhouse/dashboard/companies.ts'
import { ClickHouseOverview } from '../../src/clickhouse/dashboard/overview.ts'
import { connectReading, DashboardReader } from '../../src/clickhouse/dashboard/reader.ts'
import { TableInserter } from '../../src/clickhouse/inserter.ts'
import { EVENTS } from '../../src/clickhouse/tables.ts'
import { UnavailableError } from '../../src/core/run/errors.ts'
import { companyRoutes } from '../../src/dashboard/server/routes/companies.ts'
import { overviewRoute } from '../../src/dashboard/server/routes/overview.ts'
import { sessionRoute } from '../../src/dashboard/server/routes/session.ts'
import { connectRedis } from '../../src/redis/connect.ts'
import { RedisUsage } from '../../src/redis/dashboard/usage.ts'
import { keys } from '../../src/redis/keys.ts'
import { RedisOriginCounts } from '../../src/redis/tenants/origin-counts.ts'
import { RedisTenantStore } from '../../src/redis/tenants/tenant-store.ts'
import { DEFAULT_PLANS } from '../../src/tenants/plans.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { startDashboard } from '../support/dashboard.ts'
import { type EventRow, eventRows } from '../support/event-rows.ts'
import { lookupOf, TestLookups } from '../support/lookups.ts'
import { startTestRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

const DAY_MS = 86_400_000
const TODAY = '2026-03-15'
const NOON_MS = Date.parse(`${TODAY}T12:00:00Z`)
const clock = { now: () => NOON_MS }
const CREATED = '2026-01-01T00:00:00.000Z'

// Before what the stores end with.
after(async () => {
  for (const end of ends) await end()
  await client.close()
  redis.disconnect()
})
const ends: (() => Promise<void>)[] = []
const clickhouse = await startTestClickHouse()
const client = connectReading(clickhouse.url)
const redis = connectRedis((await startTestRedis()).url, { name: 'test', kind: 'loop' })
const tenants = new RedisTenantStore(redis)
for (const id of ['acme', 'other', 'masked', 'quiet']) {
  await tenants.createTenant({ id, plan: 'starter', archive: false, addresses: 'full', createdAt: CREATED })
}
const lookups = new TestLookups()
const reader = new DashboardReader(client)
const companies = new ClickHouseCompanies(reader, clock)
const overview = new ClickHouseOverview(reader)
const usage = new RedisUsage(redis, clock)
const plans = new Map(Object.entries(DEFAULT_PLANS))
const routes = [
  sessionRoute({ tenants, version: '1', apiUrl: null }),
  ...companyRoutes({ companies, lookups }),
  overviewRoute({ companies, overview, usage, plans, clock }),
]

let inserts = 0
async function insert(rows: readonly EventRow[]): Promise<void> {
  const inserter = new TableInserter(EVENTS, clickhouse.client, async () => {})
  const numbered = rows.map((row, i) => ({ event_id: `e${inserts}-${i}`, ...row }))
  await inserter.insert([eventRows(numbered)], `companies-${inserts++}`)
}

/** An event of a company that is called as its id. */
function event(company: string, row: EventRow = {}): EventRow {
  const at = Number(row.timestamp ?? NOON_MS)
  return {
    ...{ tenant_id: 'acme', company_id: company, account_id: company, business_name: '', org_name: '' },
    ...{ domain: company, industry: '', industry_category: '', received_at: at, timestamp: at, ...row },
  }
}

const ODD = `50%_o'ff\\ "Größe" \t<b>`
await insert([
  event('anvil.example', { business_name: 'Anvil', industry: 'Tools', industry_category: 'Things', ip: '192.0.2.1' }),
  event('anvil.example', { timestamp: NOON_MS - DAY_MS, ip: '192.0.2.1', account_id: 'theirs' }),
  event('anvil.example', { timestamp: NOON_MS - 40 * DAY_MS, ip: '192.0.2.2' }),
  event('bolt.example', { business_name: 'Bolt', country_code: 'FR', quality: 20, timestamp: NOON_MS - 10 * DAY_MS }),
  event('clamp.example', { org_name: 'clamp Holdings', classification: '', country_code: '' }),
  event(ODD, { business_name: ODD, domain: '', industry: ODD, timestamp: NOON_MS - 2 * DAY_MS }),
  event('', { company_id: '', ip: '198.51.100.9' }),
])
// Another insert is another part: sums of both are put together.
await insert([
  event('anvil.example', {
    ...{ business_name: 'Anvil', org_name: 'Anvil, Inc.', industry: 'Tools', industry_category: 'Things' },
    ...{ ip: '192.0.2.3', event_type: 'signup', platform: 'ios', properties: '{"plan":"pro"}', asn: 64_501 },
    ...{ received_at: NOON_MS + 1, as_name: 'ANVIL-AS' },
  }),
  event('secret.example', { tenant_id: 'other', business_name: 'Secret' }),
  event('anvil.example', { tenant_id: 'other', business_name: 'Anvil of others', ip: '203.0.113.1' }),
  event('masked.example', { tenant_id: 'masked', ip: '203.0.113.0/24#8c1e5a0b7d2f4936' }),
])

const dashboard = await startDashboard({ after: (end: () => Promise<void>) => ends.push(end) } as never, redis, routes)
const member = await dashboard.signIn({ role: 'member', tenant: { id: 'acme', createdAt: CREATED } })
const operator = await dashboard.signIn()

const page = (query = '', tenant = 'acme') =>
  operator.read<CompaniesPage>(`/api/tenants/${tenant}/companies${query === '' ? '' : `?${query}`}`)
const ids = async (query: string) => (await page(query)).rows.map(({ company_id }) => company_id)

test('the list has what the view companies has, row by row', async () => {
  const { rows, total } = await page('sort=name&direction=asc')
  assert.equal(total, 4)
  const view = await clickhouse.rows<Record<string, unknown>>(
    "SELECT * FROM companies WHERE tenant_id = 'acme' ORDER BY company_id SETTINGS date_time_output_format = 'iso'",
  )
  const shared = ['domain', 'industry', 'industry_category', 'country_code', 'classification', 'events']
  const also = ['first_seen', 'last_seen', 'quality', 'company_id']
  const pick = (row: object) =>
    Object.fromEntries([...shared, ...also].map((name) => [name, row[name as keyof typeof row]]))
  const sorted = [...rows].sort((a, b) => (a.company_id < b.company_id ? -1 : 1))
  assert.deepEqual(sorted.map(pick), view.map(pick))
  assert.deepEqual(
    rows.map(({ name }) => name),
    [ODD, 'Anvil', 'Bolt', 'clamp Holdings'],
  )
  const body = { companies: rows.map(({ company_id }) => company_id) }
  const details = await readDetails(body)
  assert.deepEqual(
    Object.fromEntries(
      details.companies.map(({ company_id, ...sets }) => [company_id, [sets.visits, sets.unique_ips]]),
    ),
    Object.fromEntries(view.map((row) => [row.company_id, [row.visits, row.unique_ips]])),
  )
})

async function readDetails(body: object, tenant = 'acme'): Promise<CompanyDetailsAnswer> {
  const response = await operator.post(`/api/tenants/${tenant}/companies/details`, body)
  assert.equal(response.status, 200)
  return (await response.json()) as CompanyDetailsAnswer
}

test('sums come from the projections, of lists, details, searches and days', async () => {
  type Given = Parameters<typeof client.query>[0]
  const asked: Given[] = []
  const watching = Object.create(client) as typeof client
  watching.query = ((given: Given) => {
    asked.push(given)
    return client.query(given)
  }) as typeof client.query
  const store = new ClickHouseCompanies(new DashboardReader(watching), clock)
  const sums = new ClickHouseOverview(new DashboardReader(watching))
  const days = { from: '2026-03-01', to: TODAY }
  await store.page('acme', { search: 'a', sort: 'visits' })
  await store.page('acme', { ...days, sort: 'unique_ips', country: 'DE' })
  await store.page('acme', { ...days, sort: 'events' })
  await store.details('acme', { companies: ['anvil.example'] })
  await store.details('acme', { companies: ['anvil.example'], ...days })
  await store.choices('acme')
  await store.version('acme')
  await sums.companies('acme', days)
  await sums.outcomes('acme', days)
  const read = new Set<string>()
  for (const given of asked) {
    const result = await client.query({ ...given, query: `EXPLAIN ${given.query}`, format: 'TabSeparatedRaw' })
    for (const [, name] of (await result.text()).matchAll(/ReadFromMergeTree \((.*?)\)/g)) read.add(name!)
  }
  const projections = ['account_days', 'account_sums', 'company_list', 'stored_days']
  assert.deepEqual([...read].sort(), projections)
})

test('a list is filtered, sorted and cut into pages', async () => {
  assert.deepEqual(await ids(''), ['anvil.example', 'clamp.example', ODD, 'bolt.example'])
  assert.deepEqual(await ids('sort=events'), ['anvil.example', ODD, 'bolt.example', 'clamp.example'])
  assert.deepEqual(await ids('sort=visits&limit=1'), ['anvil.example'])
  assert.deepEqual(await ids('sort=unique_ips&direction=asc&offset=3'), ['anvil.example'])
  assert.deepEqual(await ids('sort=quality&direction=asc&limit=1'), ['bolt.example'])
  // What is not known stands last in both directions.
  assert.equal((await ids('sort=country_code&direction=asc')).at(-1), 'clamp.example')
  assert.equal((await ids('sort=country_code&direction=desc')).at(-1), 'clamp.example')
  assert.deepEqual(await ids('industry=Tools'), ['anvil.example'])
  assert.deepEqual(await ids('category=Things&country=DE'), ['anvil.example'])
  assert.deepEqual(await ids('classification=-'), ['clamp.example'])
  assert.deepEqual(await ids('country=FR'), ['bolt.example'])
  assert.deepEqual(await ids(`new_since=2026-03-10`), ['clamp.example', ODD])
  assert.deepEqual(await ids('new_since=2026-03-15T11:59:59.5Z'), ['clamp.example'])
  const second = await page('sort=name&direction=asc&limit=1&offset=1')
  assert.deepEqual([second.rows.map(({ name }) => name), second.total], [['Anvil'], 4])
  assert.deepEqual(await page('offset=100'), { rows: [], total: 4 })
})

test('a span of days counts those days only', async () => {
  const found = await page('from=2026-03-14&to=2026-03-14')
  assert.deepEqual(
    found.rows.map(({ company_id, events }) => [company_id, events]),
    [['anvil.example', 1]],
  )
  const [row] = (await readDetails({ companies: ['anvil.example'], from: '2026-02-01', to: '2026-03-14' })).companies
  assert.deepEqual([row!.visits, row!.unique_ips], [2, 2])
  assert.equal(row!.daily_visits.length, 30)
  assert.deepEqual(row!.daily_visits.slice(-2), [0, 1])
  const all = await readDetails({ companies: ['anvil.example', 'nobody', ODD] })
  assert.deepEqual(all.days, ['2026-02-14', TODAY])
  const visits = Object.fromEntries(all.companies.map(({ company_id, daily_visits }) => [company_id, daily_visits]))
  assert.deepEqual(visits['anvil.example']!.slice(-3), [0, 1, 2])
  assert.deepEqual(visits[ODD]!.slice(-3), [1, 0, 0])
  assert.equal(all.companies.length, 2)
})

test('what is searched for has no meaning of its own', async () => {
  const search = (text: string) => ids(`search=${encodeURIComponent(text)}`)
  assert.deepEqual(await search('anvil, inc'), ['anvil.example'])
  assert.deepEqual(await search(' BOLT.ex '), ['bolt.example'])
  for (const text of ['%_', "o'ff\\", 'GRÖSSE', 'größe', '"gr', '<B>', '50%']) {
    assert.deepEqual(await search(text), text === 'GRÖSSE' ? [] : [ODD], text)
  }
  for (const text of ['%', '_', '\\', "'", '"']) assert.deepEqual(await search(text), [ODD], text)
  for (const text of ["' OR 1=1 --", '{tenant:String}', 'Secret', '\u0000', 'business', '😀', 'anvil\nexample']) {
    assert.deepEqual(await search(text), [], JSON.stringify(text))
  }
  assert.deepEqual(await ids(`industry=${encodeURIComponent(ODD)}`), [ODD])
  assert.equal((await search('')).length, 4)
})

test('the choices are those of the tenant, with their numbers', async () => {
  const choices = await operator.read<CompanyChoices>('/api/tenants/acme/companies/choices')
  assert.deepEqual(choices.country, [
    { value: 'DE', companies: 2 },
    { value: '', companies: 1 },
    { value: 'FR', companies: 1 },
  ])
  assert.deepEqual(choices.category, [
    { value: '', companies: 3 },
    { value: 'Things', companies: 1 },
  ])
})

test('what cannot be asked for is refused with its name', async () => {
  const refused = async (query: string) => {
    const response = await operator.get(`/api/tenants/acme/companies?${query}`)
    assert.equal(response.status, 422, query)
    return ((await response.json()) as { detail: string }).detail
  }
  for (const query of ['from=2026-02-30', 'to=0001-01-01', 'new_since=2026-13-01', 'from=2026-03-02&to=2026-03-01']) {
    assert.match(await refused(query), new RegExp(`^${query.split('=')[0]}`))
  }
  for (const query of ['sort=events%3B', 'sort=company_id', 'limit=201', 'offset=-1', 'direction=up', 'tenant=other']) {
    await refused(query)
  }
  assert.equal((await operator.post('/api/tenants/acme/companies/details', { companies: [], from: 'x' })).status, 422)
})

test('a tenant sees nothing of another one, in no call', async () => {
  const calls = ['companies', 'companies/choices', 'companies/version', 'companies/export', 'overview']
  for (const call of [...calls, 'companies/of/secret.example']) {
    assert.equal((await member.get(`/api/tenants/other/${call}`)).status, 404, call)
  }
  assert.equal((await member.post('/api/tenants/other/companies/details', { companies: [] })).status, 404)
  for (const call of calls) {
    const text = await (await member.get(`/api/tenants/acme/${call}`)).text()
    assert.ok(!/secret|of others|203\.0\.113/i.test(text), call)
  }
  assert.equal((await member.get('/api/tenants/acme/companies/of/secret.example')).status, 404)
  assert.deepEqual((await readDetails({ companies: ['secret.example'] })).companies, [])
  const anvil = await (await member.get('/api/tenants/acme/companies/of/anvil.example')).text()
  assert.ok(!/of others|203\.0\.113/.test(anvil))
  assert.deepEqual((await page('', 'other')).total, 2)
  assert.deepEqual(await page('', 'quiet'), { rows: [], total: 0 })
})

test('an export is the view as CSV, and no cell of it is a formula', async () => {
  const formula = '=HYPERLINK("http://evil.example","a, b")'
  await insert([event('formula.example', { tenant_id: 'quiet', business_name: formula, industry: '+1', domain: '@x' })])
  const response = await operator.get('/api/tenants/quiet/companies/export')
  assert.equal(response.headers.get('content-disposition'), 'attachment; filename="companies-quiet.csv"')
  const [head, row, end] = (await response.text()).split('\r\n')
  assert.equal(
    head,
    'Company,Events,Visits,Last seen,Domain,Industry,Country,Class,Unique IPs,First seen,Category,Quality,Id',
  )
  const noon = `${TODAY}T12:00:00.000Z`
  assert.equal(
    row,
    `"'=HYPERLINK(""http://evil.example"",""a, b"")",1,1,${noon},'@x,'+1,DE,business,1,${noon},,80,formula.example`,
  )
  assert.equal(end, '')
  const cells = async (query: string) => {
    const text = await (await operator.get(`/api/tenants/acme/companies/export?${query}`)).text()
    return text
      .split('\r\n')
      .slice(1, -1)
      .map((line) => line.split(','))
      .map(([, events, visits, last, , , , , ips, first, , quality, id]) =>
        [events, visits, ips, first, last, quality, id].join(),
      )
  }
  const seen = ['2026-02-03T12:00:00.000Z', noon].join()
  assert.deepEqual(await cells('search=anvil'), [`4,4,3,${seen},80,anvil.example`])
  assert.deepEqual(await cells('search=anvil&from=2026-03-14'), [`3,3,2,${seen},80,anvil.example`])
  assert.deepEqual((await cells('sort=domain&direction=asc')).length, 4)
  assert.deepEqual(await cells('search=nobody'), [])
  const few = ['domain', 'industry', 'industry_category', 'country_code', 'visits', 'unique_ips', 'name']
  const hidden = await operator.get(
    `/api/tenants/acme/companies/export?search=bolt&${few.map((name) => `hide=${name}`).join('&')}`,
  )
  const old = '2026-03-05T12:00:00.000Z'
  assert.equal(
    await hidden.text(),
    `Company,Events,Last seen,Class,First seen,Quality,Id\r\nBolt,1,${old},business,${old},20,bolt.example\r\n`,
  )
})

test('a company tells where its visits come from, and why it is taken for it', async () => {
  lookups.answer = ({ text }) => {
    const data = { business_name: 'Anvil', network: '192.0.2.0/24', city: 'Essen', country_code: 'DE' } as const
    const provenance = { business_name: { provider: 'organisations', network: '192.0.2.0/24' } }
    return { ...lookupOf(text, data), companyId: 'anvil.example', rule: 'stated:business', provenance }
  }
  const found = await operator.read<CompanyAnswer>('/api/tenants/acme/companies/of/anvil.example')
  assert.deepEqual(
    [found.company.name, found.company.events, found.company.visits, found.company.unique_ips],
    ['Anvil', 4, 4, 3],
  )
  assert.deepEqual([found.from, found.to], ['2025-12-16', TODAY])
  assert.deepEqual(found.accounts, [
    { value: 'anvil.example', events: 3 },
    { value: 'theirs', events: 1 },
  ])
  assert.deepEqual(found.days, [
    { day: '2026-02-03', events: 1, visits: 1 },
    { day: '2026-03-14', events: 1, visits: 1 },
    { day: TODAY, events: 2, visits: 2 },
  ])
  assert.deepEqual(found.as, [
    { value: 'AS64500', events: 3 },
    { value: 'AS64501 ANVIL-AS', events: 1 },
  ])
  assert.deepEqual(found.event_types, [
    { value: '', events: 3 },
    { value: 'signup', events: 1 },
  ])
  assert.deepEqual(
    [found.networks, found.cities],
    [[{ value: '192.0.2.0/24', events: 4 }], [{ value: 'Essen, DE', events: 4 }]],
  )
  assert.deepEqual([found.located_events, found.all_events, found.addresses], [4, 4, 'full'])
  const [first] = found.events
  assert.deepEqual(
    [first!.properties, first!.platform, first!.event_type, first!.received_at, first!.is_cut],
    ['{"plan":"pro"}', 'ios', 'signup', '2026-03-15T12:00:00.001Z', false],
  )
  assert.equal(found.events.length, 4)
  const { reason } = found
  assert.deepEqual(
    [reason!.ip, reason!.events, reason!.is_same, reason!.rule],
    ['192.0.2.1', 2, true, 'stated:business'],
  )
  assert.deepEqual(reason!.values[0], {
    attribute: 'business_name',
    value: 'Anvil',
    provider: 'organisations',
    network: '192.0.2.0/24',
  })
  assert.ok(
    lookups.asked.every(({ options }) => options.deny?.includes('rdns')),
    'no page waits for name servers',
  )
  const short = await operator.read<CompanyAnswer>('/api/tenants/acme/companies/of/anvil.example?days=1')
  assert.deepEqual([short.from, short.to, short.all_events, short.company.events], [TODAY, TODAY, 2, 4])
  const old = await operator.read<CompanyAnswer>('/api/tenants/acme/companies/of/bolt.example?days=5')
  assert.deepEqual([old.from, old.to, old.all_events], ['2026-03-01', '2026-03-05', 1])
  const odd = await operator.read<CompanyAnswer>(`/api/tenants/acme/companies/of/${encodeURIComponent(ODD)}`)
  assert.equal(odd.company.name, ODD)
})

test('of addresses that are not kept nothing is looked up, and the page says so', async () => {
  lookups.asked.length = 0
  const found = await operator.read<CompanyAnswer>('/api/tenants/masked/companies/of/masked.example')
  assert.deepEqual([found.addresses, found.reason, found.networks, found.located_events], ['masked', null, [], 0])
  assert.equal(found.events[0]!.ip, '203.0.113.0/24#8c1e5a0b7d2f4936')
  assert.equal(lookups.asked.length, 0)
})

test('properties that are too long are cut, and say so', async () => {
  const long = JSON.stringify({ text: 'ü'.repeat(20_000) })
  await insert([event('long.example', { tenant_id: 'quiet', properties: long })])
  const { events } = await operator.read<CompanyAnswer>('/api/tenants/quiet/companies/of/long.example')
  assert.deepEqual([events[0]!.is_cut, events[0]!.properties], [true, long.slice(0, 16_384)])
})

test('the version changes when events come, and with those of no other tenant', async () => {
  const version = () => operator.read<{ version: string }>('/api/tenants/quiet/companies/version')
  const before = await version()
  await insert([event('more.example', { tenant_id: 'other' })])
  assert.deepEqual(await version(), before)
  await insert([event('new.example', { tenant_id: 'quiet' })])
  assert.notDeepEqual(await version(), before)
})

test('many companies with long ids are found in parts', async () => {
  const long = Array.from({ length: 60 }, (_, i) => `${"it's-ü".repeat(20)}-${i}.example`)
  await insert(long.map((id) => event(id, { tenant_id: 'quiet' })))
  const { companies: found } = await readDetails({ companies: long }, 'quiet')
  assert.deepEqual(found.map(({ company_id }) => company_id).sort(), [...long].sort())
})

test('a company of many accounts is whole, and shows its newest events', async () => {
  const many = Array.from({ length: 120 }, (_, i) => {
    const timestamp = NOON_MS - (i % 3) * DAY_MS - i
    return event('many.example', { tenant_id: 'quiet', account_id: `account ${i}`, timestamp, event_id: `many-${i}` })
  })
  await insert(many)
  const found = await operator.read<CompanyAnswer>('/api/tenants/quiet/companies/of/many.example')
  assert.deepEqual(
    [found.all_events, found.accounts.length, found.days.map(({ events }) => events)],
    [120, 100, [40, 40, 40]],
  )
  const newest = [...many].sort((a, b) => Number(b.timestamp) - Number(a.timestamp)).slice(0, 50)
  assert.deepEqual(
    found.events.map(({ event_id }) => event_id),
    newest.map(({ event_id }) => event_id),
  )
})

test('the overview counts by day what became of events, and what is used of the plan', async () => {
  const rows = [
    ['a', 'acme', TODAY, 'filtered', '', 'hosting', 7],
    ['b', 'acme', '2026-03-14', 'duplicates', '', 'business', 2],
    ['c', 'acme', '2026-02-01', 'invalid_ip', '', '', 9],
    ['d', 'other', TODAY, 'filtered', '', 'isp', 100],
  ] as const
  const values = rows.map(([source, tenant, day, ...rest]) => {
    const [status, reason, classification, events] = rest
    return { source, tenant_id: tenant, day, job_id: '', status, reason, classification, events }
  })
  await clickhouse.client.insert({ table: 'outcomes', values, format: 'JSONEachRow' })
  await redis.set(keys.lookups('acme', TODAY), 12)
  await new RedisOriginCounts(redis, clock).add('acme', { events: 200, byOrigin: new Map([['cdn AS1 Edge', 150]]) })
  const found = await operator.read<OverviewAnswer>('/api/tenants/acme/overview?days=7')
  assert.deepEqual([found.from, found.to], ['2026-03-09', TODAY])
  const sum = (status: string) =>
    found.outcomes.filter((row) => row.status === status).reduce((n, { events }) => n + events, 0)
  assert.deepEqual(['stored', 'filtered', 'duplicates', 'invalid_ip'].map(sum), [6, 7, 2, 0])
  assert.deepEqual(found.companies, [
    { day: '2026-03-13', seen: 1, new: 1 },
    { day: '2026-03-14', seen: 1, new: 0 },
    { day: TODAY, seen: 2, new: 1 },
  ])
  assert.deepEqual([found.companies_seen, found.companies_new], [3, 2])
  assert.deepEqual(
    found.top.map(({ company_id, events }) => [company_id, events]),
    [
      ['anvil.example', 3],
      [ODD, 1],
      ['clamp.example', 1],
    ],
  )
  assert.match(found.warning!.text, /^75 % of 200 events come from one network, AS1 Edge \(cdn\)/)
  const { usage: used } = found
  assert.deepEqual(used.lookups, { used: 12, limit: 1_000, resets_at: '2026-03-16T00:00:00.000Z' })
  assert.deepEqual(used.accounts, { used: 4, limit: 500, month: '2026-03', passed_at: null })
  assert.deepEqual(used.rate, { per_second: 5, burst: 20, left: 20 })
  const other = await operator.read<OverviewAnswer>('/api/tenants/quiet/overview')
  assert.deepEqual([other.warning, other.usage.lookups.used], [null, 0])
})

test('the client of the pages cannot write', async () => {
  for (const query of ["INSERT INTO events (ip) VALUES ('x')", 'CREATE TABLE t (a Int8) ENGINE = Memory']) {
    await assert.rejects(client.command({ query }), /readonly/i)
  }
})

test('what nobody waits for any more ends in ClickHouse, too', async () => {
  const underWay = async () => {
    const query = "SELECT count() AS n FROM system.processes WHERE query LIKE 'SELECT sum(%'"
    const result = await clickhouse.client.query({ query, format: 'JSONEachRow' })
    return Number((await result.json<{ n: string }>())[0]!.n)
  }
  const leaving = new AbortController()
  const query = "SELECT sum(sipHash64(number)) FROM numbers(1000000000000) WHERE {tenant:String} > ''"
  const first = reader.stream(query, { tenant: 'acme' }, leaving.signal).next()
  await until(underWay, (count) => count === 1, 20_000)
  leaving.abort()
  await assert.rejects(first, UnavailableError)
  await until(underWay, (count) => count === 0, 20_000)
})

test('without tables there is nothing, and without ClickHouse an error that says so', async () => {
  const bare = connectReading(clickhouse.url, 'nowhere')
  const nothing = new DashboardReader(bare)
  const store = new ClickHouseCompanies(nothing, clock)
  const sums = new ClickHouseOverview(nothing)
  assert.deepEqual(await store.page('acme', {}), { rows: [], total: 0 })
  assert.equal(await store.company('acme', 'a', 1), undefined)
  assert.equal(await store.version('acme'), '0')
  assert.deepEqual(await sums.companies('acme', { from: TODAY, to: TODAY }), { days: [], seen: 0, new: 0 })
  assert.deepEqual((await sums.tracked('acme', '2026-03', 1)).tracked_accounts, 0)
  await bare.close()
  await assert.rejects(
    new ClickHouseCompanies(new DashboardReader(undefined), clock).page('acme', {}),
    UnavailableError,
  )
})
