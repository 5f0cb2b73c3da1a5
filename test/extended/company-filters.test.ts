import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CompanyFilter } from '../../schemas/companies.ts'
import { ClickHouseVisits } from '../../src/alerts/evaluation/visits.ts'
import { ClickHouseCompanies } from '../../src/companies/companies.ts'
import { allOf, anyOf, type Condition, notOf } from '../../src/companies/condition.ts'
import { CompanyCorrections } from '../../src/companies/corrections/corrections.ts'
import { assertFilter } from '../../src/companies/filter.ts'
import { formatCondition, formatWhere, parseWhere } from '../../src/companies/where.ts'
import { connectReading, QuestionReader } from '../../src/stores/clickhouse/reader.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { eventInserter } from '../support/event-rows.ts'
import { entries, keeps, type ModelCompany } from '../support/filter-model.ts'

/* Everything that stores or evaluates a filter gives the same companies as a model of it. */

const DAY_MS = 86_400_000
// Heat is that of the clock of ClickHouse.
const NOW = Date.now()
const TODAY = Math.floor(NOW / DAY_MS)
const FILTERS = 24
const PAGES = ['shop.example/pricing', 'shop.example/docs', 'shop.example/blog/pricing']
const SOURCES = ['src_000000a1', 'src_000000b2', '']
const CAMPAIGNS = ['spring', 'fall', '']

let seed = 5
const random = (below: number) => {
  seed = (seed * 48_271) % 2_147_483_647
  return seed % below
}
const one = <T>(values: readonly T[]): T => values[random(values.length)]!
const some = <T>(values: readonly T[]): T[] => {
  const found = values.filter(() => random(2) === 0)
  return found.length === 0 ? [one(values)] : found
}

const clickhouse = await startTestClickHouse()
const client = connectReading(clickhouse.url, 'test')
const reader = new QuestionReader(client)
const clock = { now: () => NOW }
const companies = new ClickHouseCompanies(reader, clock)
const visits = new ClickHouseVisits(reader, async () => [], clock)

/** By the lines that `madeCompanies` sets. */
function fitOf({ country, industry, tags, owner, status }: Omit<ModelCompany, 'fit'>): string {
  if (tags.includes('big') && (owner === 'Ada' || status === 'customer')) return 'poor'
  return ['poor', 'ok', 'good'][Number(country === 'DE' || country === 'AT') + Number(industry === 'Software')]!
}

async function madeCompanies(): Promise<readonly ModelCompany[]> {
  const made = Array.from({ length: 14 }, (_, i) => ({
    ...{ id: `c${i}.example`, country: one(['DE', 'AT', 'FR', '']), industry: one(['Software', 'Banks', '']) },
    ...{
      tags: [['customer', 'big'], ['customer'], [], [], ['big']][i % 5]!,
      owner: one(['Ada', 'Bob', '']),
      status: one(['customer', '']),
      heat: 0,
      fit: '',
    },
    events: Array.from({ length: 1 + random(8) }, (_event, n) => ({
      // Not near midnight, so that the test may run over it.
      at: (TODAY - random(45)) * DAY_MS + 1 + n,
      ...{ ip: `198.51.100.${random(3)}`, page: one(PAGES), source: one(SOURCES), campaign: one(CAMPAIGNS) },
    })),
  }))
  await eventInserter(clickhouse)(
    'acme',
    made.flatMap(({ id, country, industry, events }) =>
      events.map(({ at, ip, page, source, campaign }, n) => ({
        ...{ event_id: `${id} ${n}`, company_id: id, account_id: id, domain: id, business_name: id, ip },
        ...{ country_code: country, industry, received_at: at, timestamp: at, source_id: source },
        extra: JSON.stringify({ url: `https://${page}${campaign === '' ? '' : `?utm_campaign=${campaign}`}` }),
      })),
    ),
  )
  const corrections = new CompanyCorrections(
    () => clickhouse.client,
    clock,
    async (_tenant, work) => await work(),
  )
  for (const { id, tags, owner, status } of made) {
    if (tags.length === 0 && owner === '' && status === '') continue
    await corrections.correct('acme', { companies: [id], wanted: { add_tags: [...tags], owner, status }, by: 'test' })
  }
  await corrections.setFit('acme', {
    lines: [
      { is: 'good', where: 'country=DE,country=AT' },
      { is: 'good', where: 'industry=Software' },
      { is: 'poor', where: 'tag=big,(owner=Ada or status=customer)' },
    ],
    by: 'test',
  })
  const heats = new Map<string, number>()
  for await (const rows of companies.rows('acme', {}, new AbortController().signal))
    for (const { company_id, heat } of rows) heats.set(company_id, heat)
  return made.map((company) => ({ ...company, heat: heats.get(company.id)!, fit: fitOf(company) }))
}

