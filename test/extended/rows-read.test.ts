import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClickHouseClient } from '@clickhouse/client'
import { ClickHouseVisits } from '../../src/alerts/evaluation/visits.ts'
import { ClickHouseActivity } from '../../src/companies/activity.ts'
import { ClickHouseCompanies } from '../../src/companies/companies.ts'
import { ClickHouseHome } from '../../src/companies/home.ts'
import { ClickHouseIntentPages } from '../../src/companies/intent-pages.ts'
import { ClickHousePages } from '../../src/companies/pages.ts'
import { ClickHouseChannels } from '../../src/companies/touches.ts'
import { ClickHouseAccuracy } from '../../src/dashboard/queries/accuracy.ts'
import { ClickHouseOverview } from '../../src/dashboard/queries/overview.ts'
import { ClickHouseSources } from '../../src/dashboard/queries/sources.ts'
import { DAY_MS, utcDay } from '../../src/pipeline/event/outcomes.ts'
import { connectReading, QuestionReader } from '../../src/stores/clickhouse/reader.ts'
import { DAY_TABLES } from '../../src/stores/clickhouse/tables.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { TestDays } from '../support/days.ts'
import { stepsOf } from '../support/steps.ts'

/*
 * How many rows each page reads. If ClickHouse does not take a projection, an index or a stored day, a page has the right numbers and is slow.
 * A second tenant has as many events, so that basis both shows.
 */

const [DAYS, COMPANIES, TENANTS] = [60, 2_000, 2]
/** Events of a company on a day with visits. A company has one in five days. */
const EVENTS_A_VISITED_DAY = 10
const COMPANIES_A_DAY = COMPANIES / 5
const EVENTS_A_DAY = COMPANIES_A_DAY * EVENTS_A_VISITED_DAY
const EVENTS = EVENTS_A_DAY * DAYS
const PAGES = 51
/** Pairs of a page and a company: two pages, and pricing for each tenth company. */
const READERS_A_DAY = COMPANIES_A_DAY * 2.1
/** Rows that ClickHouse reads at a time, of events and projections, and of tables of days. */
const [GRANULE, DAY_GRANULE] = [8_192, 1_024]

const NOW_MS = Date.now()
const TODAY = utcDay(NOW_MS)
const dayAgo = (days: number) => utcDay(NOW_MS - days * DAY_MS)
const span = (days: number) => ({ from: dayAgo(days - 1), to: TODAY })
/** Parts that some last days are in: one a month. */
const partsOf = (days: number) => new Set(Array.from({ length: days }, (_, i) => dayAgo(i).slice(0, 7))).size

/** 20 companies a day are new in this week, and 20 are back after four weeks. */
const SEED = `
  INSERT INTO events (ip, tenant_id, event_id, received_at, timestamp, event_type, session_id, extra, source_id, account_id, company_id,
    business_name, org_name, domain, industry, industry_category, classification, country_code, quality)
  WITH
    intDiv(number % ${EVENTS}, ${EVENTS_A_DAY}) AS day,
    number % ${COMPANIES_A_DAY} AS slot,
    intDiv(number % ${EVENTS_A_DAY}, ${COMPANIES_A_DAY}) AS nth,
    5 * multiIf(slot >= 380 AND day < 53, slot - 380, slot >= 360 AND day >= 25 AND day < 53, slot - 360, slot) + day % 5 AS c
  SELECT
    concat('10.', toString(intDiv(c, 256)), '.', toString(c % 256), '.', toString(nth % 2)),
    if(number < ${EVENTS}, 'acme', 'other'), concat('e', toString(number)),
    toDateTime64('${dayAgo(DAYS - 1)} 00:00:00', 3, 'UTC') + toIntervalDay(day) + toIntervalMillisecond(number % ${EVENTS} * 20011 % 86400000) AS at, at,
    'page_view', if(nth < 5, c, NULL),
    concat('{"url":"https://shop.example/', if(c % 10 = 0 AND nth = 9, 'pricing', concat('products/', toString((c + nth % 2) % 50))),
      if(c % 20 = 7 AND nth = 0, concat('?utm_campaign=spring-', toString(c % 3)), ''), '"}'),
    ['', 'src_0000000a'][1 + c % 2], company_id, concat('company-', toString(c), '.example') AS company_id,
    concat('Company ', toString(c)), concat('Company ', toString(c), ' Holdings'), company_id,
    ['Software', 'Banking', 'Retail'][1 + c % 3], 'Technology', 'business', ['US', 'DE'][1 + c % 2], 50
  FROM numbers(${EVENTS * TENANTS})`

