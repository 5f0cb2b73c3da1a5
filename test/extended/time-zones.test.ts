import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { ClickHouseCompanies } from '../../src/companies/companies.ts'
import { companiesAndUnknown } from '../../src/companies/corrected.ts'
import { accountlessVisits, companyDays, pageDays, readBasis, WITHIN } from '../../src/companies/days.ts'
import { ClickHouseHome } from '../../src/companies/home.ts'
import { ClickHousePages } from '../../src/companies/pages.ts'
import { isTimeZone } from '../../src/run/time-zone.ts'
import { connectReading, QuestionReader } from '../../src/stores/clickhouse/reader.ts'
import { ZONE_DAY_TABLES } from '../../src/stores/clickhouse/tables.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { TestDays } from '../support/days.ts'
import { type EventRow, eventInserter } from '../support/event-rows.ts'
import { modelHome } from '../support/home-model.ts'
import { randomOf } from '../support/random.ts'
import { stepsOf } from '../support/steps.ts'
import { until } from '../support/until.ts'

/* Numbers of pages in several zones, against sums of raw events by days that Intl finds. */

const DAY_MS = 86_400_000
const TENANT = 'acme'
const ZONES = ['Europe/Berlin', 'Asia/Kolkata', 'America/St_Johns', 'Pacific/Apia', 'America/Sao_Paulo', 'UTC']
/** Clocks changed on these days: Apia left a day out, Sao Paulo has no midnight, St. John's and Berlin have days of 23 and 25 hours. */
const CHANGES = ['2011-12-30', '2018-11-04', '2025-03-09', '2025-03-30', '2025-10-26', '2025-11-02']

/** What clocks of a zone show: `2025-03-30 03:15:00`. */
const clocks = new Map<string, Intl.DateTimeFormat>()
function localText(zone: string, ms: number): string {
  const known =
    clocks.get(zone) ?? new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' })
  clocks.set(zone, known)
  return known.format(ms)
}
const localDay = (zone: string, ms: number) => localText(zone, ms).slice(0, 10)
const plus = (day: string, days: number) => new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10)

const clickhouse = await startTestClickHouse()
const client = connectReading(clickhouse.url, 'test')
const reader = new QuestionReader(client)
const days = new TestDays(clickhouse)
after(() => Promise.all([client.close(), days.tables.close()]))
const insert = eventInserter(clickhouse)
const events: EventRow[] = []

/** Events of a few companies, at all hours of the days around a change of clocks. c1 counts for c0. */
async function add(day: string, count: number, seed: number): Promise<void> {
  const random = randomOf(seed)
  const made = Array.from({ length: count }, (_, i): EventRow => {
    const company = random(7)
    const company_id = company === 6 ? '' : `c${company}.example`
    const timestamp = Date.parse(day) - 2 * DAY_MS + random(5 * 24 * 60) * 60_000
    return {
      ...{ event_id: `${seed}-${i}`, company_id, timestamp, received_at: timestamp, ip: `192.0.2.${random(4)}` },
      account_id: company === 6 && random(2) === 0 ? '' : random(4) === 0 ? `crm-${random(3)}` : company_id,
      extra: random(4) === 0 ? '' : JSON.stringify({ url: `https://shop.example/${['pricing', 'docs'][random(2)]}` }),
    }
  })
  events.push(...made)
  await insert(TENANT, made)
}

interface Counted {
  readonly key: string
  readonly events: number
  readonly visits: number
}

/** Events and distinct addresses by key, in order. @param keyOf undefined: it does not count */
function counted(keyOf: (event: EventRow) => string | undefined): Counted[] {
  const found = new Map<string, EventRow[]>()
  for (const event of events) {
    const key = keyOf(event)
    if (key !== undefined) found.set(key, [...(found.get(key) ?? []), event])
  }
  return inOrder(
    [...found].map(([key, of]) => ({ key, events: of.length, visits: new Set(of.map(({ ip }) => ip)).size })),
  )
}
const inOrder = <T extends { readonly key: string }>(rows: T[]) => rows.sort((a, b) => (a.key < b.key ? -1 : 1))

const targetOf = ({ company_id: id }: EventRow) => (id === 'c1.example' ? 'c0.example' : String(id))
const pageOf = ({ extra }: EventRow) => (extra === '' ? '' : new URL(JSON.parse(String(extra)).url).pathname)

