import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CompanyChoices } from '../../schemas/companies.ts'
import type { CompaniesPage, CompanyDetailsAnswer } from '../../schemas/dashboard/companies.ts'
import type { CorrectedAnswer, CorrectionsAnswer, CorrectionsStateAnswer } from '../../schemas/dashboard/corrections.ts'
import {
  INTENT_PAGES,
  type IntentPageMatchesAnswer,
  type IntentPagesAnswer,
} from '../../schemas/dashboard/intent-pages.ts'
import type { PageCompaniesAnswer, PagesAnswer } from '../../schemas/dashboard/pages.ts'
import { ClickHouseCompanies } from '../../src/companies/companies.ts'
import { companiesPath } from '../../src/dashboard/pages/lib/company-links.ts'
import { viewOf } from '../../src/dashboard/pages/lib/company-view.ts'
import { ClickHouseOverview } from '../../src/dashboard/queries/overview.ts'
import { QuestionReader } from '../../src/stores/clickhouse/reader.ts'
import { clock, DAY_MS, event, NOON_MS, ODD, startCompanies, TODAY } from '../support/companies.ts'

const { clickhouse, client, insert, member, operator } = await startCompanies()

const page = (query = '', tenant = 'acme') =>
  operator.read<CompaniesPage>(`/api/tenants/${tenant}/companies${query === '' ? '' : `?${query}`}`)

const ids = async (query: string) => (await page(query)).rows.map(({ company_id }) => company_id)