const attributes: readonly (() => CompanyFilter)[] = [
  () => ({ country: some(['DE', 'AT', '-']) }),
  () => ({ country_not: some(['DE', 'FR']) }),
  () => ({ industry: some(['Software', '-']) }),
  () => ({ industry_not: ['Banks'] }),
  () => ({ owner: some(['Ada', '-']) }),
  () => ({ owner_not: ['Bob'] }),
  () => ({ status: ['customer'] }),
  () => ({ fit: some(['good', 'ok', '-']) }),
  () => ({ fit_not: some(['ok', 'poor']) }),
  () => ({ status_not: ['customer', '-'].slice(random(2)) }),
  () => ({ tag: some(['customer', 'big', '-']) }),
  () => ({ tag_not: some(['customer', '-']) }),
  () => ({ search: one(['c1', '.example', '3']) }),
  () => ({ first_channel: some(['direct', 'other campaign', '-']) }),
  () => ({ first_channel_not: ['other campaign'] }),
  () => ({ first_campaign: some(['spring', '-']) }),
  () => ({ heat_min: 10 + random(50) }),
  () => ({ heat_max: 10 + random(50) }),
]
const moving: readonly (() => CompanyFilter)[] = [
  () => ({ source: [one(['src_000000a1', '-'])] }),
  () => ({ source_not: ['src_000000a1'] }),
  () => ({ campaign: [one(['spring', 'fall'])] }),
  () => ({ campaign_not: ['fall'] }),
  () => ({ page: [one(PAGES)] }),
  () => ({ page_contains: [one(['pricing', 'docs'])] }),
  () => ({ visits_min: 1 + random(4) }),
  () => ({ visits_max: random(5) }),
  () => ({ events_min: 1 + random(5) }),
  () => ({ events_max: 1 + random(5) }),
  () => ({ new_days: 1 + random(40) }),
]

function madeFilter(): { readonly fields: CompanyFilter; readonly condition: Condition } {
  const leaf = (): Condition => ({ is: one([...attributes, ...moving])() })
  const make = (depth: number): Condition => {
    const parts = () => Array.from({ length: 2 + random(2) }, () => make(depth - 1))
    return depth === 0
      ? leaf()
      : [leaf, () => allOf(parts()), () => anyOf(parts()), () => notOf(make(depth - 1))][random(4)]!()
  }
  const condition = one([() => anyOf([make(2), make(1)]), () => notOf(allOf([make(1), make(1)])), () => make(3)])()
  const fields = {
    ...(random(2) === 0 && { days: one([3, 10, 30, 60]) }),
    ...(random(3) === 0 && one(attributes)()),
    ...(random(4) === 0 && { page_contains: ['pricing'], page_visits_min: 2 }),
  }
  return { fields, condition }
}

test('lists, exports, the API, alerts and their trials keep the same companies as a model', async (t) => {
  t.after(() => client.close())
  const model = await madeCompanies()
  const ids = model.map(({ id }) => id)
  const pastMs = NOW - 6 * DAY_MS
  const pastDay = Math.floor(pastMs / DAY_MS)
  // Corrections came later, and what is said about good companies, which holds for the past too.
  const past = model.map((company) => {
    const before = { ...company, tags: [], owner: '', status: '' }
    return { ...before, fit: fitOf(before), events: company.events.filter(({ at }) => at <= pastMs) }
  })
  const since = TODAY - 20
  const sizes = new Set<number>()
  for (let i = 0; i < FILTERS; i++) {
    const { fields, condition } = madeFilter()
    const where = formatWhere({ ...fields, condition: formatCondition(condition) })
    const filter = parseWhere(where)
    assertFilter(filter)
    const wanted = model.filter((company) => keeps(company, fields, condition, TODAY)).map(({ id }) => id)
    sizes.add(wanted.length)
    const listed = await companies.page('acme', { ...filter, limit: 50 })
    const exported: string[] = []
    for await (const rows of companies.rows('acme', filter, new AbortController().signal))
      for (const { company_id } of rows) exported.push(company_id)
    const part = await companies.part('acme', filter, { after: '', updatedSinceMs: undefined, limit: 50 })
    const found = {
      list: listed.rows.map(({ company_id }) => company_id),
      total: ids.slice(0, listed.total),
      exported,
      api: part.companies.map(({ company_id }) => company_id),
      matching: [...(await companies.matching('acme', filter, ids))],
      alerts: await visits.members('acme', where, undefined, 1_000),
      among: await visits.members('acme', where, ids, 1_000),
    }
    for (const [name, all] of Object.entries(found))
      assert.deepEqual(
        name === 'total' ? all.length : all.sort(),
        name === 'total' ? wanted.length : wanted.sort(),
        `${name}: ${where}`,
      )
    const entered = await visits.entries('acme', where, since * DAY_MS)
    assert.deepEqual(
      entered.map(({ day, company_id }) => `${company_id} ${day}`).sort(),
      model
        .flatMap((company) =>
          entries(company, fields, condition, since, TODAY).map(
            (day) => `${company.id} ${new Date(day * DAY_MS).toISOString().slice(0, 10)}`,
          ),
        )
        .sort(),
      `entries: ${where}`,
    )
    if (where.includes('heat')) continue
    assert.deepEqual(
      (await visits.membersAmong('acme', where, pastMs, ids)).sort(),
      past
        .filter((company) => keeps(company, fields, condition, pastDay))
        .map(({ id }) => id)
        .sort(),
      `state of the past: ${where}`,
    )
  }
  // Filters that keep all or nothing would prove little.
  assert.ok(sizes.size >= 6, [...sizes].join())
})