/** Rows of a range of days: at its begin and its end in each part are granules with other rows too. */
const inGranules = (days: number, rowsADay: number, granule: number) => days * rowsADay + 2 * granule * partsOf(days)
/** Days in the months that some last days are in. */
const storedInMonthsOf = (days: number) =>
  Array.from({ length: DAYS }, (_, i) => dayAgo(i)).filter((day) => day.slice(0, 7) >= dayAgo(days - 1).slice(0, 7))
    .length
const eventsOf = (days: number) => inGranules(days, EVENTS_A_DAY, GRANULE)
/** Both tenants are in one granule of each of the projections day_checks and checks, and two views read these. */
const READ_BASIS_SQL = 4 * TENANTS * DAYS
/** Both tenants are in one granule of company_sums. */
const NAMES = TENANTS * COMPANIES * partsOf(DAYS)
/** page_names of both tenants. */
const PAGE_NAMES = TENANTS * PAGES * partsOf(DAYS)
/** company_touches: a row for each company, a second one for each twentieth, which a campaign brought too, and granules of 256 with others. */
const TOUCHES = (1.05 * COMPANIES + 2 * 256) * partsOf(DAYS)
/** Of one company: its granules, and others by the way. */
const TOUCHES_OF_ONE = 2 * 256 * partsOf(DAYS)
/** The index finds the two days of a company that is new this week, in at most two granules each, and one other by mistake. */
const ONE = 5 * GRANULE
/** Companies that are merged have visits this week only. */
const MERGED = eventsOf(7)

/** Stored days of merged companies and of their target, which are in a granule or two of each month. */
const MERGED_DAYS = 6 * 2 * DAY_GRANULE * partsOf(DAYS)

/** The stored data: only events; also days; also days, merges and hidden companies. */
type Stored = 'events' | 'days' | 'days and corrections'

/** The most rows that each question may read. */
function boundsOf(stored: Stored): Readonly<Record<string, number>> {
  // Others and merged companies are read apart.
  const times = stored === 'days and corrections' ? 2 : 1
  const daysOf = (days: number, rowsADay: number) =>
    stored === 'events' ? eventsOf(days) : times * (inGranules(days, rowsADay, DAY_GRANULE) + eventsOf(1))
  // Days of companies are limited by months, for both tenants; those of one company are in a granule or two of each.
  const companies = (days: number) =>
    stored === 'events'
      ? eventsOf(days)
      : TENANTS * storedInMonthsOf(days) * COMPANIES_A_DAY + (times > 1 ? MERGED_DAYS : 0) + times * eventsOf(1)
  const pages = (days: number) => daysOf(days, READERS_A_DAY) + (times > 1 ? MERGED : 0)
  const names = times * NAMES
  const heat = companies(30) + pages(30) + PAGE_NAMES
  // Events of one company, and its stored days, which are together.
  const oneOf = (days: number) => (stored === 'events' ? ONE : 2 * DAY_GRANULE * partsOf(days) + ONE)
  const one =
    READ_BASIS_SQL +
    2 * names +
    oneOf(DAYS) +
    oneOf(30) +
    (stored === 'events' ? ONE : pages(30)) +
    PAGE_NAMES +
    2 * ONE +
    TOUCHES_OF_ONE
  // A view reads intent pages from events, and has no part for merges unless there are some.
  const companiesView = READ_BASIS_SQL + NAMES + companies(DAYS) + eventsOf(30) + PAGE_NAMES
  return {
    'Home: week':
      READ_BASIS_SQL + NAMES + names + companies(35) + companies(37) + pages(37) + eventsOf(7) + 2 * PAGE_NAMES,
    // named_days of both tenants.
    'Home: named': READ_BASIS_SQL,
    // One month.
    'Home: tracked': TENANTS * COMPANIES,
    'Companies: version': READ_BASIS_SQL,
    'Companies: page': 2 * names,
    'Companies: details': READ_BASIS_SQL + companies(DAYS) + companies(30) + heat + TOUCHES,
    'Companies: by heat': READ_BASIS_SQL + 2 * names + heat,
    'Companies: by visits': READ_BASIS_SQL + 2 * names + companies(DAYS),
    // A filter reads the events of 30 days once.
    'Companies: page filter': 2 * names + eventsOf(30),
    'Companies: campaign filter': 2 * names + eventsOf(30),
    'Companies: segment': READ_BASIS_SQL + 2 * names + companies(30) + heat,
    // Sources and campaigns are two passes.
    'Companies: choices': 2 * names + 2 * eventsOf(30) + TOUCHES,
    'Companies: touch filter': 2 * names + TOUCHES,
    'Companies: matching': READ_BASIS_SQL + names + heat,
    'Companies: part': READ_BASIS_SQL + names + companies(DAYS) + heat + TOUCHES,
    'Companies: rows': READ_BASIS_SQL + names + companies(DAYS) + heat + TOUCHES,
    Company: one,
    'Company: origins': one + ONE,
    'Company: activity': 2 * ONE + TOUCHES_OF_ONE,
    'Company: events': ONE,
    Pages: READ_BASIS_SQL + names + pages(30),
    'Pages: companies': READ_BASIS_SQL + names + pages(30),
    Channels: READ_BASIS_SQL + companies(30) + TOUCHES,
    'Received: days': READ_BASIS_SQL + NAMES + companies(30),
    // named_days of both tenants.
    'Received: outcomes': READ_BASIS_SQL,
    // source_hours of both tenants and both sources.
    Sources: TENANTS * 2 * 24 * DAYS,
    'Intent pages': READ_BASIS_SQL + pages(DAYS),
    'Alerts: returns': READ_BASIS_SQL + names + companies(DAYS),
    'Alerts: first visits': NAMES,
    'Alerts: companies': NAMES,
    'Alerts: days': ONE,
    'Alerts: first received': NAMES,
    'view accounts': READ_BASIS_SQL + NAMES + companies(DAYS),
    'view companies': companiesView,
    'view company_heat': companiesView - NAMES,
    'view daily_visits': READ_BASIS_SQL + companies(DAYS),
  }
}

