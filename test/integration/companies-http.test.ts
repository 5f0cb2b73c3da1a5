import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { ApiCompanyAnswer, CompaniesAnswer } from '../../schemas/api/companies.ts'
import { IMPORT_LIMITS, type ImportAnswer } from '../../schemas/api/company-import.ts'
import type { ErrorBody } from '../../schemas/api/error.ts'
import { ClickHouseCompanies } from '../../src/companies/companies.ts'
import { CompanyCorrections } from '../../src/companies/corrections/corrections.ts'
import { CompanyImports } from '../../src/companies/imports/imports.ts'
import { BackpressureError, UnavailableError } from '../../src/run/errors.ts'
import { connectReading, QuestionReader } from '../../src/stores/clickhouse/reader.ts'
import type { Authenticator } from '../../src/tenants/tenancy.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { clock, DAY_MS, event, NOON_MS } from '../support/companies.ts'
import { eventInserter } from '../support/event-rows.ts'
import { API_KEY, acme, noCompanies, startHttp } from '../support/http.ts'

const clickhouse = await startTestClickHouse()
const insert = eventInserter(clickhouse)
const client = connectReading(clickhouse.url, 'test')
const companies = new ClickHouseCompanies(new QuestionReader(client), clock, async () => [
  { id: 'src_000000a1', name: 'Website' },
])
const OTHER_KEY = API_KEY.replace('0123', 'ffff')
const authenticator: Authenticator = {
  authenticate: (key) =>
    key === API_KEY ? acme : key === OTHER_KEY ? { ...acme, tenant: { ...acme.tenant, id: 'other' } } : undefined,
}
const headers = { 'x-api-key': API_KEY }

