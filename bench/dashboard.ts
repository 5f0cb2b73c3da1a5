import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { ClickHouseCompanies } from '../src/companies/companies.ts'
import { ClickHouseHome } from '../src/companies/home.ts'
import { ClickHousePages } from '../src/companies/pages.ts'
import { ClickHouseChannels } from '../src/companies/touches.ts'
import { ClickHouseAccuracy } from '../src/dashboard/queries/accuracy.ts'
import { ClickHouseOverview } from '../src/dashboard/queries/overview.ts'
import { ClickHouseSources } from '../src/dashboard/queries/sources.ts'
import { DayTables } from '../src/days/day-tables.ts'
import { startEmbeddedClickHouse } from '../src/embedded/clickhouse/start.ts'
import type { Lookup } from '../src/lookup/lookup.ts'
import { dayIn, UTC } from '../src/run/time-zone.ts'
import { connectClickHouse, DATABASE } from '../src/stores/clickhouse/client.ts'
import { migrate } from '../src/stores/clickhouse/migrate.ts'
import { STATEMENT_LIMITS } from '../src/stores/clickhouse/read-limits.ts'
import { connectReading, QuestionReader } from '../src/stores/clickhouse/reader.ts'
import type { Tenant } from '../src/tenants/tenancy.ts'

/**
 * The first data of each page: `EVENTS` (10,000,000) events of `COMPANIES` (100,000) companies in 90 days, while `LIVE` (0) events arrive per
 * second. Each has a URL: 2 % have that of pricing, and 5 % a campaign. 20,000 more have a known domain, and people corrected 500 companies.
 * Each call takes turns with the query that an analyst would write for the same answer. Prints the fastest of `ROUNDS` (5), their median, the
 * least CPU time of ClickHouse, and the ratio of the fastest to the fastest plain query. On a busy machine, compare ratios and CPU time.
 * Live and Alerts are not measured, because their first data comes from Redis.
 *
 * `A_VISIT` (1) events have the same address and day, as of a visitor who reads some pages.
 *
 * Past months are merged to one part each, as ClickHouse does within a day or two, and all closed days are built. Then the pages that count by days of
 * the workspace are asked again in the time zone `ZONE` (America/New_York; `UTC`: not at all), with its cuts of all closed days.
 *
 * `EVENTS=1000000` fills in a tenth of the time.
 * `CLICKHOUSE_URL` uses a server, and fills it if the tenant `acme` has no events.
 */
const EVENTS = Number(process.env.EVENTS ?? 10_000_000)
const COMPANIES = Number(process.env.COMPANIES ?? 100_000)
const LIVE = Number(process.env.LIVE ?? 0)
const A_VISIT = Number(process.env.A_VISIT ?? 1)
const ROUNDS = Number(process.env.ROUNDS ?? 5)
const ZONE = process.env.ZONE ?? 'America/New_York'
const INSERT_ROWS = 250_000
const DAY_MS = 86_400_000
const END_MS = Date.now()

/** Events, with a skewed number per company. @param at expression for the time of event n */
const events = (at: string) => `
  WITH
    cityHash64(number) AS hash,
    intDiv(number, ${A_VISIT}) AS visit,
    toUInt32(floor(pow((cityHash64(visit) % 1000003) / 1000003, 2) * ${COMPANIES})) AS company,
    cityHash64(visit, 'ip') % (1 + cityHash64(company) % (company < 1000 ? 200 : 20)) AS host
  SELECT
    concat(toString(11 + company % 80), '.', toString(intDiv(company, 80) % 256), '.', toString(intDiv(company, 20480)), '.', toString(host)) AS ip,
    'acme' AS tenant_id, concat('e', toString(number)) AS event_id, ${at} AS received_at, received_at AS timestamp,
    ['page_view', 'click', 'signup', 'download'][1 + hash % 4] AS event_type, toInt64(cityHash64(ip, toDate32(timestamp)) % 1000000000000) AS session_id,
    ['web', 'ios', 'android'][1 + hash % 3] AS platform,
    concat('{"plan":"', ['free', 'pro'][1 + hash % 2], '","referrer":"https://example.com/"}') AS properties,
    concat('{"title":"A page","url":"https://shop.example/', multiIf(hash % 50 = 0, 'pricing', hash % 50 = 1, 'demo', concat('products/', toString(hash % 1000))), if(hash % 20 = 7, concat('?utm_source=mail&utm_campaign=spring-', toString(company % 5)), ''), '"}') AS extra,
    ['', 'src_0000000a', 'src_0000000b'][1 + company % 3] AS source_id,
    concat('company-', toString(company), '.example') AS account_id, account_id AS company_id,
    concat(['Acme', 'Globex', 'Initech', 'Umbrella', 'Soylent', 'Hooli', 'Stark', 'Wayne'][1 + company % 8], ' ', toString(company)) AS business_name,
    concat(business_name, ' Holdings') AS org_name, company_id AS domain,
    ['Software', 'Banking', 'Retail', 'Insurance', 'Energy'][1 + company % 5] AS industry, 'Technology' AS industry_category,
    'business' AS classification, ['US', 'DE', 'GB', 'FR', 'JP'][1 + company % 5] AS country_code,
    64000 + company % 5000 AS asn, concat('AS ', toString(asn)) AS as_name, 40 + company % 60 AS quality`

