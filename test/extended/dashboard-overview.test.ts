import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NamedAnswer } from '../../schemas/dashboard/accuracy.ts'
import type { ActivityEventsAnswer } from '../../schemas/dashboard/activity.ts'
import type { CompaniesPage } from '../../schemas/dashboard/companies.ts'
import type { HomeAnswer } from '../../schemas/dashboard/home.ts'
import type { OverviewAnswer } from '../../schemas/dashboard/overview.ts'
import type { PageCompaniesAnswer, PagesAnswer } from '../../schemas/dashboard/pages.ts'
import type { Corrections } from '../../schemas/data-corrections.ts'
import { companiesPath } from '../../src/dashboard/pages/lib/company-links.ts'
import { viewOf } from '../../src/dashboard/pages/lib/company-view.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { DAY_MS, event, NOON_MS, ODD, startCompanies, TODAY } from '../support/companies.ts'

const { clickhouse, redis, insert, operator, member } = await startCompanies()

test('the overview counts outcomes by day, and the use of the plan', async () => {
  const rows = [
    ['a', 'acme', TODAY, 'filtered', '', 'hosting', 77],
    ['b', 'acme', '2026-03-14', 'duplicates', '', 'business', 2],
    ['c', 'acme', '2026-02-01', 'invalid_ip', '', '', 9],
    ['d', 'other', TODAY, 'filtered', '', 'isp', 100],
  ] as const
  const values = rows.map(([source, tenant, day, ...rest]) => {
    const [status, reason, classification, events] = rest
    return { source, tenant_id: tenant, day, job_id: '', status, reason, classification, events }
  })
  await clickhouse.client.insert({ table: 'outcomes', values, format: 'JSONEachRow' })
  await redis.set(keys.tokens('acme', 'lookups', undefined, TODAY), 12)
  const found = await operator.read<OverviewAnswer>('/api/tenants/acme/overview?days=7')
  assert.deepEqual([found.from, found.to], ['2026-03-09', TODAY])
  const sum = (status: string) =>
    found.outcomes.filter((row) => row.status === status).reduce((n, { events }) => n + events, 0)
  assert.deepEqual(['stored', 'filtered', 'duplicates', 'invalid_ip'].map(sum), [6, 77, 2, 0])
  assert.deepEqual(found.event_days, [
    { day: '2026-03-13', companies: 1, new_companies: 1, known: 1, unknown: 0 },
    { day: '2026-03-14', companies: 1, new_companies: 0, known: 1, unknown: 0 },
    { day: TODAY, companies: 2, new_companies: 1, known: 3, unknown: 1 },
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
  assert.match(
    found.warning!.text,
    /^77 of 82 events since yesterday came from addresses of a hosting provider, .*send the address of the visitor/,
  )
  const { usage: used } = found
  assert.deepEqual(used.lookups, { used: 12, limit: 1_000, resets_at: '2026-03-16T00:00:00.000Z' })
  assert.deepEqual(used.accounts, { used: 4, limit: 500, month: '2026-03', passed_at: null })
  assert.deepEqual(used.rate, { per_second: 5, burst: 20, left: 20 })
  const other = await operator.read<OverviewAnswer>('/api/tenants/quiet/overview')
  assert.deepEqual([other.warning, other.usage.lookups.used], [null, 0])
})

test('the overview counts kept events by day of receipt and by day of the event, both exact', async () => {
  // A file of this morning with past events, one event of tomorrow, and some of last month on these days.
  const received =
    (atMs: number) =>
    (days: number, company = '') =>
      event(company, { tenant_id: 'quiet', received_at: atMs, timestamp: NOON_MS + days * DAY_MS, classification: '' })
  const [today, lastMonth] = [received(NOON_MS), received(NOON_MS - 31 * DAY_MS)]
  await insert([today(-400, 'old.example'), today(-20), today(-3, 'a.example'), today(-3), today(-3, 'a.example')])
  await insert([today(1, 'a.example'), today(0), lastMonth(-1, 'b.example'), lastMonth(-6), lastMonth(-7)])
  const found = await operator.read<OverviewAnswer>('/api/tenants/quiet/overview?days=7')
  assert.deepEqual(found.outcomes, [{ day: TODAY, status: 'stored', reason: '', classification: '', events: 7 }])
  // An event more than a day ahead of its receipt does not count for when its company was first seen.
  assert.deepEqual(found.event_days, [
    { day: '2026-03-09', companies: 0, new_companies: 0, known: 0, unknown: 1 },
    { day: '2026-03-12', companies: 1, new_companies: 1, known: 2, unknown: 1 },
    { day: '2026-03-14', companies: 1, new_companies: 0, known: 1, unknown: 0 },
    { day: TODAY, companies: 0, new_companies: 0, known: 0, unknown: 1 },
  ])
  assert.deepEqual([found.companies_seen, found.companies_new], [2, 1])
  assert.equal((await member.get('/api/tenants/quiet/overview')).status, 404)
  const other = await member.read<OverviewAnswer>('/api/tenants/acme/overview?days=7')
  assert.equal(
    other.event_days.find(({ day }) => day === '2026-03-12'),
    undefined,
  )
})

test('Accuracy has the events that could be named, and what people corrected', async () => {
  const named = await member.read<NamedAnswer>('/api/tenants/acme/accuracy/named?days=7')
  assert.deepEqual([named.now.named, named.now.others.unknown, named.now.others.hosting], [5, 1, 77])
  assert.deepEqual([named.weeks.length, named.weeks.at(-1)], [2, named.now])
  const corrected = await member.read<Corrections>('/api/tenants/acme/accuracy/corrections')
  assert.deepEqual([corrected.corrections, corrected.companies], [[], 4])
  for (const part of ['named', 'corrections']) {
    assert.equal((await member.get(`/api/tenants/quiet/accuracy/${part}`)).status, 404)
    assert.equal((await member.get(`/api/tenants/acme/accuracy/${part}?days=0`)).status, 422)
  }
})

test('home names new companies, those that are heating up and those that came back, with numbers of both weeks', async () => {
  const days = (company: string, ago: readonly number[], pageOf = (day: number) => String(day)) =>
    ago.map((day, i) =>
      event(company, {
        ...{ tenant_id: 'masked', timestamp: NOON_MS - day * DAY_MS, received_at: NOON_MS - day * DAY_MS },
        ...{ ip: `192.0.2.${i}`, extra: JSON.stringify({ url: `https://www.site.example/${pageOf(day)}?q=1` }) },
      }),
    )
  await insert([
    ...days('steady.example', [0, 7, 14, 21, 28]),
    ...days('rising.example', [0, 1, 2, 3, 10, 30]),
    // Exactly 14 days, and one day less.
    ...days('back.example', [3, 17]),
    ...days('nearly.example', [3, 16]),
    // Nothing since before the days that are read.
    ...days('long-ago.example', [1, 200]),
    ...days('young.example', [6, 6, 2]),
    ...days('gone.example', [8]),
    // As many visits as ever, but of another page.
    ...days('keen.example', [0, 2, 4, 7, 9, 11, 14, 16, 18], (day) =>
      day > 6 ? 'docs' : day === 0 ? 'team' : 'Pricing',
    ),
    // No heat is left to gain, but twice the visits.
    ...days('often.example', [...Array(28).keys(), ...Array(7).keys()]),
  ])
  const found = await operator.read<HomeAnswer>('/api/tenants/masked/home')
  assert.deepEqual([found.from, found.to], ['2026-03-09', TODAY])
  // One more company of this tenant comes with the fixture.
  assert.deepEqual(found.now, { companies: 9, new_companies: 2, visits: 29, events: 29 })
  assert.deepEqual(found.before, { companies: 5, new_companies: 1, visits: 13, events: 13 })
  assert.deepEqual(found.daily_visits, [1, 1, 2, 2, 2, 2, 3, 4, 2, 3, 5, 5, 4, 6])
  assert.deepEqual(
    found.to_look_at.map(({ company_id }) => company_id),
    ['keen.example', 'young.example', 'back.example', 'rising.example', 'masked.example'],
  )
  assert.equal(found.to_look_at[0]!.why, 'is heating up: heat 71, 17 more than 7 days before, read /Pricing')
  assert.deepEqual([found.named.now.named, found.named.now.events, found.named.before.named], [29, 29, 13])
  const ids = (rows: HomeAnswer['newcomers']) => rows.map(({ company_id }) => company_id)
  assert.deepEqual(ids(found.newcomers), ['young.example', 'masked.example'])
  assert.deepEqual(ids(found.rising), ['keen.example', 'rising.example', 'often.example'])
  assert.deepEqual(ids(found.returned), ['back.example', 'long-ago.example'])
  // It has been known for 3.4 weeks before this one.
  const [keen, rising, often] = found.rising
  assert.deepEqual(
    [keen!.heat, keen!.heat_before, keen!.week_days, keen!.intent_page],
    [
      {
        ...{ heat: 71, recency: 30, frequency: 25, depth: 3, intent: 13 },
        ...{ active_days: 9, events_per_day: 1, intent_days: 2, days_ago: 0 },
      },
      ...[54, 3, 'site.example/Pricing'],
    ],
  )
  assert.deepEqual([often!.week_visits, often!.usual_visits, often!.heat!.heat - often!.heat_before], [14, 7, 1])
  assert.deepEqual([rising!.heat!.heat, rising!.heat_before, rising!.intent_page], [52, 37, ''])
  assert.deepEqual([rising!.week_visits, rising!.usual_visits, rising!.daily_visits.length], [4, 0.6, 35])
  assert.deepEqual(rising!.daily_visits.slice(-7), [0, 0, 0, 1, 1, 1, 1])
  assert.deepEqual([rising!.first_page, rising!.last_page], ['site.example/3', 'site.example/0'])
  assert.deepEqual(
    found.returned.map(({ first_day, last_day_before }) => [first_day, last_day_before]),
    [
      ['2026-03-12', '2026-02-26'],
      ['2026-03-14', null],
    ],
  )
  assert.equal((await member.get('/api/tenants/masked/home')).status, 404)
})

test('pages count companies and visits without their queries, and name their readers', async () => {
  const read = (company: string, url: string, ago = 0, ip = '192.0.2.1') =>
    event(company, {
      ...{ tenant_id: 'other', timestamp: NOON_MS - ago * DAY_MS, ip, extra: JSON.stringify({ url }) },
    })
  await insert([
    read('a.example', 'https://www.site.example/pricing?utm_source=x#top'),
    read('a.example', 'https://site.example/pricing', 0, '192.0.2.2'),
    read('b.example', 'https://site.example/pricing', 1),
    read('b.example', '/pricing', 1),
    read('b.example', 'https://site.example', 2),
    read('a.example', 'https://site.example/old', 20),
    read('', 'https://site.example/pricing'),
  ])
  const span = `from=2026-03-09&to=${TODAY}`
  const found = await operator.read<PagesAnswer>(`/api/tenants/other/pages?${span}`)
  assert.deepEqual(
    found.rows.map(({ host, path, companies, visits, events }) => [host, path, companies, visits, events]),
    [
      ['site.example', '/pricing', 2, 3, 3],
      ['', '/pricing', 1, 1, 1],
      ['site.example', '/', 1, 1, 1],
    ],
  )
  assert.equal(found.total, 3)
  assert.deepEqual(found.rows[0]!.daily_visits, [0, 0, 0, 0, 0, 1, 2])
  assert.deepEqual(
    found.rows[0]!.top.map(({ company_id }) => company_id),
    ['a.example', 'b.example'],
  )
  const readers = await operator.read<PageCompaniesAnswer>(
    `/api/tenants/other/pages/companies?${span}&host=site.example&path=${encodeURIComponent('/pricing')}`,
  )
  assert.deepEqual(
    readers.rows.map(({ company_id, visits, last_read }) => [company_id, visits, last_read.slice(0, 10)]),
    [
      ['a.example', 2, TODAY],
      ['b.example', 1, '2026-03-14'],
    ],
  )
  const searched = await operator.read<PagesAnswer>(`/api/tenants/other/pages?${span}&search=EXAMPLE%2FPri`)
  assert.deepEqual([searched.total, searched.rows[0]!.path], [1, '/pricing'])
  const wrong = await operator.get('/api/tenants/other/pages?from=2025-01-01&to=2026-03-01')
  assert.deepEqual(
    [wrong.status, ((await wrong.json()) as { detail: string }).detail],
    [422, 'from: choose at most 92 days'],
  )
  assert.equal((await operator.get(`/api/tenants/other/pages?from=2026-02-30&to=${TODAY}`)).status, 422)
})

test('home and pages follow corrections at once: a merged company counts for its target, a hidden one not at all', async () => {
  const read = (company: string, ip: string) =>
    event(company, { tenant_id: 'masked', ip, extra: JSON.stringify({ url: 'https://site.example/corrected' }) })
  await insert([
    read('target.example', '192.0.2.1'),
    read('part.example', '192.0.2.2'),
    read('hidden.example', '192.0.2.3'),
  ])
  const row = (company_id: string, field: string, value: string) => ({
    ...{
      tenant_id: 'masked',
      company_id,
      field,
      value,
      at: '2026-03-15 12:00:00',
      change_id: `${company_id} ${field}`,
    },
  })
  const values = [
    row('part.example', 'counts_for', 'target.example'),
    row('hidden.example', 'hidden', 'yes'),
    row('target.example', 'name', 'Target, as people call it'),
  ]
  await clickhouse.client.insert({ table: 'company_corrections', values, format: 'JSONEachRow' })
  const { newcomers } = await operator.read<HomeAnswer>('/api/tenants/masked/home')
  const [first] = newcomers.filter(({ company_id }) => company_id !== 'young.example')
  assert.deepEqual(
    [first!.company_id, first!.name, first!.week_visits],
    ['target.example', 'Target, as people call it', 2],
  )
  const ids = newcomers.map(({ company_id }) => company_id)
  assert.deepEqual([ids.includes('part.example'), ids.includes('hidden.example')], [false, false])
  const span = `from=2026-03-09&to=${TODAY}&search=corrected`
  const { rows } = await operator.read<PagesAnswer>(`/api/tenants/masked/pages?${span}`)
  assert.deepEqual(
    [rows[0]!.companies, rows[0]!.visits, rows[0]!.top.map(({ name }) => name)],
    [1, 2, ['Target, as people call it']],
  )
  const { events } = await operator.read<ActivityEventsAnswer>(
    '/api/tenants/masked/companies/of/target.example/activity/events',
  )
  assert.deepEqual(events.map(({ ip }) => ip).sort(), ['192.0.2.1', '192.0.2.2'])
})

test('a number of companies is the number of rows that its link opens', async () => {
  // A company whose clock is a year ahead was first seen when its event was received.
  await insert([
    event('ahead.example', { tenant_id: 'masked', timestamp: NOON_MS + 366 * DAY_MS, received_at: NOON_MS }),
    event('quiet.example', {
      tenant_id: 'masked',
      timestamp: NOON_MS - 60 * DAY_MS,
      received_at: NOON_MS - 60 * DAY_MS,
    }),
  ])
  const rowsOf = async (path: string) => {
    const view = viewOf(new URLSearchParams(path.split('?')[1]))
    const given = Object.entries(view).filter(([, value]) => value !== undefined)
    const query = new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]))
    return (await operator.read<CompaniesPage>(`/api/tenants/masked/companies?${query}`)).total
  }
  const { from, to, now } = await operator.read<HomeAnswer>('/api/tenants/masked/home')
  assert.equal(await rowsOf(companiesPath('masked', { from, to })), now.companies)
  assert.equal(await rowsOf(companiesPath('masked', { from, to, newSince: from })), now.new_companies)
  assert.equal(await rowsOf(companiesPath('masked', { from, to, newDays: 7 })), now.new_companies)
  for (const days of [7, 30, 90]) {
    const found = await operator.read<OverviewAnswer>(`/api/tenants/masked/overview?days=${days}`)
    const span = { from: found.from, to: found.to }
    assert.equal(await rowsOf(companiesPath('masked', span)), found.companies_seen, `seen in ${days} days`)
    assert.equal(
      await rowsOf(companiesPath('masked', { newSince: found.from })),
      found.companies_new,
      `new in ${days} days`,
    )
    const today = found.event_days.find(({ day }) => day === TODAY)!
    assert.equal(await rowsOf(companiesPath('masked', { from: TODAY, to: TODAY })), today.companies)
  }
})