test('programs read the companies of their tenant, page by page and filtered', async (t) => {
  const segment = {
    id: 's',
    name: 'Germans & co',
    where: 'country=DE,visits>=1',
    created_at: '2026-01-01T00:00:00.000Z',
  }
  const fresh = { ...segment, id: 'n', name: 'New', where: 'new_days=1' }
  const either = { ...segment, id: 'e', name: 'Either', where: '(country=FR or visits>=2)' }
  const segments = { list: async (tenantId: string) => (tenantId === 'acme' ? [segment, fresh, either] : []) }
  const { url } = await startHttp(t, { companies, segments, authenticator })
  t.after(() => client.close())
  const page = (path: string) => ({ extra: `{"url":"https://shop.example${path}"}` })
  await insert('acme', [
    event('a.example', { ...page('/pricing?utm_campaign=spring'), business_name: 'A', industry: 'Food, drink' }),
    event('a.example', { ...page('/blog'), ip: '192.0.2.2', timestamp: NOON_MS - DAY_MS, source_id: 'src_000000a1' }),
    event('b.example', { country_code: 'FR', timestamp: NOON_MS - 40 * DAY_MS, received_at: NOON_MS - 40 * DAY_MS }),
    event('c.example', { ...page('/pricing'), extra: '{"url":"/pricing","referrer":"https://search.example/"}' }),
    event('ä/ %.example'),
  ])
  const others = [event('secret.example'), event('a.example', { business_name: 'A of others' })]
  await insert(
    'other',
    others.map((row) => ({ ...row, tenant_id: 'other' })),
  )
  const get = async (query: string, key = API_KEY) => {
    const response = await fetch(`${url}/v1/companies${query}`, { headers: { 'x-api-key': key } })
    assert.equal(response.status, 200, query)
    return (await response.json()) as CompaniesAnswer
  }
  const ids = async (query: string, key?: string) =>
    (await get(query, key)).companies.map(({ company_id }) => company_id)

  assert.deepEqual(await ids(''), ['a.example', 'b.example', 'c.example', 'ä/ %.example'])
  assert.deepEqual(await ids('', OTHER_KEY), ['a.example', 'secret.example'])
  const [first] = (await get('?limit=1')).companies
  assert.deepEqual(first, {
    ...{
      company_id: 'a.example',
      business_name: 'A',
      name: 'A',
      domain: 'a.example',
      industry: 'Food, drink',
      industry_category: '',
    },
    ...{ country_code: 'DE', classification: 'business', events: 2, visits: 2, unique_ips: 2, heat: 0, quality: 80 },
    ...{ first_seen: '2026-03-14T12:00:00.000Z', last_seen: '2026-03-15T12:00:00.000Z' },
    ...{ tags: [], owner: '', status: '', own: {}, fit: '', fit_reasons: [], hidden: false },
    ...{ first_channel: 'direct', first_campaign: '', last_channel: 'other campaign', last_campaign: 'spring' },
  })
  assert.deepEqual(await ids('?page~/pricing'), ['a.example', 'c.example'])
  assert.deepEqual(await ids('?page~%2Fpricing&visits>=2'), ['a.example'])
  assert.deepEqual(await ids('?page_contains=/PRIC'), ['a.example', 'c.example'])
  assert.deepEqual(await ids('?page=/pric'), [])
  assert.deepEqual(await ids('?page=/pricing'), ['a.example', 'c.example'])
  assert.deepEqual(await ids('?page=shop.example/pricing&page_visits>=1'), ['a.example'])
  assert.deepEqual(await ids(`?where=${encodeURIComponent('page=-/pricing')}`), ['c.example'])
  assert.deepEqual(await ids('?page=/pricing&page~blog'), ['a.example'])
  assert.deepEqual(await ids('?visits_min=2'), ['a.example'])
  assert.deepEqual(await ids('?new_days=1'), ['c.example', 'ä/ %.example'])
  assert.deepEqual(await ids('?where=new_days=40'), ['a.example', 'c.example', 'ä/ %.example'])
  assert.equal((await ids('?new_days=41')).length, 4)
  assert.deepEqual(await ids('?new_days=41&new_since=2026-03-15'), ['c.example', 'ä/ %.example'], 'both must hold')
  assert.deepEqual(await ids('?segment=New'), ['c.example', 'ä/ %.example'])
  assert.deepEqual(await ids('?segment=New&new_days=41'), ['c.example', 'ä/ %.example'])
  const ofTomorrow = new ClickHouseCompanies(
    new QuestionReader(client),
    { now: () => NOON_MS + DAY_MS },
    async () => [],
  )
  const nextDay = await ofTomorrow.page('acme', { new_days: 1 })
  assert.deepEqual(nextDay.rows, [], 'a company is new for that many days')
  assert.deepEqual(await ids('?country=DE&country=FR&country!=DE'), ['b.example'])
  assert.deepEqual(await ids('?country=germany&country=france&country!=Germany'), ['b.example'])
  assert.deepEqual(await ids('?industry=Food, drink'), ['a.example'])
  assert.deepEqual(await ids(`?where=${encodeURIComponent('industry="Food, drink",source=Website')}`), ['a.example'])
  assert.deepEqual(await ids('?where=country=FR&country=DE&days=60&limit=2'), ['a.example', 'b.example'])
  assert.deepEqual(await ids(`?updated_since=${new Date(NOON_MS - DAY_MS).toISOString()}`), [
    ...['a.example', 'c.example', 'ä/ %.example'],
  ])
  const ofSegment = `?segment=${encodeURIComponent(segment.name)}`
  assert.deepEqual(await ids(ofSegment), ['a.example', 'c.example', 'ä/ %.example'])
  assert.deepEqual(await ids(`${ofSegment}&page~/pricing`), ['a.example', 'c.example'])
  assert.deepEqual(await ids(`${ofSegment}&country=FR`), [], 'further filters narrow it')
  assert.deepEqual(await ids(`${ofSegment}&country=FR&country=DE&visits>=2`), ['a.example'])
  const ofOthers = await fetch(`${url}/v1/companies${ofSegment}`, { headers: { 'x-api-key': OTHER_KEY } })
  assert.equal(ofOthers.status, 422)
  const text = encodeURIComponent
  assert.deepEqual(await ids(`?condition=${text('country=FR or visits>=2')}`), ['a.example', 'b.example'])
  assert.deepEqual(await ids(`?where=${text(`days=60,${either.where}`)}&country=DE`), ['a.example'])
  assert.deepEqual(await ids(`?where=${text(either.where)}&condition=${text('not source=Website')}`), ['b.example'])
  assert.deepEqual(await ids(`?segment=Either&condition=${text('search=b or page~nothing')}`), ['b.example'])
  assert.equal((await ids(`?condition=${text('search=" " or country=FR')}`)).length, 4)
  const refused = await fetch(`${url}/v1/companies?where=${text('(country=FR or')}`, { headers })
  const { detail, errors } = (await refused.json()) as ErrorBody
  assert.deepEqual([refused.status, errors?.[0]?.path], [422, 'where'])
  assert.match(detail, /^at the end: here comes not, \( or a term/)
  const [counted] = (await get('?days=1&search=a.ex')).companies
  assert.deepEqual([counted!.events, counted!.visits, counted!.unique_ips], [1, 1, 1])

  // People's corrections are changes: a name, a merge with its target, and its end with both.
  const since = `?updated_since=${new Date(NOON_MS + DAY_MS).toISOString()}`
  const correct = async (company_id: string, field: string, [before, value]: [string, string], day: number) => {
    const at = new Date(NOON_MS + day * DAY_MS).toISOString().replace('T', ' ').replace('Z', '')
    const row = { tenant_id: 'acme', company_id, field, before, value, at, change_id: `${day}`, by: 'Ada', undoes: '' }
    await clickhouse.client.insert({ table: 'company_corrections', values: [row], format: 'JSONEachRow' })
  }
  assert.deepEqual(await ids(since), [])
  await correct('a.example', 'owner', ['', 'Ada'], 0)
  assert.deepEqual(await ids(since), [], 'a correction before the moment is none since')
  await correct('c.example', 'owner', ['', 'Ada'], 1)
  assert.deepEqual(await ids(since), ['c.example'])
  await correct('ä/ %.example', 'counts_for', ['', 'b.example'], 2)
  assert.deepEqual(await ids(since), ['b.example', 'c.example'])
  await correct('ä/ %.example', 'counts_for', ['b.example', ''], 3)
  assert.deepEqual(await ids(since), ['b.example', 'c.example', 'ä/ %.example'])
  const later = `?updated_since=${new Date(NOON_MS + 3 * DAY_MS).toISOString()}`
  assert.deepEqual(await ids(later), ['b.example', 'ä/ %.example'])

  // Companies that come or change while the pages are read shift nothing.
  const found: string[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const answer: CompaniesAnswer = await get(`?limit=1${cursor === '' ? '' : `&cursor=${cursor}`}`)
    found.push(...answer.companies.map(({ company_id }) => company_id))
    cursor = answer.next_cursor
    await insert('acme', [event('0.example'), event('a.example'), event('b.example')])
  }
  assert.deepEqual(found, ['a.example', 'b.example', 'c.example', 'ä/ %.example'])

  // A company that counts for one of a later page is counted there.
  const eventsOf = async (id: string, query: string) =>
    (await get(query)).companies.find(({ company_id }) => company_id === id)!.events
  const both = (await eventsOf('a.example', '')) + (await eventsOf('c.example', ''))
  await correct('a.example', 'counts_for', ['', 'c.example'], 4)
  const { companies: begin, next_cursor: after } = await get('?limit=2')
  assert.deepEqual(
    begin.map(({ company_id }) => company_id),
    ['0.example', 'b.example'],
  )
  assert.equal(await eventsOf('c.example', `?limit=1&cursor=${after}`), both)
  await correct('a.example', 'counts_for', ['c.example', ''], 5)

  const one = async (id: string, key = API_KEY) =>
    await fetch(`${url}/v1/companies/${encodeURIComponent(id)}`, { headers: { 'x-api-key': key } })
  const c = (await (await one('c.example')).json()) as ApiCompanyAnswer
  assert.deepEqual(
    [c.company.company_id, c.company.visits, c.from, c.to, c.days],
    ['c.example', 1, '2026-02-14', '2026-03-15', [{ day: '2026-03-15', events: 1, visits: 1 }]],
  )
  assert.deepEqual(
    [c.pages, c.referrers, c.campaigns, c.sources],
    [
      [{ value: '/pricing', events: 1 }],
      [{ value: 'https://search.example/', events: 1 }],
      [],
      [{ value: '', events: 1 }],
    ],
  )
  const a = (await (await one('a.example')).json()) as ApiCompanyAnswer
  assert.deepEqual(a.pages.map(({ value }) => value).sort(), [
    'https://shop.example/blog',
    'https://shop.example/pricing',
  ])
  assert.deepEqual(a.campaigns, [{ value: 'spring', events: 1 }])
  assert.ok(!JSON.stringify(a).includes('others'))
  assert.equal((await one('ä/ %.example')).status, 200)
  assert.deepEqual([(await one('secret.example')).status, (await one('secret.example', OTHER_KEY)).status], [404, 200])
})

test('a wrong question about companies is refused with its fault', async (t) => {
  const { url } = await startHttp(t)
  const refused: readonly (readonly [string, number, RegExp])[] = [
    ['?limit=501', 422, /^limit must be a whole number from 1 to 500$/],
    ['?limit=0', 422, /^limit must be/],
    ['?limit=1&limit=2', 422, /^limit must be given once$/],
    ['?cursor=%20', 422, /^cursor must be a next_cursor of an answer$/],
    ['?cursor=', 422, /^cursor must be/],
    ['?updated_since=yesterday', 422, /^updated_since must be an RFC 3339 date-time, such as/],
    ['?colour=red', 422, /^"colour=red": there is no filter "colour"\. Keys: search, industry/],
    ['?fit=great', 422, /^fit: must be good, ok, poor, -$/],
    ['?country=Germny', 422, /^country: "Germny" must be a country as ISO 3166-1 alpha-2.*did you mean DE, Germany\?$/],
    ['?where=country!=FX', 422, /^country_not: "FX" must be a country/],
    ['?where=country!=XQ', 422, /^country_not: "XQ" must be a country/],
    ['?condition=(country=Foo%20or%20visits>=2)', 422, /^country: "Foo" must be/],
    ['?classification=zzz', 422, /^classification: "zzz" must be one of business, education, government/],
    ['?last_channel=mail', 422, /^last_channel: "mail" must be one of .*email/],
    ['?days=0', 422, /^days /],
    ['?from=2026-02-30', 422, /^from: must be a date/],
    ['?where=country', 422, /^"country": must be KEY, an operator and a value/],
    ['?visits<0', 422, /^"visits<0": no count is below 0$/],
    ['?country=%ff', 400, /^the query is not percent-encoded UTF-8/],
    [`?where=country=${'x'.repeat(8_000)}`, 422, /at most 8000 characters/],
    ['?segment=Nobody', 422, /^segment must be the name of a saved segment$/],
    [`/${'x'.repeat(501)}`, 422, /^company_id must be at most 500 characters$/],
    ['/a.example?days=367', 422, /^days must be a whole number from 1 to 366$/],
    ['/a.example?day=3', 422, /^day is unknown: did you mean days\? Allowed are days$/],
    ['/%ff', 400, /^company_id is not percent-encoded UTF-8$/],
    ['/a.example', 404, /^there is no such company$/],
  ]
  for (const [path, status, detail] of refused) {
    const answer = await fetch(`${url}/v1/companies${path}`, { headers })
    const body = (await answer.json()) as ErrorBody
    assert.deepEqual([path, answer.status], [path, status], body.detail)
    assert.match(body.detail, detail, path)
    if (status === 422) assert.ok(body.errors!.length > 0, path)
    if (path.includes('Germny')) assert.equal(body.errors![0]!.path, 'country')
  }
  assert.equal((await fetch(`${url}/v1/companies`)).status, 401)
  assert.equal((await fetch(`${url}/v1/companies`, { method: 'PUT', headers })).status, 405)
})

test('too many questions about companies are 429, and a store that is down is 500', async (t) => {
  let failure: Error = new BackpressureError('too many queries are running', 2, 'questions')
  const { url } = await startHttp(t, { companies: { ...noCompanies, part: () => Promise.reject(failure) } })
  const ask = async () => {
    const { status, headers: sent } = await fetch(`${url}/v1/companies`, { headers })
    return [status, sent.get('retry-after')]
  }
  assert.deepEqual(await ask(), [429, '2'])
  failure = new UnavailableError('ClickHouse does not answer', { retryAfterSeconds: 3 })
  assert.deepEqual(await ask(), [500, '3'])
})

test('programs import a list of companies, see first what it does, and get errors that say what is wrong', async (t) => {
  const corrections = new CompanyCorrections(
    () => clickhouse.client,
    clock,
    (_, work) => work(),
  )
  const { url } = await startHttp(t, {
    imports: new CompanyImports(() => clickhouse.client, corrections),
    authenticator,
  })
  const post = async (query: string, body: string | Buffer, more: Record<string, string> = {}) => {
    const answer = await fetch(`${url}/v1/companies${query}`, {
      method: 'POST',
      headers: { ...headers, ...more },
      body,
    })
    return { status: answer.status, body: (await answer.json()) as ImportAnswer & ErrorBody }
  }
  const list = 'Site;State;Größe\nlist.example;Customer;1.250\n'
  const map = `map=${encodeURIComponent('State=status')}&map=${encodeURIComponent('Größe=number')}`
  const dry = await post(`?dry_run=true&${map}`, list)
  assert.deepEqual([dry.status, dry.body.applied, dry.body.values, dry.body.waiting], [200, false, 2, 1])
  assert.deepEqual(
    dry.body.columns.filter(({ is_new }) => is_new).map(({ key }) => key),
    ['größe'],
  )
  for (const { business_name, name } of dry.body.waiting_rows) assert.deepEqual([business_name, name], ['', ''])
  const done = await post(`?${map}`, gzipSync(list), { 'content-encoding': 'gzip' })
  assert.deepEqual([done.status, done.body.applied, done.body.changed], [200, true, 1])
  assert.deepEqual((await post(`?${map}`, list)).body.values, 0)
  const [held] = await corrections.list('acme', ['list.example'])
  assert.deepEqual([held!.status, held!.own], ['customer', { größe: '1250' }])
  const [change] = await corrections.history('acme', 'list.example')
  assert.equal(change!.by, 'API key API')
  const refused: readonly (readonly [query: string, body: string, status: number, detail: RegExp])[] = [
    ['', 'x;y\n1;2', 422, /^say which column is the domain or the name of the company$/],
    ['?map=Site', list, 422, /^map must be COLUMN=TARGET/],
    ['?map=Nothing=domain', list, 422, /the list has no column “Nothing”/],
    ['?map=State=size', list, 422, /“State” cannot become “size”/],
    ['?dry_run=yes', list, 422, /^dry_run must be true or false$/],
    ['?dry-run=true', list, 422, /^dry-run is unknown: did you mean dry_run\? Allowed are map, dry_run/],
    ['?date_order=ymd', list, 422, /^date_order /],
    ['?change_id=1', list, 422, /^change_id /],
    ['?encoding=klingon', list, 422, /^encoding must be a name such as windows-1252/],
    ['', '', 422, /^the body is empty$/],
    ['', 'a;"b\n', 422, /has a quote that is not closed/],
  ]
  for (const [query, body, status, detail] of refused) {
    const answer = await post(query, body)
    assert.deepEqual([query, answer.status], [query, status], answer.body.detail)
    assert.match(answer.body.detail, detail, query)
  }
  const large = await post('', 'x'.repeat(IMPORT_LIMITS.bytes + 1))
  assert.equal(large.status, 413)
})