const INTO = `INSERT INTO events (ip, tenant_id, event_id, received_at, timestamp, event_type, session_id, platform, properties, extra, source_id,
  account_id, company_id, business_name, org_name, domain, industry, industry_category, classification, country_code, asn, as_name, quality)`

async function main(url: string): Promise<void> {
  const writer = connectClickHouse(url, { application: 'bench', database: DATABASE, requestTimeoutMs: 600_000 })
  const client = connectReading(url, 'bench')
  const reader = new QuestionReader(client)
  const run = (query: string) => writer.command({ query, clickhouse_settings: { max_execution_time: 0 } })
  const isEmpty = (await new ClickHouseCompanies(reader, { now: Date.now }).version('acme')) === '0'
  if (isEmpty) await fill(run)
  await buildDays(url, UTC)
  const live = new AbortController()
  const coming = sendLive(run, live.signal)

  const cpuMs = async () => {
    const query = "SELECT value FROM system.events WHERE event = 'OSCPUVirtualTimeMicroseconds'"
    const result = await writer.query({ query, format: 'JSONCompactEachRow' })
    return Number((await result.json<[string]>())[0]?.[0] ?? 0) / 1_000
  }
  const ask = async (asked: Readonly<Record<string, Question>>, where = '') => {
    for (const [name, { call, plain }] of Object.entries(asked)) {
      const askPlain = async () => {
        const settings = { max_memory_usage: '0', max_threads: STATEMENT_LIMITS.threads } as const
        const result = await writer.query({ query: plain, format: 'JSON', clickhouse_settings: settings })
        await result.text()
      }
      await compare(`${name}${where}`, cpuMs, { call, plain: askPlain })
    }
  }
  await ask(questions(reader, UTC))
  if (ZONE !== UTC) {
    await buildDays(url, ZONE)
    const { Sources: _, Accuracy: __, 'Received, 30 days': ___, ...byDay } = questions(reader, ZONE)
    await ask(byDay, ` in ${ZONE}`)
  }
  live.abort()
  if (LIVE > 0) print('live events a second', String(Math.round(await coming)))
  await Promise.all([writer.close(), client.close()])
}

interface Question {
  /** The queries before the page shows anything. */
  readonly call: () => Promise<unknown>
  /** An analyst's query for the same. */
  readonly plain: string
}

const COMPANY_COLUMNS =
  'company_id, business_name, domain, industry, country_code, events, first_seen, last_seen, quality'
const IS_ACME = "tenant_id = 'acme'"
const KNOWN = "company_id != ''"

