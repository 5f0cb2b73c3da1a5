import { after } from 'node:test'
import { DEFAULT_PLANS } from '../../schemas/plans.ts'
import { ClickHouseActivity } from '../../src/companies/activity.ts'
import { ClickHouseCompanies } from '../../src/companies/companies.ts'
import { CompanyCorrections } from '../../src/companies/corrections/corrections.ts'
import { correctionsLock } from '../../src/companies/corrections/lock.ts'
import { ClickHouseHome } from '../../src/companies/home.ts'
import { CompanyImports } from '../../src/companies/imports/imports.ts'
import { ClickHouseIntentPages } from '../../src/companies/intent-pages.ts'
import { ClickHousePages } from '../../src/companies/pages.ts'
import { ClickHouseChannels } from '../../src/companies/touches.ts'
import type { Favicons } from '../../src/dashboard/favicons/favicons.ts'
import { ClickHouseAccuracy } from '../../src/dashboard/queries/accuracy.ts'
import { ClickHouseOverview } from '../../src/dashboard/queries/overview.ts'
import { ClickHouseSources } from '../../src/dashboard/queries/sources.ts'
import { accuracyRoutes } from '../../src/dashboard/server/routes/accuracy.ts'
import { activityRoutes } from '../../src/dashboard/server/routes/activity.ts'
import { companyRoutes } from '../../src/dashboard/server/routes/companies.ts'
import { correctionRoutes } from '../../src/dashboard/server/routes/corrections.ts'
import { faviconRoutes } from '../../src/dashboard/server/routes/favicons.ts'
import { fitRoutes } from '../../src/dashboard/server/routes/fit.ts'
import { heatRoutes } from '../../src/dashboard/server/routes/heat.ts'
import { homeRoute } from '../../src/dashboard/server/routes/home.ts'
import { importRoutes } from '../../src/dashboard/server/routes/imports.ts'
import { intentPageRoutes } from '../../src/dashboard/server/routes/intent-pages.ts'
import { overviewRoute } from '../../src/dashboard/server/routes/overview.ts'
import { pageRoutes } from '../../src/dashboard/server/routes/pages.ts'
import { sessionRoute } from '../../src/dashboard/server/routes/session.ts'
import { lookupUnknown } from '../../src/enrichment/answers/lookup.ts'
import { parseAddress } from '../../src/pipeline/event/address.ts'
import { TableInserter } from '../../src/pipeline/sinks/clickhouse/inserter.ts'
import { connectReading, QuestionReader } from '../../src/stores/clickhouse/reader.ts'
import { EVENTS } from '../../src/stores/clickhouse/tables.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { DAILY_LOOKUPS, REQUEST_RATE, SharedLimit } from '../../src/tenants/limits/limits.ts'
import { RedisTokenCounters } from '../../src/tenants/limits/redis/token-counters.ts'
import { RedisTenantStore } from '../../src/tenants/redis/tenant-store.ts'
import { startTestClickHouse } from './clickhouse.ts'
import { startDashboard } from './dashboard.ts'
import { type EventRow, eventRows } from './event-rows.ts'
import { TestLookups } from './lookups.ts'
import { startTestRedis } from './redis.ts'

export const DAY_MS = 86_400_000
export const TODAY = '2026-03-15'
export const NOON_MS = Date.parse(`${TODAY}T12:00:00Z`)
export const clock = { now: () => NOON_MS }
const CREATED = '2026-01-01T00:00:00.000Z'
/** A name with every character that has a special meaning elsewhere. */
export const ODD = `50%_o'ff\\ "Größe" \t<b>`

/** An event of a company whose name is its id. */
export function event(company: string, row: EventRow = {}): EventRow {
  const at = Number(row.timestamp ?? NOON_MS)
  return {
    ...{ tenant_id: 'acme', company_id: company, account_id: company, business_name: '', org_name: '' },
    ...{ domain: company, industry: '', industry_category: '', received_at: at, timestamp: at, ...row },
  }
}