/** A client that adds to `counts` how many rows each of its queries read. */
function counting(client: ClickHouseClient, counts: number[]): ClickHouseClient {
  const query: ClickHouseClient['query'] = async (params) => {
    // The headers of an answer have the numbers of the whole query only if it has ended.
    const clickhouse_settings = { ...params.clickhouse_settings, wait_end_of_query: 1 } as const
    const result = await client.query({ ...params, clickhouse_settings })
    const summary = JSON.parse(String(result.response_headers['x-clickhouse-summary'])) as { read_rows: string }
    counts.push(Number(summary.read_rows))
    return result as never
  }
  return { query } as ClickHouseClient
}

/** Calls of pages by name. */
function questions(reader: QuestionReader): Readonly<Record<string, () => Promise<unknown>>> {
  const clock = { now: () => NOW_MS }
  const companies = new ClickHouseCompanies(reader, clock)
  const overview = new ClickHouseOverview(reader)
  const data = { lookup: () => assert.fail('no address is looked up'), organisationOf: () => undefined }
  const accuracy = new ClickHouseAccuracy(reader, clock, data, { listSources: async () => [] })
  const pages = new ClickHousePages(reader)
  const activity = new ClickHouseActivity(reader, clock)
  const visits = new ClickHouseVisits(reader, async () => [], clock)
  /** First seen this week. */
  const one = 'company-1900.example'
  const fifty = Array.from({ length: 50 }, (_, i) => `company-${i * 7}.example`)
  const days = Array.from({ length: 30 }, (_, i) => dayAgo(29 - i))
  return {
    'Home: week': () => new ClickHouseHome(reader).week('acme', NOW_MS),
    'Home: named': () => accuracy.named('acme', 7),
    'Home: tracked': () => overview.tracked('acme', TODAY.slice(0, 7), 1_000_000),
    'Companies: version': () => companies.version('acme'),
    'Companies: page': () => companies.page('acme', {}),
    'Companies: details': () => companies.details('acme', { companies: fifty }),
    'Companies: by heat': () => companies.page('acme', { sort: 'heat' }),
    'Companies: by visits': () => companies.page('acme', { sort: 'visits' }),
    'Companies: page filter': () => companies.page('acme', { page_contains: ['/pricing'], page_visits_min: 2 }),
    'Companies: campaign filter': () => companies.page('acme', { campaign: ['spring-2'] }),
    'Companies: touch filter': () => companies.page('acme', { first_channel: ['other campaign'] }),
    'Companies: segment': () =>
      companies.page('acme', { industry: ['Software'], visits_min: 3, days: 30, heat_min: 20 }),
    'Companies: choices': () => companies.choices('acme'),
    'Companies: matching': () => companies.matching('acme', { heat_min: 20 }, fifty),
    'Companies: part': () => companies.part('acme', {}, { after: '', updatedSinceMs: undefined, limit: 50 }),
    'Companies: rows': async () => {
      const all: unknown[] = []
      for await (const rows of companies.rows('acme', {}, new AbortController().signal)) all.push(...rows)
      return all
    },
    Company: () => companies.company('acme', one, 90),
    'Company: origins': async () => companies.origins('acme', (await companies.company('acme', one, 90))!),
    'Company: activity': () => activity.activity('acme', one, 90),
    'Company: events': () => activity.events('acme', one),
    Pages: async () => {
      const { rows, total } = await pages.pages('acme', span(30), days)
      // All companies of a page have the same number of visits, so any of them may be its top ones.
      return { rows: rows.map(({ top, ...row }) => ({ ...row, top: top.length })), total }
    },
    'Pages: companies': () => pages.companies('acme', span(30), { host: 'shop.example', path: '/pricing' }),
    Channels: () => new ClickHouseChannels(reader).channels('acme', span(30)),
    'Received: days': () => overview.eventDays('acme', span(30)),
    'Received: outcomes': () => overview.outcomes('acme', span(30)),
    Sources: () => new ClickHouseSources(reader, clock).counts('acme'),
    'Intent pages': () => new ClickHouseIntentPages(reader, clock).matches('acme', ['/pricing']),
    'Alerts: returns': () => visits.returns('acme', 14, NOW_MS - 7 * DAY_MS),
    'Alerts: first visits': () => visits.firstVisits('acme', NOW_MS - 7 * DAY_MS),
    'Alerts: companies': () => visits.companies('acme', [one]),
    'Alerts: days': () => visits.days('acme', [one]),
    'Alerts: first received': () => visits.firstReceived('acme', [one]),
  }
}