function questions(reader: QuestionReader, zone: string) {
  const clock = { now: Date.now }
  const zoneOf = async () => zone
  const companies = new ClickHouseCompanies(reader, clock, async () => [], zoneOf)
  const overview = new ClickHouseOverview(reader)
  const home = new ClickHouseHome(reader, zoneOf)
  const pages = new ClickHousePages(reader, zoneOf)
  const channels = new ClickHouseChannels(reader, zoneOf)
  const sources = new ClickHouseSources(reader, clock)
  const accuracy = new ClickHouseAccuracy(
    reader,
    clock,
    { lookup: () => NO_LOOKUP, organisationOf: () => undefined },
    { listSources: async () => [] },
  )
  const day = (daysAgo: number) => dayIn(zone, END_MS - daysAgo * DAY_MS)
  const localDay = `toDate32(timestamp, '${zone}')`
  const since = (days: number) => `${localDay} > toDate32(now(), '${zone}') - ${days}`
  // In UTC an analyst reads the view; days of a zone are only in the events.
  const dailyVisits =
    zone === UTC
      ? 'daily_visits'
      : `(SELECT tenant_id, account_id, ${localDay} AS day, uniqExact(ip) AS visits, count() AS events FROM events WHERE ${IS_ACME} AND ${KNOWN} GROUP BY ALL)`
  const week = { from: day(6), to: day(0) }
  const list = (columns: string, rest: string) => `SELECT ${columns} FROM companies WHERE ${IS_ACME} ${rest} LIMIT 50`
  const ofCompany = (company: string) => ({
    call: () => companies.company('acme', company, 90),
    plain: `SELECT day, sum(events), sum(visits) FROM ${dailyVisits} WHERE ${IS_ACME} AND account_id = '${company}' GROUP BY day`,
  })
  return {
    Home: {
      call: () =>
        Promise.all([
          home.week('acme', Date.now()),
          overview.outcomes('acme', week),
          accuracy.named('acme', 7),
          companies.version('acme'),
          overview.tracked('acme', day(0).slice(0, 7), 1_000_000),
        ]),
      plain: `SELECT account_id, sumIf(visits, day > today() - 7) AS now, sum(visits) AS all FROM ${dailyVisits}
        WHERE ${IS_ACME} AND day > today() - 35 GROUP BY account_id ORDER BY now DESC LIMIT 50`,
    },
    Companies: {
      call: () => companies.page('acme', {}),
      plain: list(COMPANY_COLUMNS, 'ORDER BY last_seen DESC'),
    },
    'Companies: details of the rows': {
      call: async () => {
        const { rows } = await companies.page('acme', {})
        await companies.details('acme', { companies: rows.map(({ company_id }) => company_id) })
      },
      plain: list(`${COMPANY_COLUMNS}, visits, unique_ips, heat`, 'ORDER BY last_seen DESC'),
    },
    'Companies by heat': {
      call: () => companies.page('acme', { sort: 'heat' }),
      plain: list(`${COMPANY_COLUMNS}, heat`, 'ORDER BY heat DESC'),
    },
    'Companies by fit': {
      call: () => companies.page('acme', { sort: 'fit' }),
      plain: list(
        COMPANY_COLUMNS,
        "ORDER BY multiIf(industry = 'Retail', 2, industry = 'Software' OR country_code = 'DE', 0, 1), last_seen DESC",
      ),
    },
    'Companies, page~/pricing,page_visits>=2': {
      call: () => companies.page('acme', { page_contains: ['/pricing'], page_visits_min: 2 }),
      plain: `SELECT company_id, uniqExact(ip, ${localDay}) AS visits FROM events
        WHERE ${IS_ACME} AND ${KNOWN} AND ${since(30)} AND url ILIKE '%/pricing%' GROUP BY company_id HAVING visits >= 2 ORDER BY visits DESC LIMIT 50`,
    },
    'Companies, campaign=spring-2': {
      call: () => companies.page('acme', { campaign: ['spring-2'] }),
      plain: `SELECT company_id, count() AS n FROM events
        WHERE ${IS_ACME} AND ${KNOWN} AND ${since(30)} AND utm_campaign = 'spring-2' GROUP BY company_id ORDER BY n DESC LIMIT 50`,
    },
    'Companies, tag=customer': {
      call: () => companies.page('acme', { tag: ['customer'] }),
      plain: list(`${COMPANY_COLUMNS}, tags`, "AND has(tags, 'customer') ORDER BY last_seen DESC"),
    },
    'Segment industry=Software,visits>=3,days=30,heat>=20': {
      call: () => companies.page('acme', { industry: ['Software'], visits_min: 3, days: 30, heat_min: 20 }),
      plain: list(
        `${COMPANY_COLUMNS}, visits, heat`,
        "AND industry = 'Software' AND visits >= 3 AND heat >= 20 ORDER BY last_seen DESC",
      ),
    },
    Company: ofCompany('company-4000.example'),
    'Company with the most events': ofCompany('company-0.example'),
    Pages: {
      call: () =>
        pages.pages(
          'acme',
          week,
          Array.from({ length: 7 }, (_, i) => day(6 - i)),
        ),
      plain: `SELECT domain(url) AS host, path(url) AS page, uniqExact(company_id) AS companies, uniqExact(ip, ${localDay}) AS visits, count() AS n
        FROM events WHERE ${IS_ACME} AND ${KNOWN} AND ${since(7)} AND url != '' GROUP BY host, page ORDER BY companies DESC LIMIT 50`,
    },
    'Channels of companies, 7 days': {
      call: () => channels.channels('acme', week),
      plain: `SELECT touched[1] AS source, touched[3] AS campaign, count() FROM (
        SELECT company_id, argMin(splitByChar('\\x1f', touch), timestamp) AS touched FROM events
        WHERE ${IS_ACME} AND ${KNOWN} AND touch != '' GROUP BY company_id HAVING max(${since(7)})) GROUP BY ALL`,
    },
    Sources: {
      call: () => sources.counts('acme'),
      plain: `SELECT source_id, toStartOfHour(received_at) AS hour, count(), max(received_at) FROM events
        WHERE ${IS_ACME} AND received_at > today() - 14 GROUP BY source_id, hour`,
    },
    Accuracy: {
      call: () => accuracy.quality(ACME, 30),
      plain: `SELECT known_domain, domain, classification, count() FROM events
        WHERE ${IS_ACME} AND ${since(30)} AND known_domain != '' GROUP BY ALL`,
    },
    'Received, 30 days': {
      call: () =>
        Promise.all([
          overview.eventDays('acme', { from: day(29), to: day(0) }),
          overview.outcomes('acme', { from: day(29), to: day(0) }),
        ]),
      plain: `SELECT ${localDay} AS day, count(), uniqExact(company_id) FROM events WHERE ${IS_ACME} AND ${since(30)} GROUP BY day`,
    },
  } satisfies Readonly<Record<string, Question>>
}