test('the list matches the view companies, row by row', async () => {
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

test('lists, details, searches and days read sums from the projections', async () => {
  type Given = Parameters<typeof client.query>[0]
  const asked: Given[] = []
  const watching = Object.create(client) as typeof client
  watching.query = ((given: Given) => {
    asked.push(given)
    return client.query(given)
  }) as typeof client.query
  const store = new ClickHouseCompanies(new QuestionReader(watching), clock)
  const sums = new ClickHouseOverview(new QuestionReader(watching))
  const days = { from: '2026-03-01', to: TODAY }
  await store.page('acme', { search: 'a', sort: 'visits' })
  await store.page('acme', { ...days, sort: 'unique_ips', country: ['DE'] })
  await store.page('acme', { ...days, sort: 'events' })
  await store.details('acme', { companies: ['anvil.example'] })
  await store.details('acme', { companies: ['anvil.example'], ...days })
  await store.choices('acme')
  await store.version('acme')
  await sums.eventDays('acme', days)
  await sums.outcomes('acme', days)
  const read = new Set<string>()
  // No projection has sources or campaigns, nor the pages that heat reads.
  for (const given of asked.filter(({ query }) => !/utm_campaign|intent_bits/.test(query))) {
    const result = await client.query({ ...given, query: `EXPLAIN ${given.query}`, format: 'TabSeparatedRaw' })
    for (const [, name] of (await result.text()).matchAll(/ReadFromMergeTree \((.*?)\)/g)) read.add(name!)
  }
  const projections = ['company_sums', 'company_texts', 'company_touches', 'ipid.events', 'named_days']
  assert.deepEqual([...read].sort(), projections)
})

test('a list is filtered, sorted and cut into pages', async () => {
  assert.deepEqual(await ids(''), ['anvil.example', 'clamp.example', ODD, 'bolt.example'])
  assert.deepEqual(await ids('sort=events'), ['anvil.example', ODD, 'bolt.example', 'clamp.example'])
  assert.deepEqual(await ids('sort=visits&limit=1'), ['anvil.example'])
  assert.deepEqual(await ids('sort=unique_ips&direction=asc&offset=3'), ['anvil.example'])
  assert.deepEqual(await ids('sort=quality&direction=asc&limit=1'), ['bolt.example'])
  // Unknown values come last in both directions.
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

test('companies are filtered by pages, sources, campaigns and counts', async () => {
  const url = (text: string) => ({ extra: `{"url":"https://shop.example${text}"}` })
  const rows = [
    event('reader.example', { ...url('/pricing'), ip: '192.0.2.1', industry: 'Software' }),
    event('reader.example', { ...url('/pricing#plans'), ip: '192.0.2.1', timestamp: NOON_MS - DAY_MS }),
    event('slashes.example', {
      extra: '{"url":"https:\\/\\/shop.example\\/docs\\/Pricing?a=1"}',
      industry: 'Software',
    }),
    event('escaped.example', { extra: '{"url":"https://shop.example/pr\\u0069cing"}', industry: 'Banking' }),
    event('umlaut.example', { properties: '{"path":"/größe/\\u00e4"}', industry: 'Banking', country_code: 'FR' }),
    event('old.example', { ...url('/pricing'), timestamp: NOON_MS - 40 * DAY_MS }),
    event('old.example', { ...url('/blog'), ip: '192.0.2.7' }),
    event('mail.example', { ...url('/?utm_campaign=spring%20sale'), source_id: 'src_000000a1' }),
    event('app.example', { properties: '{"utm_campaign":"spring sale"}', source_id: 'src_000000b2', ip: '192.0.2.9' }),
    event('app.example', { ...url('/twice'), ip: '192.0.2.8' }),
    event('app.example', { ...url('/twice'), ip: '192.0.2.8' }),
  ]
  await insert(rows.map((row) => ({ ...row, tenant_id: 'shop' })))
  const found = async (query: string) =>
    (await page(`${query}&sort=name&direction=asc`, 'shop')).rows
      .map(({ company_id }) => company_id.split('.')[0])
      .join(' ')
  assert.equal(await found('page_contains=/PRICING'), 'escaped reader slashes')
  assert.equal(await found('page_contains=/pricing&days=60'), 'escaped old reader slashes')
  assert.equal(await found('page_contains=/pricing&to=2026-02-10'), 'old')
  assert.equal(await found('page_contains=/pricing&page_contains=/blog'), 'escaped old reader slashes')
  assert.equal(await found('page_contains=/docs/pricing'), 'slashes')
  assert.equal(await found(`page_contains=${encodeURIComponent('ÖSSE/')}`), '')
  assert.equal(await found(`page_contains=${encodeURIComponent('GRÖßE/Ä')}`), 'umlaut')
  assert.equal(await found('page_contains=%25'), 'mail')
  assert.equal(await found('page_contains=/pricing&page_visits_min=2'), 'reader')
  assert.equal(await found('page_contains=/twice&page_visits_min=1'), 'app')
  assert.equal(await found('page_contains=/twice&page_visits_min=2'), '')
  assert.equal(await found('industry=Software&industry=Banking'), 'escaped reader slashes umlaut')
  assert.equal(await found('industry=Software&industry=Banking&country_not=FR'), 'escaped reader slashes')
  assert.equal(await found('industry_not=-'), 'escaped reader slashes umlaut')
  assert.equal(await found('source=Website'), 'mail')
  assert.equal(await found('source=src_000000b2'), 'app')
  assert.equal(await found('source=-&page_contains=/pricing&industry=Software'), 'reader slashes')
  assert.equal(await found('source_not=-'), 'mail')
  assert.equal(await found('campaign=spring%20sale'), 'app mail')
  assert.equal(await found('campaign=spring%20sale&source_not=Website'), 'app')
  assert.equal(await found('campaign_not=spring%20sale&campaign_not=-'), '')
  assert.equal(await found('campaign=autumn'), '')
  assert.equal(await found('events_min=2'), 'app old reader')
  assert.equal(await found('events_min=2&days=30'), 'app reader')
  assert.equal(await found('visits_min=2'), 'app old reader')
  assert.equal(await found('visits_min=2&days=1'), 'app')
  assert.equal(await found('events_max=1&page_contains=/pricing'), 'escaped slashes')
  assert.equal(await found('visits_max=1&days=1&page_contains=/pricing'), 'escaped reader slashes')
  const [reader] = (await page('search=reader&days=1', 'shop')).rows
  assert.equal(reader!.events, 1)

  const companies = new ClickHouseCompanies(new QuestionReader(client), clock)
  const matching = await companies.matching('shop', { page_contains: ['/pricing'], visits_min: 2 }, [
    ...['reader.example', 'slashes.example', 'old.example', 'nobody.example'],
  ])
  assert.deepEqual([...matching], ['reader.example'])
})

test('the link of each page opens exactly the companies that the page counts', async () => {
  const urls = [
    ['root', 'https://shop.example'],
    ['slash', 'https://www.shop.example/'],
    ['pricing', 'https://shop.example:8443/pricing?plan=a#top'],
    ['deeper', 'https://shop.example/pricing/teams'],
    ['case', 'https://shop.example/PRICING'],
    ['other', 'https://blog.example/pricing'],
    ['alone', '/pricing'],
    ['alone', '/'],
    ['nothing', 'shop.example/pricing'],
    ['word', 'pricing'],
    ['dash', '-/pricing'],
    ['odd', 'https://shop.example/a,"b"/größe/%C3%A4/c+d'],
    ['escaped', 'https://shop.example/pr\\u0069cing'],
  ]
  await insert(
    urls.map(([name, url]) =>
      event(`${name}.example`, { tenant_id: 'linked', extra: `{"url":"${url!.replaceAll('"', '\\"')}"}` }),
    ),
  )
  const days = { from: '2026-03-09', to: TODAY }
  const { rows } = await operator.read<PagesAnswer>(`/api/tenants/linked/pages?${new URLSearchParams(days)}`)
  assert.equal(rows.length, 10)
  for (const { host, path, companies } of rows) {
    const [, search] = companiesPath('linked', { ...days, page: { host, path } }).split('?')
    const { page: pages, from, to, ...others } = viewOf(new URLSearchParams(search))
    assert.deepEqual(
      Object.values(others).filter((value) => value !== undefined),
      [],
    )
    const query = new URLSearchParams({ from: from!, to: to!, page: pages![0]! })
    const opened = await page(query.toString(), 'linked')
    assert.equal(opened.total, companies, `${host} ${path}`)
    const { rows: readers } = await operator.read<PageCompaniesAnswer>(
      `/api/tenants/linked/pages/companies?${new URLSearchParams({ ...days, host, path })}`,
    )
    const idsOf = (found: readonly { company_id: string }[]) => found.map(({ company_id: id }) => id).sort()
    assert.deepEqual(idsOf(opened.rows), idsOf(readers), `${host} ${path}`)
  }
  const found = async (query: string) =>
    (await page(`${query}&sort=name&direction=asc`, 'linked')).rows.map(({ name }) => name)
  assert.deepEqual(
    await found('page=/pricing'),
    ['alone', 'escaped', 'other', 'pricing', 'word'].map((name) => `${name}.example`),
  )
  assert.deepEqual(await found('page=/pricing&page_contains=8443'), ['pricing.example'])
})

test('the choices of a filter follow all other filters', async () => {
  const choices = async (query: string) => {
    const found = await operator.read<CompanyChoices>(`/api/tenants/shop/companies/choices?${query}`)
    const of = (name: keyof CompanyChoices) =>
      found[name].map(({ value, companies }) => `${value}:${companies}`).join(' ')
    return { industry: of('industry'), country: of('country'), source: of('source'), campaign: of('campaign') }
  }
  assert.deepEqual(await choices(''), {
    industry: ':3 Banking:2 Software:2',
    country: 'DE:6 FR:1',
    source: ':6 src_000000a1:1 src_000000b2:1',
    campaign: 'spring sale:2',
  })
  assert.deepEqual(await choices('industry=Banking'), {
    industry: ':3 Banking:2 Software:2',
    country: 'DE:1 FR:1',
    source: ':2',
    campaign: '',
  })
  assert.deepEqual(await choices('page_contains=/pricing&country=DE&industry=Banking'), {
    industry: 'Software:2 Banking:1',
    country: 'DE:1',
    source: ':1',
    campaign: '',
  })
  assert.deepEqual(await choices('campaign=spring%20sale&source=Website'), {
    industry: ':1',
    country: 'DE:1',
    source: ':1 src_000000a1:1 src_000000b2:1',
    campaign: 'spring sale:1',
  })
})

test('lists, details and pages of companies follow corrections', async () => {
  const rows = [
    event('one.example', { ip: '192.0.2.1', business_name: 'One', industry: 'Software' }),
    event('two.example', { ip: '192.0.2.1', business_name: 'Two', industry: 'Banking', received_at: NOON_MS + 5 }),
    event('two.example', { ip: '192.0.2.2', timestamp: NOON_MS - DAY_MS, extra: '{"url":"/pricing"}' }),
    event('gone.example', { business_name: 'Gone' }),
  ]
  await insert(rows.map((row) => ({ ...row, tenant_id: 'corrected' })))
  const correct = (...values: readonly (readonly [company: string, field: string, value: string])[]) =>
    clickhouse.client.insert({
      table: 'company_corrections',
      values: values.map(([company_id, field, value]) => ({
        ...{ tenant_id: 'corrected', company_id, field, value, at: '2026-03-15 12:00:00.000', change_id: 'c1' },
        ...{ before: '', by: 'test', undoes: '' },
      })),
      format: 'JSONEachRow',
    })
  await correct(
    ...([
      ['gone.example', 'hidden', 'yes'],
      ['two.example', 'merged_into', 'one.example'],
      ['two.example', 'counts_for', 'one.example'],
      ['one.example', 'name', 'First'],
    ] as const),
  )
  const companies = new ClickHouseCompanies(new QuestionReader(client), clock)
  const names = async (filter: Parameters<typeof companies.page>[1]) =>
    (await companies.page('corrected', filter)).rows.map(({ name, events, industry }) => [name, events, industry])
  assert.deepEqual(await names({}), [['First', 3, 'Software']])
  assert.deepEqual(await names({ days: 1, visits_min: 1, sort: 'visits' }), [['First', 2, 'Software']])
  assert.deepEqual(await names({ page_contains: ['/pricing'], search: 'first' }), [['First', 3, 'Software']])
  // A merged company is found by its own id and name, and by the filter, as its target.
  for (const filter of [{ search: 'two.EX' }, { search: 'TWO' }, { merged: 'only' }] as const)
    assert.deepEqual(await names(filter), [['First', 3, 'Software']])
  assert.deepEqual(await names({ merged: 'only', search: 'nothing' }), [])
  const { companies: details } = await companies.details('corrected', { companies: ['one.example', 'gone.example'] })
  const [one] = details.filter(({ company_id }) => company_id === 'one.example')
  assert.deepEqual([one!.visits, one!.unique_ips, one!.daily_visits.slice(-2)], [2, 2, [1, 1]])
  assert.deepEqual(
    [...(await companies.matching('corrected', {}, ['one.example', 'two.example', 'gone.example']))],
    ['one.example'],
  )
  const { industry } = await companies.choices('corrected', {})
  assert.deepEqual(industry, [{ value: 'Software', companies: 1 }])
  const found = await companies.company('corrected', 'one.example', 30)
  assert.deepEqual([found!.company.name, found!.company.events, found!.company.visits], ['First', 3, 2])
  assert.equal(await companies.company('corrected', 'two.example', 30), undefined)
  const { companies: listed } = await companies.part(
    'corrected',
    {},
    { after: '', updatedSinceMs: undefined, limit: 5 },
  )
  assert.deepEqual(
    listed.map(({ company_id, visits }) => [company_id, visits]),
    [['one.example', 2]],
  )
})

test('companies are filtered by tag, owner and whether they are hidden', async () => {
  const names = ['kept', 'lead', 'plain', 'gone']
  await insert(names.map((name) => event(`${name}.example`, { tenant_id: 'labelled', business_name: name })))
  const said = (name: string, field: string, value: string) => ({
    ...{ tenant_id: 'labelled', company_id: `${name}.example`, field, value },
    ...{ at: '2026-03-15 12:00:00.000', change_id: 'c1', before: '', by: 'test', undoes: '' },
  })
  const values = [
    said('kept', 'tags', 'key account\nretail, food'),
    said('kept', 'owner', 'Ada'),
    said('lead', 'tags', 'lead'),
    said('gone', 'tags', 'lead'),
    said('gone', 'hidden', 'yes'),
  ]
  await clickhouse.client.insert({ table: 'company_corrections', values, format: 'JSONEachRow' })
  const found = async (query: string) =>
    (await page(`sort=name&direction=asc&${query}`, 'labelled')).rows.map(({ name }) => name)
  assert.deepEqual(await found(''), ['kept', 'lead', 'plain'])
  assert.deepEqual(await found('tag=lead'), ['lead'])
  assert.deepEqual(await found('tag=lead&tag=retail, food'), ['kept', 'lead'])
  assert.deepEqual(await found('tag=-'), ['plain'])
  assert.deepEqual(await found('tag_not=-&tag_not=lead'), ['kept'])
  assert.deepEqual(await found('owner=Ada'), ['kept'])
  assert.deepEqual(await found('owner_not=Ada'), ['lead', 'plain'])
  assert.deepEqual(await found('hidden=only'), ['gone'])
  assert.deepEqual(await found('hidden=with&tag=lead'), ['gone', 'lead'])
  const [kept] = (await page('search=kept', 'labelled')).rows
  assert.deepEqual([kept!.tags, kept!.owner, kept!.hidden], [['key account', 'retail, food'], 'Ada', false])
  const choices = await operator.read<CompanyChoices>('/api/tenants/labelled/companies/choices?tag=lead&owner=-')
  assert.deepEqual(choices.tag, [
    { value: '', companies: 1 },
    { value: 'lead', companies: 1 },
  ])
  assert.deepEqual(choices.owner, [{ value: '', companies: 1 }])
  const csv = await (await operator.get('/api/tenants/labelled/companies/export?search=kept')).text()
  assert.ok(csv.includes(',"key account, retail, food",Ada,,,kept.example'), csv)
})

test('companies are corrected by calls, in the name of the signed-in person, and changes are undone', async () => {
  await insert([event('wrong.call.example', { tenant_id: 'shop' }), event('right.call.example', { tenant_id: 'shop' })])
  const path = '/api/tenants/shop/corrections'
  const done = async (to: string, body: object) => {
    const response = await operator.post(to, body)
    assert.equal(response.status, 200, await response.clone().text())
    return (await response.json()) as CorrectedAnswer
  }
  const listed = async () => (await page('search=call.example', 'shop')).rows.map(({ company_id }) => company_id)
  const change_id = '00000000-0000-4000-8000-00000000000a'
  const body = { companies: ['wrong.call.example'], hidden: true, note: 'a carrier', change_id }
  const change = await done(path, body)
  assert.deepEqual([change.change_id, change.companies], [change_id, 1])
  assert.deepEqual(await done(path, body), change, 'a repeat is the same change')
  assert.deepEqual(await listed(), ['right.call.example'])
  const { changes } = await operator.read<CorrectionsAnswer>(`${path}?company=wrong.call.example`)
  assert.deepEqual(
    changes.map(({ by, corrections }) => [by, corrections.map(({ field, value }) => [field, value]).sort()]),
    [
      [
        change.by,
        [
          ['hidden', 'yes'],
          ['note', 'a carrier'],
        ],
      ],
    ],
  )
  const state = await operator.read<CorrectionsStateAnswer>(`${path}/state?company=wrong.call.example`)
  assert.deepEqual(
    state.companies.map(({ hidden, note }) => [hidden, note]),
    [[true, 'a carrier']],
  )
  await done(`${path}/undo`, { change_id })
  assert.deepEqual(await listed(), ['right.call.example', 'wrong.call.example'])

  for (const [wrong, part] of [
    [{ companies: ['nobody.example'], hidden: true }, 'nobody.example'],
    [{ companies: [], hidden: true }, 'companies'],
    [{ companies: ['right.call.example'], colour: 'red' }, 'colour is unknown: allowed are companies, '],
    [{ companies: ['right.call.example'], add_tags: ['x'.repeat(51)] }, 'tag'],
  ] as const) {
    const response = await operator.post(path, wrong)
    assert.equal(response.status, 422)
    const text = await response.text()
    assert.ok(text.includes(part), text)
  }
  assert.equal((await member.post(path, { companies: ['right.call.example'], hidden: true })).status, 404)
  assert.equal((await member.get(path)).status, 404)
})

test('intent pages are changed by calls, have matches, and change heat at once', async () => {
  const path = '/api/tenants/warm/intent-pages'
  const pages = ['/pricing', '/Pricing?x=1', '/warm/p%C3%A9age', '/warm/\u4ef7\u683c']
  await insert(
    pages.map((url, i) =>
      event(`c${i}.intent.example`, { tenant_id: 'warm', extra: JSON.stringify({ url }), timestamp: Date.now() - i }),
    ),
  )
  // Pages are counted by the clock of this test, and heat by that of ClickHouse.
  await insert(pages.map((url) => event('d.intent.example', { tenant_id: 'warm', extra: JSON.stringify({ url }) })))
  const done = async (body: object, to = path) => {
    const response = await operator.post(to, body)
    assert.equal(response.status, 200, await response.clone().text())
    return (await response.json()) as CorrectedAnswer
  }
  const state = () => operator.read<IntentPagesAnswer>(path)
  const interested = async () => {
    const rows = await clickhouse.rows<{ id: string }>(
      "SELECT substring(company_id, 1, 2) AS id FROM company_heat WHERE tenant_id = 'warm' AND intent > 0 ORDER BY 1",
    )
    return rows.map(({ id }) => id).join()
  }
  const { changes, ...byDefault } = await state()
  assert.deepEqual([byDefault, changes], [{ pages: [...INTENT_PAGES.defaults], is_default: true }, []])
  assert.equal(await interested(), 'c0,c1')

  const added = await done({ add: ['\u4ef7\u683c', 'PRICING', 'p\u00e9age'], remove: ['/demo/', 'quote'] })
  assert.equal(added.companies, 1)
  const own = (await state()).pages
  assert.deepEqual(own, [
    ...INTENT_PAGES.defaults.filter((page) => page !== 'demo' && page !== 'quote'),
    '\u4ef7\u683c',
    'p\u00e9age',
  ])
  const { matches } = await operator.read<IntentPageMatchesAnswer>(`${path}/matches`)
  assert.deepEqual(
    matches.map(({ page }) => page),
    own,
  )
  assert.deepEqual(
    matches.filter(({ read_pages }) => read_pages > 0),
    [
      { page: 'pricing', read_pages: 2, example: '/pricing' },
      { page: '\u4ef7\u683c', read_pages: 1, example: '/warm/\u4ef7\u683c' },
      { page: 'p\u00e9age', read_pages: 1, example: '/warm/p%C3%A9age' },
    ],
  )
  assert.equal(await interested(), 'c0,c1,c2,c3')
  await done({ change_id: added.change_id }, '/api/tenants/warm/corrections/undo')
  assert.equal(await interested(), 'c0,c1')
  const [back, first] = (await state()).changes
  assert.deepEqual([back!.undoes, first!.undone_by], [added.change_id, back!.change_id])
  await done({ pages: ['warm'] })
  assert.equal(await interested(), 'c2,c3')
  await done({ pages: [] })
  assert.deepEqual([(await state()).is_default, await interested()], [true, 'c0,c1'])

  const { changes: before } = await state()
  for (const [wrong, part] of [
    [{ add: ['/x?id=1'] }, 'leave out the part from ? or # on'],
    [{ add: ['///'] }, 'has no word in its path'],
    [{ remove: ['/nowhere'] }, '"/nowhere" is no intent page'],
    [{ remove: [...INTENT_PAGES.defaults] }, 'at least one intent page is needed'],
    [{ add: Array.from({ length: 40 }, (_, i) => `p${i}`) }, 'at most 50'],
    [{}, 'no page is named'],
  ] as const) {
    const response = await operator.post(path, wrong)
    assert.equal(response.status, 422)
    const text = await response.text()
    assert.ok(text.includes(JSON.stringify(part).slice(1, -1)), text)
  }
  assert.deepEqual((await state()).changes, before)
  // As all settings: those of the tenant only, and not without the token of the session.
  for (const call of [member.post(path, { add: ['x'] }), member.get(path), member.get(`${path}/matches`)]) {
    assert.equal((await call).status, 404)
  }
  const own_path = '/api/tenants/acme/intent-pages'
  assert.equal((await member.post(own_path, { add: ['x'] }, { 'x-csrf-token': '' })).status, 403)
  assert.equal((await member.post(own_path, { add: ['ours'] })).status, 200)
  assert.ok((await member.read<IntentPagesAnswer>(own_path)).pages.includes('ours'))
  assert.ok(!(await state()).pages.includes('ours'))
})

test('a search text has no special characters', async () => {
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

test('the choices are those of the tenant, with their counts', async () => {
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

test('an invalid request is refused with the name of the field', async () => {
  const refused = async (query: string) => {
    const response = await operator.get(`/api/tenants/acme/companies?${query}`)
    assert.equal(response.status, 422, query)
    return ((await response.json()) as { detail: string }).detail
  }
  for (const query of [
    'days=7&from=2026-02-03',
    'page_visits_min=2',
    'from=2026-02-30',
    'to=0001-01-01',
    'new_since=2026-13-01',
    'new_days=4000',
    'from=2026-03-02&to=2026-03-01',
  ]) {
    assert.match(await refused(query), new RegExp(`^${query.split('=')[0]}`))
  }
  for (const query of [
    'sort=events%3B',
    'sort=company_id',
    'limit=201',
    'offset=-1',
    'direction=up',
    'tenant=other',
    'days=0',
  ]) {
    await refused(query)
  }
  // With its headers shorter than the 16 KB that node:http takes.
  const long = Array.from({ length: 3 }, (_, i) => `industry=${encodeURIComponent(`${i}${'€'.repeat(400)}`)}`)
  assert.match(await refused(long.join('&')), /the filter is too long/)
  assert.equal((await operator.post('/api/tenants/acme/companies/details', { companies: [], from: 'x' })).status, 422)
})

test('no call shows a tenant anything of another one', async () => {
  const calls = ['companies', 'companies/choices', 'companies/version', 'companies/export', 'overview']
  for (const call of [...calls, 'companies/of/secret.example']) {
    assert.equal((await member.get(`/api/tenants/other/${call}`)).status, 404, call)
  }
  assert.equal((await member.post('/api/tenants/other/companies/details', { companies: [] })).status, 404)
  assert.equal((await member.post('/api/tenants/other/companies/export', { companies: ['x'] })).status, 404)
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

test('an export without its table is an error, not a file', async () => {
  await clickhouse.client.command({ query: 'RENAME TABLE events TO events_elsewhere' })
  const response = await operator.get('/api/tenants/acme/companies/export')
  const answer = { status: response.status, text: await response.text() }
  await clickhouse.client.command({ query: 'RENAME TABLE events_elsewhere TO events' })
  assert.equal(answer.status, 500, answer.text)
  assert.match(answer.text, /ClickHouse lacks a table of ipid/)
})

test('a list is sorted and filtered by heat, with its parts', async () => {
  const nowMs = Date.now()
  const visit = (company: string, id: string, extra = '') =>
    event(company, { ...{ tenant_id: 'other', event_id: id, extra }, ...{ received_at: nowMs, timestamp: nowMs } })
  await insert([
    visit('warm.example', 'heat-1'),
    visit('hot.example', 'heat-2', '{"url":"/pricing"}'),
    event('cold.example', { tenant_id: 'other', event_id: 'heat-3' }),
  ])
  const found = async (query: string) =>
    (await page(`search=.example&${query}`, 'other')).rows.map(({ company_id }) => company_id)
  assert.deepEqual((await found('sort=heat')).slice(0, 2), ['hot.example', 'warm.example'])
  assert.deepEqual(await found('heat_min=49'), ['hot.example'])
  assert.deepEqual(await found('heat_min=1&heat_max=48'), ['warm.example'])
  assert.equal((await found('heat_max=0')).includes('cold.example'), true)
  const { companies } = await readDetails({ companies: ['hot.example', 'cold.example'] }, 'other')
  const heatOf = (id: string) => companies.find(({ company_id }) => company_id === id)!.heat
  assert.equal(heatOf('cold.example'), null)
  assert.deepEqual(heatOf('hot.example'), {
    ...{ heat: 49, recency: 30, frequency: 8, depth: 3, intent: 8 },
    ...{ days_ago: 0, active_days: 1, events_per_day: 1, intent_days: 1 },
  })
  const csv = await (await operator.get('/api/tenants/other/companies/export?search=hot.example')).text()
  assert.match(csv, /^.*\r\nhot\.example,1,1,49,/)
  const all = await readDetails(
    { companies: (await page('heat_min=1&limit=100', 'other')).rows.map((row) => row.company_id) },
    'other',
  )
  const heats = all.companies.map(({ heat }) => heat!.heat).sort((x, y) => x - y)
  const at = (share: number) => heats[Math.floor(heats.length * share)]
  assert.deepEqual(await operator.read('/api/tenants/other/heat-levels'), { median: at(0.5), top: at(0.9) })
  const answer = await operator.get('/api/tenants/other/companies?heat_min=101')
  assert.equal(answer.status, 422)
})

test('an export is the view as CSV, and no cell of it is a formula', async () => {
  const formula = '=HYPERLINK("http://evil.example","a, b")'
  await insert([event('formula.example', { tenant_id: 'quiet', business_name: formula, industry: '+1', domain: '@x' })])
  const response = await operator.get('/api/tenants/quiet/companies/export')
  assert.match(nameOf(response)!, /^companies-quiet-until-2026-03-15\.csv$/)
  const [head, row, end] = Buffer.from(await response.arrayBuffer())
    .toString()
    .split('\r\n')
  assert.equal(
    head,
    '\ufeffCompany,Events,Visits,Heat,Last seen,Domain,Industry,Visits from,Class,Unique IPs,First seen,Category,Quality,Tags,Owner,Status,Hidden,Id,First channel,First campaign,Last channel,Last campaign',
  )
  const noon = `${TODAY}T12:00:00.000Z`
  assert.equal(
    row,
    `"'=HYPERLINK(""http://evil.example"",""a, b"")",1,1,0,${noon},'@x,'+1,DE,business,1,${noon},,80,,,,,formula.example,,,,`,
  )
  assert.equal(end, '')
  const cells = async (query: string) => {
    const text = await (await operator.get(`/api/tenants/acme/companies/export?${query}`)).text()
    return text
      .split('\r\n')
      .slice(1, -1)
      .map((line) => line.split(','))
      .map(([, events, visits, , last, , , , , ips, first, , quality, , , , , id]) =>
        [events, visits, ips, first, last, quality, id].join(),
      )
  }
  const seen = ['2026-02-03T12:00:00.000Z', noon].join()
  assert.deepEqual(await cells('search=anvil'), [`4,4,3,${seen},80,anvil.example`])
  assert.deepEqual(await cells('search=anvil&from=2026-03-14'), [`3,3,2,${seen},80,anvil.example`])
  assert.deepEqual((await cells('sort=domain&direction=asc')).length, 4)
  assert.deepEqual(await cells('search=nobody'), [])
  const few = [
    'domain',
    'industry',
    'industry_category',
    'country_code',
    'visits',
    'unique_ips',
    'heat',
    'name',
    'tags',
    'owner',
    'status',
    'hidden',
    'first_channel',
    'first_campaign',
    'last_channel',
    'last_campaign',
  ]
  const hidden = await operator.get(
    `/api/tenants/acme/companies/export?search=bolt&${few.map((name) => `hide=${name}`).join('&')}`,
  )
  const old = '2026-03-05T12:00:00.000Z'
  assert.equal(
    await hidden.text(),
    `Company,Events,Last seen,Class,First seen,Quality,Id\r\nBolt,1,${old},business,${old},20,bolt.example\r\n`,
  )
})

const nameOf = (response: Response) =>
  /^attachment; filename="([^"]+)"$/.exec(response.headers.get('content-disposition') ?? '')?.[1]

test('an export of chosen companies has these rows of the view only, in its order', async () => {
  const rows = async (body: object) => {
    const response = await operator.post('/api/tenants/acme/companies/export', body)
    assert.equal(response.status, 200)
    const [head, ...lines] = Buffer.from(await response.arrayBuffer())
      .toString()
      .split('\r\n')
    assert.match(head!, /^\ufeffCompany,/)
    const id = head!.split(',').indexOf('Id')
    return lines.slice(0, -1).map((line) => line.split(',')[id])
  }
  const all = await rows({
    companies: ['bolt.example', 'anvil.example', 'nobody.example'],
    sort: 'name',
    direction: 'asc',
  })
  assert.deepEqual(all, ['anvil.example', 'bolt.example'])
  assert.deepEqual(await rows({ companies: ['anvil.example', 'bolt.example'], search: 'bolt' }), ['bolt.example'])
  assert.deepEqual(await rows({ companies: ['nobody.example'] }), [])
  for (const companies of [undefined, [], Array.from({ length: 1_001 }, (_, i) => `c${i}`)]) {
    assert.equal((await operator.post('/api/tenants/acme/companies/export', { companies })).status, 422)
  }
})

test('the name of an export has its days', async () => {
  for (const [query, days] of [
    ['', `until-${TODAY}`],
    ['?days=1', `${TODAY}-to-${TODAY}`],
    ['?days=30', `2026-02-14-to-${TODAY}`],
    ['?from=2026-01-14&to=2026-01-20', '2026-01-14-to-2026-01-20'],
    ['?from=2026-03-14', `2026-03-14-to-${TODAY}`],
    ['?to=2026-03-20', 'until-2026-03-20'],
  ]) {
    const response = await operator.get(`/api/tenants/quiet/companies/export${query}`)
    assert.equal(nameOf(response), `companies-quiet-${days}.csv`)
    await response.text()
  }
})

test('the version changes with events of the tenant only', async () => {
  const version = () => operator.read<{ version: string }>('/api/tenants/quiet/companies/version')
  const before = await version()
  await insert([event('more.example', { tenant_id: 'other' })])
  assert.deepEqual(await version(), before)
  await insert([event('new.example', { tenant_id: 'quiet' })])
  assert.notDeepEqual(await version(), before)
})

test('many companies with long ids are read in parts', async () => {
  const long = Array.from({ length: 60 }, (_, i) => `${"it's-ü".repeat(20)}-${i}.example`)
  await insert(long.map((id) => event(id, { tenant_id: 'quiet' })))
  const { companies: found } = await readDetails({ companies: long }, 'quiet')
  assert.deepEqual(found.map(({ company_id }) => company_id).sort(), [...long].sort())
})