/** Fails with the rows that differ. */
function assertEqual(found: readonly Counted[], expected: readonly Counted[], message: string): void {
  const texts = (rows: readonly Counted[]) => rows.map(({ key, events, visits }) => `${key}: ${events} ${visits}`)
  const [have, want] = [new Set(texts(found)), new Set(texts(expected))]
  assert.equal(have.size, found.length, `${message}: a row twice`)
  assert.deepEqual(
    { more: [...have].filter((text) => !want.has(text)), missing: [...want].filter((text) => !have.has(text)) },
    { more: [], missing: [] },
    message,
  )
}

/** All days of a zone by company, by page and company, and without an account. */
async function assertDays(zone: string, state: string): Promise<void> {
  const basis = await readBasis(reader, TENANT, 'pages', zone)
  const day = ({ timestamp }: EventRow) => localDay(zone, Number(timestamp))
  const named = `(SELECT DISTINCT company, company_id FROM events WHERE tenant_id = '${TENANT}')`
  const rows = async (query: string, parameters: object = {}) =>
    inOrder([...(await reader.rows<Counted>(query, { tenant: TENANT, ...parameters }))])
  const byCompany = (days: string) => `
    SELECT concat(named.company_id, ' ', toString(day)) AS key, days.events AS events, days.visits AS visits
    FROM (${days}) AS days INNER JOIN ${named} AS named USING company`
  assertEqual(
    await rows(byCompany(companyDays(basis, { companies: companiesAndUnknown(basis) }))),
    counted((event) => `${targetOf(event)} ${day(event)}`),
    `${zone}, ${state}: companies`,
  )
  assertEqual(
    await rows(`
      SELECT concat(substring(page, position(page, '/')), ' ', named.company_id, ' ', toString(day)) AS key, days.events AS events, days.visits AS visits
      FROM (${pageDays(basis, { within: {} })}) AS days INNER JOIN ${named} AS named USING company`),
    counted((event) => {
      const page = pageOf(event)
      return page === '' || event.company_id === '' ? undefined : `${page} ${targetOf(event)} ${day(event)}`
    }),
    `${zone}, ${state}: pages`,
  )
  // Windows of one change each, so that queries name UTC days around them.
  for (const changed of CHANGES.slice(0, 4).filter((_, i) => i % 2 === 0 || zone === 'Europe/Berlin')) {
    const [from, to] = [plus(changed, -1), changed]
    const isIn = (event: EventRow) => day(event) >= from && day(event) <= to
    assertEqual(
      await rows(byCompany(companyDays(basis, { within: WITHIN })), { from, to }),
      counted((event) => (isIn(event) && event.company_id !== '' ? `${targetOf(event)} ${day(event)}` : undefined)),
      `${zone}, ${state}: companies from ${from} to ${to}`,
    )
    const [found] = await reader.rows<{ visits: number }>(
      `SELECT sum(visits) AS visits FROM (${accountlessVisits(basis, WITHIN)})`,
      { tenant: TENANT, from, to },
    )
    const expected = counted((event) => (isIn(event) && event.account_id === '' ? day(event) : undefined))
    assert.equal(
      found?.visits,
      expected.reduce((sum, { visits }) => sum + visits, 0),
      `${zone}, ${state}: visits without an account`,
    )
  }
}