/** Addresses are looked up in data that a bench does not have. */
const NO_LOOKUP: Lookup = {
  ...{ address: '', data: {}, provenance: {}, classification: undefined, noise: true, rule: '' },
  ...{ quality: 0, companyId: '', answered: [], partial: [] },
}

const ACME: Tenant = {
  id: 'acme',
  plan: 'custom',
  archive: false,
  addresses: 'full',
  createdAt: '2026-01-01T00:00:00.000Z',
}

async function fill(run: (query: string) => Promise<unknown>): Promise<void> {
  const at = `fromUnixTimestamp64Milli(toInt64(${END_MS - 90 * DAY_MS} + number * ${(90 * DAY_MS) / EVENTS}), 'UTC')`
  for (let from = 0; from < EVENTS; from += INSERT_ROWS) {
    await run(`${INTO} ${events(at)} FROM numbers(${from}, ${Math.min(INSERT_ROWS, EVENTS - from)})`)
  }
  const months = new Set([90, 60, 31].map((days) => new Date(END_MS - days * DAY_MS).toISOString().slice(0, 7)))
  months.delete(new Date(END_MS).toISOString().slice(0, 7))
  await fillCorrected(run, at)
  for (const month of months) await run(`OPTIMIZE TABLE events PARTITION ${month.replace('-', '')} FINAL`)
}

/** Builds the days that are not built, as the sink does in the background. @param zone of the tenant */
async function buildDays(url: string, zone: string): Promise<void> {
  const days = new DayTables({ url })
  const startedMs = performance.now()
  const isChanged = async () => (await days.openMutations()).length > 0
  while ((await isChanged()) || (await days.materialize()) !== undefined) await sleep(200)
  const zones = new Map(zone === UTC ? [] : [[ACME.id, zone]])
  const { newest } = await days.stale(new Date(END_MS).toISOString().slice(0, 10), zones)
  for (const day of newest) await days.build(day, Date.now())
  await days.close()
  if (newest.length > 0)
    print(`days built in ${zone}`, `${newest.length} in ${Math.round((performance.now() - startedMs) / 1_000)} s`)
}

