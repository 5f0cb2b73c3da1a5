import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { ClickHouseCompanies } from '../src/companies/companies.ts'
import { ClickHouseOverview } from '../src/dashboard/queries/overview.ts'
import { startEmbeddedClickHouse } from '../src/embedded/clickhouse/start.ts'
import { connectClickHouse, DATABASE } from '../src/stores/clickhouse/client.ts'
import { migrate } from '../src/stores/clickhouse/migrate.ts'
import { connectReading, QuestionReader } from '../src/stores/clickhouse/reader.ts'

/**
 * Queries of the dashboard about companies: `EVENTS` (10,000,000) events of `COMPANIES` (100,000) companies in 90 days, while
 * `LIVE` (2,000) events arrive per second. Each has a URL: 2 % have that of pricing, and 5 % a campaign. Prints medians of `ROUNDS` (5),
 * and their ratio to a plain query of the view `companies`. Past months are merged to one part each, as ClickHouse does within a day or two.
 * `CLICKHOUSE_URL` uses a server that was filled before.
 */
const EVENTS = Number(process.env.EVENTS ?? 10_000_000)
const COMPANIES = Number(process.env.COMPANIES ?? 100_000)
const LIVE = Number(process.env.LIVE ?? 2_000)
const ROUNDS = Number(process.env.ROUNDS ?? 5)
const INSERT_ROWS = 250_000
const DAY_MS = 86_400_000
const END_MS = Date.now()

/** Events, with a skewed number per company. @param at expression for the time of event n */
const events = (at: string) => `
  WITH
    cityHash64(number) AS hash,
    toUInt32(floor(pow((hash % 1000003) / 1000003, 2) * ${COMPANIES})) AS company,
    cityHash64(number, 'ip') % (1 + cityHash64(company) % (company < 1000 ? 200 : 20)) AS host
  SELECT
    concat(toString(11 + company % 80), '.', toString(intDiv(company, 80) % 256), '.', toString(intDiv(company, 20480)), '.', toString(host)) AS ip,
    'acme' AS tenant_id, concat('e', toString(number)) AS event_id, ${at} AS received_at, received_at AS timestamp,
    ['page_view', 'click', 'signup', 'download'][1 + hash % 4] AS event_type, hash % 100000 AS session_id,
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
  const companies = new ClickHouseCompanies(reader, { now: Date.now })
  const overview = new ClickHouseOverview(reader)
  if ((await companies.version('acme')) === '0') await fill(run)
  const live = new AbortController()
  const coming = sendLive(run, live.signal)

  const day = (daysAgo: number) => new Date(END_MS - daysAgo * DAY_MS).toISOString().slice(0, 10)
  const plainQuery = "SELECT * FROM companies WHERE tenant_id = 'acme' ORDER BY last_seen DESC LIMIT 50"
  const plain = await median('plain query of the view', undefined, async () => {
    const settings = { max_memory_usage: '0' } as const
    const result = await writer.query({ query: plainQuery, format: 'JSON', clickhouse_settings: settings })
    await result.text()
  })
  const page = await companies.page('acme', {})
  const shown = page.rows.map(({ company_id }) => company_id)
  const calls: Readonly<Record<string, () => Promise<unknown>>> = {
    'first page (list and details)': async () => {
      const { rows } = await companies.page('acme', {})
      await companies.details('acme', { companies: rows.map(({ company_id }) => company_id) })
    },
    'first page: list': () => companies.page('acme', {}),
    'first page: visits, addresses, sparklines': () => companies.details('acme', { companies: shown }),
    'page 1,000': () => companies.page('acme', { offset: 50_000 }),
    search: () => companies.page('acme', { search: 'hooli 7' }),
    'country, by events': () => companies.page('acme', { country: ['DE'], sort: 'events' }),
    'the last 30 days, by events': () => companies.page('acme', { from: day(29), sort: 'events' }),
    'a company': () => companies.company('acme', 'company-108.example', 90),
    'the company with the most events': () => companies.company('acme', 'company-0.example', 90),
    'choices of filters': () => companies.choices('acme'),
    'is there anything new': () => companies.version('acme'),
    'companies and events by day, 30 days': () => overview.eventDays('acme', { from: day(29), to: day(0) }),
    'sorted by visits': () => companies.page('acme', { sort: 'visits' }),
    'export of all': async () => {
      for await (const rows of companies.rows('acme', {}, new AbortController().signal)) void rows
    },
  }
  for (const [name, call] of Object.entries(calls)) await median(name, plain, call)
  live.abort()
  print('live events a second', String(Math.round(await coming)))
  await Promise.all([writer.close(), client.close()])
}

async function fill(run: (query: string) => Promise<unknown>): Promise<void> {
  const at = `fromUnixTimestamp64Milli(toInt64(${END_MS - 90 * DAY_MS} + number * ${(90 * DAY_MS) / EVENTS}), 'UTC')`
  for (let from = 0; from < EVENTS; from += INSERT_ROWS) {
    await run(`${INTO} ${events(at)} FROM numbers(${from}, ${Math.min(INSERT_ROWS, EVENTS - from)})`)
  }
  const months = new Set([90, 60, 31].map((days) => new Date(END_MS - days * DAY_MS).toISOString().slice(0, 7)))
  months.delete(new Date(END_MS).toISOString().slice(0, 7))
  for (const month of months) await run(`OPTIMIZE TABLE events PARTITION ${month.replace('-', '')} FINAL`)
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

async function median(name: string, plainMs: number | undefined, call: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const startedMs = performance.now()
    try {
      await call()
    } catch (error) {
      print(name, (error as Error).message)
      return Number.NaN
    }
    times.push(performance.now() - startedMs)
  }
  const ms = times.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)]!
  print(name, `${Math.round(ms)} ms${plainMs === undefined ? '' : `, ${(ms / plainMs).toFixed(2)} of the plain query`}`)
  return ms
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