/** What pages show of the days around each change. */
async function assertPages(zone: string): Promise<void> {
  for (const changed of CHANGES.slice(-3)) {
    const nowMs = Date.parse(changed) + 1.5 * DAY_MS
    const zoneOf = async () => zone
    const companies = new ClickHouseCompanies(reader, { now: () => nowMs }, undefined, zoneOf)
    const today = localDay(zone, nowMs)
    const from = plus(today, -2)
    const day = ({ timestamp }: EventRow) => localDay(zone, Number(timestamp))
    const inDays = (event: EventRow) => day(event) >= from && day(event) <= today
    const ofCompany = counted((event) => (inDays(event) && event.company_id !== '' ? targetOf(event) : undefined))
    const byDay = counted((event) =>
      inDays(event) && event.company_id !== '' ? `${targetOf(event)} ${day(event)}` : undefined,
    )
    const visitsOf = (id: string) =>
      byDay.filter(({ key }) => key.startsWith(id)).reduce((sum, { visits }) => sum + visits, 0)
    const list = await companies.page(TENANT, { days: 3, sort: 'visits', direction: 'desc' })
    assert.deepEqual(
      inOrder(list.rows.map(({ company_id: key, events }) => ({ key, events }))),
      ofCompany.map(({ key, events }) => ({ key, events })),
      `${zone}: the list of ${today}`,
    )
    const shown = await companies.details(TENANT, { days: 3, companies: ofCompany.map(({ key }) => key) })
    for (const { company_id: id, visits, unique_ips, daily_visits } of shown.companies) {
      const expected = [2, 1, 0].map(
        (ago) => byDay.find(({ key }) => key === `${id} ${plus(today, -ago)}`)?.visits ?? 0,
      )
      const { visits: addresses } = ofCompany.find(({ key }) => key === id)!
      assert.deepEqual(
        { visits, unique_ips, last: daily_visits.slice(-3) },
        { visits: visitsOf(id), unique_ips: addresses, last: expected },
        `${zone}: ${id} on ${today}`,
      )
    }
    const most = { days: 3, visits_min: visitsOf('c0.example') }
    assert.deepEqual(
      (await companies.page(TENANT, most)).rows.map((row) => row.company_id).sort(),
      ofCompany.map(({ key }) => key).filter((key) => visitsOf(key) >= visitsOf('c0.example')),
    )
    const read = await new ClickHousePages(reader, zoneOf).pages(TENANT, { from, to: today }, [
      from,
      plus(from, 1),
      today,
    ])
    for (const { path, daily_visits } of read.rows) {
      const ofPage = counted((event) =>
        pageOf(event) === path && event.company_id !== '' ? `${targetOf(event)} ${day(event)}` : undefined,
      )
      assert.deepEqual(
        daily_visits,
        [from, plus(from, 1), today].map((at) =>
          ofPage.filter(({ key }) => key.endsWith(at)).reduce((sum, { visits }) => sum + visits, 0),
        ),
        `${zone}: ${path} up to ${today}`,
      )
    }
    const one = await companies.company(TENANT, 'c2.example', 90)
    assert.deepEqual(
      one!.days.map(({ day: at, events, visits }) => ({ key: at, events, visits })),
      counted((event) =>
        event.company_id === 'c2.example' && day(event) >= one!.from && day(event) <= one!.to ? day(event) : undefined,
      ),
      `${zone}: the chart of a company`,
    )
    const unknown = await companies.unknownNetworks({ id: TENANT }, { days: 3 })
    const accountless = counted((event) => (inDays(event) && event.account_id === '' ? day(event) : undefined))
    const sum = accountless.reduce((all, { visits }) => all + visits, 0)
    assert.deepEqual([unknown.from, unknown.to, unknown.visits], [from, today, sum], `${zone}: unknown networks`)
    assert.equal(await companies.unknownVisits(TENANT, 3), sum)
    // The model counts UTC days, so it gets what the clocks show.
    const shift = (ms: number) => Date.parse(`${localText(zone, ms).replace(' ', 'T')}Z`)
    const shifted = events.map((event) => {
      const timestamp = shift(Number(event.timestamp))
      return { ...event, timestamp, received_at: timestamp }
    })
    const merged = new Map([['c1.example', { countsFor: 'c0.example', hidden: false }]]) as never
    const { now, before, daily_visits: daily } = modelHome(shifted, merged, shift(nowMs))
    const week = await new ClickHouseHome(reader, zoneOf).week(TENANT, nowMs)
    assert.deepEqual(
      [week.to, week.now, week.before, week.daily_visits],
      [today, now, before, daily],
      `${zone}: Home on ${today}`,
    )
  }
}

async function build(zone: string): Promise<void> {
  days.zones = new Map(zone === 'UTC' ? [] : [[TENANT, zone]])
  await days.build()
  assert.deepEqual(await days.stale(), [])
}

/** How many UTC days are read from builds, and how many from events. */
async function sourcesOf(zone: string) {
  const { companies, pages } = await readBasis(reader, TENANT, 'pages', zone)
  const utcDays = new Set(events.map(({ timestamp }) => Math.floor(Number(timestamp) / DAY_MS)))
  const live = companies.live!.filter((day) => utcDays.has(day)).length
  return { stored: companies.builds.length, storedPages: pages.builds.length, live, all: utcDays.size }
}

const dailyVisits = () =>
  clickhouse.rows(`
    SELECT account_id, toString(day) AS day, visits, events FROM daily_visits WHERE tenant_id = '${TENANT}' ORDER BY ALL`)