/** A dashboard over companies of a few tenants, for a whole file. @param favicons undefined: DASHBOARD_FAVICONS is off */
export async function startCompanies(favicons?: Favicons) {
  const ends: (() => Promise<void>)[] = []
  // This hook must run before those that end the stores.
  after(async () => {
    for (const end of ends) await end()
    await client.close()
    redis.disconnect()
  })
  const clickhouse = await startTestClickHouse()
  const client = connectReading(clickhouse.url, 'test')
  const { url: redisUrl } = await startTestRedis()
  const redis = connectRedis(redisUrl, { name: 'test', kind: 'loop' })
  const tenants = new RedisTenantStore(redis)
  for (const id of ['acme', 'other', 'masked', 'quiet', 'shop', 'labelled', 'linked', 'warm', 'fits']) {
    await tenants.createTenant({ id, plan: 'starter', archive: false, addresses: 'full', createdAt: CREATED })
  }
  const lookups = new TestLookups()
  const reader = new QuestionReader(client)
  const sources = [{ id: 'src_000000a1', name: 'Website' }]
  const companies = new ClickHouseCompanies(reader, clock, async () => sources)
  const overview = new ClickHouseOverview(reader)
  const data = { lookup: () => lookupUnknown(parseAddress('192.0.2.1')!), organisationOf: () => undefined }
  const accuracy = new ClickHouseAccuracy(reader, clock, data, tenants)
  const senders = new ClickHouseSources(reader, clock)
  const counters = new RedisTokenCounters(redis)
  const limits = {
    lookups: new SharedLimit(DAILY_LOOKUPS, counters, clock),
    requests: new SharedLimit(REQUEST_RATE, counters, clock),
  }
  const plans = new Map(Object.entries(DEFAULT_PLANS))
  const corrections = new CompanyCorrections(() => clickhouse.client, clock, correctionsLock(redis))
  const routes = [
    sessionRoute({ tenants, version: '1', apiUrl: null, favicons }),
    ...companyRoutes({ companies, lookups }),
    ...faviconRoutes({ companies, favicons }),
    overviewRoute({ companies, overview, senders, limits, plans, clock }),
    homeRoute({ accuracy, companies, home: new ClickHouseHome(reader), overview, senders, limits, plans, clock }),
    ...accuracyRoutes({ accuracy }),
    ...pageRoutes({ pages: new ClickHousePages(reader), channels: new ClickHouseChannels(reader) }),
    ...correctionRoutes({ corrections }),
    ...importRoutes({ corrections, imports: new CompanyImports(() => clickhouse.client, corrections) }),
    ...fitRoutes({ companies, corrections }),
    ...heatRoutes({ companies, corrections }),
    ...intentPageRoutes({ corrections, intentPages: new ClickHouseIntentPages(reader, clock) }),
    ...activityRoutes({ activity: new ClickHouseActivity(reader, clock) }),
  ]

  let inserts = 0
  async function insert(rows: readonly EventRow[]): Promise<void> {
    const inserter = new TableInserter(EVENTS, clickhouse.client, async () => {})
    const numbered = rows.map((row, i) => ({ event_id: `e${inserts}-${i}`, ...row }))
    await inserter.insert([eventRows(numbered)], `companies-${inserts++}`)
  }
  await insert([
    event('anvil.example', { business_name: 'Anvil', industry: 'Tools', industry_category: 'Things', ip: '192.0.2.1' }),
    event('anvil.example', { timestamp: NOON_MS - DAY_MS, ip: '192.0.2.1', account_id: 'theirs' }),
    event('anvil.example', { timestamp: NOON_MS - 40 * DAY_MS, ip: '192.0.2.2' }),
    event('bolt.example', { business_name: 'Bolt', country_code: 'FR', quality: 20, timestamp: NOON_MS - 10 * DAY_MS }),
    event('clamp.example', { org_name: 'clamp Holdings', classification: '', country_code: '' }),
    event(ODD, { business_name: ODD, domain: '', industry: ODD, timestamp: NOON_MS - 2 * DAY_MS }),
    event('', { company_id: '', ip: '198.51.100.9' }),
  ])
  // Another insert is another part: its sums are merged with the first.
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

  const dashboard = await startDashboard(
    { after: (end: () => Promise<void>) => ends.push(end) } as never,
    redis,
    routes,
  )
  const member = await dashboard.signIn({ role: 'admin', tenant: { id: 'acme', createdAt: CREATED } })
  const operator = await dashboard.signIn()
  return { clickhouse, client, redis, redisUrl, lookups, insert, dashboard, member, operator }
}