/** As analysts ask. */
const VIEWS: Readonly<Record<string, string>> = {
  'view accounts': 'SELECT * FROM accounts',
  'view companies': 'SELECT * FROM companies',
  'view company_heat': 'SELECT * FROM company_heat',
  'view daily_visits': 'SELECT * FROM daily_visits',
}

interface Answer {
  readonly answer: unknown
  readonly rowsRead: number
}

/** Answers of all questions by name. */
async function ask(client: ClickHouseClient): Promise<ReadonlyMap<string, Answer>> {
  const counts: number[] = []
  const counted = counting(client, counts)
  const ofViews = Object.entries(VIEWS).map(([name, query]) => {
    const format = 'JSONEachRow'
    const read = async () => {
      const result = await counted.query({ query: `${query} WHERE tenant_id = 'acme' ORDER BY ALL`, format })
      return await result.json()
    }
    return [name, read] as const
  })
  const answers = new Map<string, Answer>()
  for (const [name, call] of [...Object.entries(questions(new QuestionReader(counted))), ...ofViews]) {
    counts.length = 0
    const answer = await call()
    answers.set(name, { answer, rowsRead: counts.reduce((sum, count) => sum + count, 0) })
  }
  return answers
}

function assertRowsRead(answers: ReadonlyMap<string, Answer>, stored: Stored): void {
  const bounds = boundsOf(stored)
  assert.deepEqual([...answers.keys()].sort(), Object.keys(bounds).sort())
  const isAbove = ([name, { rowsRead }]: [string, Answer]) => rowsRead > bounds[name]!
  const above = [...answers].filter(isAbove).map(([name, { rowsRead }]) => `${name}: ${rowsRead} > ${bounds[name]}`)
  assert.deepEqual(above, [], `more rows than ${stored} need`)
}

test('each page reads projections, the index and stored days, and no more rows than it must', async (t) => {
  const step = stepsOf(t)
  const clickhouse = await startTestClickHouse(t)
  const days = new TestDays(clickhouse)
  t.after(() => days.tables.close())
  const client = connectReading(clickhouse.url, 'test')
  t.after(() => client.close())
  const run = (query: string) => clickhouse.client.command({ query })
  let fromEvents: ReadonlyMap<string, Answer>

  await step('nothing is stored but events', async () => {
    await run(SEED)
    await run('OPTIMIZE TABLE events FINAL')
    fromEvents = await ask(client)
    assertRowsRead(fromEvents, 'events')
  })
  await step('days are stored, and the answers are the same', async () => {
    while ((await days.tables.materialize()) !== undefined);
    const { newest } = await days.tables.stale(TODAY)
    await days.build(newest.filter(({ tenantId }) => tenantId === 'acme'))
    for (const table of DAY_TABLES) {
      // The other tenant has the same events, so its days have the same checks.
      await run(`INSERT INTO ${table} SELECT * REPLACE ('other' AS tenant_id) FROM ${table}`)
      await run(`OPTIMIZE TABLE ${table} FINAL`)
    }
    assert.deepEqual(await days.tables.stale(TODAY), { newest: [], total: 0 })
    const fromDays = await ask(client)
    assertRowsRead(fromDays, 'days')
    for (const [name, { answer }] of fromDays) {
      assert.notDeepEqual(answer, [], name)
      assert.deepEqual(answer, fromEvents.get(name)!.answer, name)
    }
  })
  await step('people merge and hide companies', async () => {
    const correct = (field: string, value: string, first: number) =>
      run(`
        INSERT INTO company_corrections
        SELECT 'acme', concat('company-', toString(${first} + number), '.example'), '${field}', now64(3), '${field}', '${value}', '', 'test', ''
        FROM numbers(3)`)
    await correct('counts_for', 'company-1910.example', 1_911)
    await correct('hidden', 'yes', 1_920)
    assertRowsRead(await ask(client), 'days and corrections')
  })
})