/** Inserts sign-ups, corrections, and what good companies are. */
async function fillCorrected(run: (query: string) => Promise<unknown>, at: string): Promise<void> {
  const signUps = `${events(at)}, domain AS known_domain FROM numbers(${EVENTS}) WHERE number % ${EVENTS / 20_000} = 0`
  await run(`${INTO.replace('quality)', 'quality, known_domain)')} ${signUps}`)
  const corrected = (field: string, value: string, first: number, count: number) =>
    run(`
      INSERT INTO company_corrections
      SELECT 'acme', concat('company-', toString(${first} + number * 7), '.example'), '${field}', now64(3), '${field}', '${value}', '', 'bench', ''
      FROM numbers(${count})`)
  await corrected('tags', 'customer', 0, 300)
  await corrected('hidden', 'yes', 5_000, 100)
  await corrected('counts_for', 'company-4000.example', 4_001, 5)
  await corrected('name', 'Renamed', 8_000, 95)
  const fit = ['good industry=Software', 'good country=DE', 'poor industry=Retail'].join('\\n')
  await run(`INSERT INTO company_corrections VALUES ('acme', '', 'fit', now64(3), 'fit', '${fit}', '', 'bench', '')`)
}

/** Inserts events like a sink until `signal` aborts. @returns events per second */
async function sendLive(run: (query: string) => Promise<unknown>, signal: AbortSignal): Promise<number> {
  const startedMs = performance.now()
  let sent = 0
  while (!signal.aborted && LIVE > 0) {
    const atMs = performance.now()
    await run(`${INTO} ${events("now64(3, 'UTC')")} FROM numbers(${EVENTS + sent}, ${LIVE})`)
    sent += LIVE
    await sleep(Math.max(0, 1_000 - (performance.now() - atMs)))
  }
  return (sent * 1_000) / (performance.now() - startedMs)
}

interface Cost {
  readonly ms: number
  readonly cpuMs: number
}

/** Runs two calls in turns. */
async function compare(
  name: string,
  cpuMs: () => Promise<number>,
  calls: Readonly<Record<'call' | 'plain', () => Promise<unknown>>>,
): Promise<void> {
  const costs: Record<'call' | 'plain', Cost[]> = { call: [], plain: [] }
  for (let round = 0; round < ROUNDS; round++) {
    for (const which of ['call', 'plain'] as const) {
      const [startedMs, cpu] = [performance.now(), await cpuMs()]
      try {
        await calls[which]()
      } catch (error) {
        print(name, `${which}: ${(error as Error).message}`)
        continue
      }
      costs[which].push({ ms: performance.now() - startedMs, cpuMs: (await cpuMs()) - cpu })
    }
  }
  const sorted = (which: 'call' | 'plain', of: keyof Cost) => costs[which].map((cost) => cost[of]).sort((a, b) => a - b)
  const text = (which: 'call' | 'plain') => {
    const all = sorted(which, 'ms')
    if (all.length === 0) return `${which}: none ended`
    const [fastest, median, cpu] = [all[0]!, all[Math.floor(all.length / 2)]!, sorted(which, 'cpuMs')[0]!]
    return `${which} ${Math.round(fastest)} ms, median ${Math.round(median)}, cpu ${Math.round(cpu)}`
  }
  const ratio = (of: keyof Cost) =>
    ((sorted('call', of)[0] ?? Number.NaN) / (sorted('plain', of)[0] ?? Number.NaN)).toFixed(2)
  print(name, `${text('call')}; ${text('plain')}; ratio ${ratio('ms')}, of cpu ${ratio('cpuMs')}`)
}

function print(name: string, value: string): void {
  process.stdout.write(`${name}: ${value}\n`)
}

if (process.env.CLICKHOUSE_URL === undefined) {
  const folder = await mkdtemp(join(tmpdir(), 'ipid-bench-'))
  const log = pino({ level: 'silent' })
  const server = await startEmbeddedClickHouse({ path: join(folder, 'clickhouse'), port: 0, log })
  try {
    await migrate(server.url, log)
    await main(server.url)
  } finally {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
} else {
  await main(process.env.CLICKHOUSE_URL)
}