test('numbers of pages follow the days of a zone, in every state of the stored days', async (t) => {
  const step = stepsOf(t)
  for (const [i, day] of CHANGES.entries()) await add(day, 120, i + 1)
  await clickhouse.client.insert({
    table: 'company_corrections',
    values: ['merged_into', 'counts_for'].map((field) => ({
      ...{ tenant_id: TENANT, company_id: 'c1.example', field, at: '2026-01-01 00:00:00.000' },
      ...{ change_id: 'change', value: 'c0.example', before: '', by: 'test', undoes: '' },
    })),
    format: 'JSONEachRow',
  })
  await step('nothing is stored', async () => {
    for (const zone of ZONES) await assertDays(zone, 'live')
    await assertPages('America/St_Johns')
  })
  const utc = await dailyVisits()
  await step('the days of one zone are stored', async () => {
    await build('Europe/Berlin')
    const { stored, storedPages, live, all } = await sourcesOf('Europe/Berlin')
    assert.deepEqual([stored, live], [all, 0])
    assert.ok(storedPages > 0)
    assert.equal((await sourcesOf('Asia/Kolkata')).stored, 0, 'the builds of another zone do not count')
    for (const zone of ZONES) await assertDays(zone, 'days of Berlin are stored')
    await assertPages('Europe/Berlin')
    assert.deepEqual(await dailyVisits(), utc, 'views keep UTC days')
  })
  await step('late events leave stored and live days', async () => {
    await add('2025-03-30', 40, 50)
    await add('2025-10-26', 1, 51)
    const { stored, live } = await sourcesOf('Europe/Berlin')
    assert.ok(stored > 0 && live > 0, `${stored} stored, ${live} live`)
    await assertDays('Europe/Berlin', 'mixed')
    await assertPages('Europe/Berlin')
  })
  await step('the zone changes', async () => {
    for (const zone of ['Asia/Kolkata', 'America/St_Johns', 'Pacific/Apia', 'America/Sao_Paulo']) {
      await assertDays(zone, 'before it is built')
      await build(zone)
      assert.equal((await sourcesOf(zone)).live, 0)
      await assertDays(zone, 'stored')
    }
    await assertPages('America/Sao_Paulo')
    assert.equal((await sourcesOf('Europe/Berlin')).stored, 0, 'newer builds of another zone have replaced its builds')
    await assertDays('Europe/Berlin', 'replaced')
  })
  await step('replaced builds are removed', async () => {
    for (const table of ZONE_DAY_TABLES) {
      const { builds } = await days.tables.replaced(table)
      assert.ok(builds.length > 0)
      await days.tables.condemn(table, builds)
      await assertDays('America/Sao_Paulo', 'condemned')
      await days.tables.remove(table, builds)
    }
    await assertDays('America/Sao_Paulo', 'removed')
    assert.equal((await sourcesOf('America/Sao_Paulo')).live, 0)
  })
  await step('in UTC again, nothing has to be built', async () => {
    days.zones = new Map()
    assert.deepEqual(await days.stale(), [])
    await assertDays('UTC', 'stored')
    await assertPages('UTC')
  })
  await step('in UTC again, the cuts are removed', async () => {
    for (const table of ZONE_DAY_TABLES) {
      assert.deepEqual((await days.tables.replaced(table, new Map([[TENANT, 'America/Sao_Paulo']]))).builds, [])
      const { builds, share } = await days.tables.replaced(table, new Map([['other', 'Asia/Kolkata']]))
      assert.equal(share, 1)
      await days.tables.condemn(table, builds)
      await days.tables.remove(table, builds)
      await until(async () => !(await days.tables.isRemoving(table)))
      assert.deepEqual(await clickhouse.rows(`SELECT 1 FROM ${table}`), [])
    }
    await assertDays('UTC', 'without cuts')
    await assertDays('America/Sao_Paulo', 'without cuts')
  })
})

test('ClickHouse knows every zone that a workspace can have, and its day', async () => {
  const zones = Intl.supportedValuesOf('timeZone').filter(isTimeZone)
  assert.ok(zones.length > 400)
  const found = zones.map((zone) => `toString(toDate32(now('${zone}')))`).join()
  const today = () => zones.map((zone) => localDay(zone, Date.now()))
  const before = today()
  const [row] = await clickhouse.rows<{ days: string[] }>(`SELECT [${found}] AS days`)
  const now = today()
  assert.deepEqual(
    zones.filter((_, i) => ![before[i], now[i]].includes(row!.days[i])),
    [],
  )
})
