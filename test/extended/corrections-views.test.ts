import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DEFAULT_HEAT_WEIGHTS, type HeatWeights } from '../../schemas/dashboard/heat.ts'
import { readBasis } from '../../src/companies/days.ts'
import { heatOfDays, heatSql } from '../../src/companies/heat.ts'
import { QuestionReader } from '../../src/stores/clickhouse/reader.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { type ModelState, modelAccounts, modelCompanies, modelDays, modelSessions } from '../support/corrected-model.ts'
import { type EventRow, eventInserter } from '../support/event-rows.ts'
import { randomOf } from '../support/random.ts'

const clickhouse = await startTestClickHouse()
/** Events of a tenant that only this test uses. */
const insert = eventInserter(clickhouse)

const DAY_MS = 86_400_000
const NOON_MS = Date.UTC(2025, 2, 10, 12)
const COMPANIES = ['a.example', 'b.example', 'c.example', 'd.example', 'e.example']

function randomEvents(random: (below: number) => number, from: number, count: number): EventRow[] {
  return Array.from({ length: count }, (_, i) => {
    const company_id = random(5) === 0 ? '' : COMPANIES[random(COMPANIES.length)]!
    const account_id = random(3) === 0 ? `crm-${random(3)}` : company_id
    const number = from + i
    return {
      ...{ event_id: `event-${number}`, company_id, account_id, ip: `192.0.2.${random(4)}` },
      ...{ received_at: NOON_MS + number, timestamp: NOON_MS + number + random(3) * DAY_MS },
      ...(random(2) === 0 ? {} : { session_id: random(2) }),
      business_name: company_id === '' ? '' : `Name ${company_id} ${random(3)}`,
    }
  })
}

async function correct(tenant: string, values: readonly (readonly [company: string, field: string, value: string])[]) {
  const at = correct.at++
  await clickhouse.client.insert({
    table: 'company_corrections',
    values: values.map(([company_id, field, value]) => ({
      ...{ tenant_id: tenant, company_id, field, at: NOON_MS + at, change_id: String(at), value },
    })),
    format: 'JSONEachRow',
  })
}
correct.at = 0

async function assertAsModel(tenant: string, events: readonly EventRow[], states: ReadonlyMap<string, ModelState>) {
  const rows = (view: string, columns: string) =>
    clickhouse.rows(`SELECT ${columns} FROM ${view} WHERE tenant_id = '${tenant}' ORDER BY ALL`)
  const text = JSON.stringify([...states])
  assert.deepEqual(
    await rows(
      'companies',
      'company_id, business_name, events, visits, unique_ips, accounts, tags, owner, status, own, note',
    ),
    modelCompanies(events, states),
    text,
  )
  assert.deepEqual(
    await rows('accounts', 'account_id, business_name, events, visits, unique_ips'),
    modelAccounts(events, states),
    text,
  )
  assert.deepEqual(await rows('daily_visits', 'account_id, day, visits, events'), modelDays(events, states), text)
  assert.deepEqual(
    await rows('sessions', 'day, account_id, session_id, events, unique_ips'),
    modelSessions(events, states),
    text,
  )
}

test('views follow random corrections as a plain model of all events does', async () => {
  for (const seed of [1, 2]) {
    const tenant = `random-${seed}`
    const random = randomOf(seed)
    const states = new Map<string, ModelState>()
    const events: EventRow[] = []
    for (let round = 0; round < 6; round++) {
      const more = randomEvents(random, events.length, 25)
      events.push(...more)
      await insert(tenant, more)
      const company = COMPANIES[random(COMPANIES.length)]!
      const state = states.get(company) ?? {}
      const other = COMPANIES[random(COMPANIES.length)]!
      // Here all merges go to a company that is not merged itself; the writer sees to that.
      const isFree = other !== company && !states.get(other)?.countsFor
      const isTarget = [...states.values()].some(({ countsFor }) => countsFor === company)
      const corrections: readonly (readonly [string, string, ModelState])[] = [
        ['hidden', state.hidden ? '' : 'yes', { hidden: !state.hidden }],
        ['name', round % 2 ? '' : `New ${round}`, { name: round % 2 ? '' : `New ${round}` }],
        ['tags', 'hot\nlarge', { tags: ['hot', 'large'] }],
        ['owner', 'Ada', { owner: 'Ada' }],
        ['status', 'customer', { status: 'customer' }],
        ['own:size', '5', { own: { ...state.own, size: '5' } }],
        ['own:team', 'Bo', { own: { ...state.own, team: 'Bo' } }],
        state.countsFor || !isFree || isTarget
          ? ['counts_for', '', { countsFor: '' }]
          : ['counts_for', other, { countsFor: other }],
      ]
      const [field, value, change] = corrections[random(corrections.length)]!
      states.set(company, { ...state, ...change })
      await correct(tenant, [[company, field, value]])
      await assertAsModel(tenant, events, states)
    }
    // With every correction taken back, the views are as without any.
    const undone = [...states.keys()].flatMap((id) =>
      ['hidden', 'name', 'tags', 'owner', 'status', 'own:size', 'own:team', 'counts_for'].map(
        (field) => [id, field, ''] as const,
      ),
    )
    await correct(tenant, undone)
    await assertAsModel(tenant, events, new Map())
  }
})

test('a merge unites sets of addresses, and shows the attributes of its target', async () => {
  await insert('merged', [
    { company_id: 'a.example', account_id: 'a.example', business_name: 'A', received_at: NOON_MS + 9 },
    { company_id: 'a.example', account_id: 'crm', business_name: 'A', event_id: 'crm', received_at: NOON_MS + 9 },
    { company_id: 'b.example', account_id: 'b.example', business_name: 'B', event_id: 'b' },
  ])
  await correct('merged', [['a.example', 'counts_for', 'b.example']])
  const rows = (sql: string) => clickhouse.rows(sql.replace('OF', "WHERE tenant_id = 'merged'"))
  assert.deepEqual(await rows('SELECT company_id, business_name, events, unique_ips, accounts FROM companies OF'), [
    { company_id: 'b.example', business_name: 'B', events: 3, unique_ips: 1, accounts: 2 },
  ])
  assert.deepEqual(
    await rows('SELECT account_id, business_name, events, visits FROM accounts OF ORDER BY account_id'),
    [
      { account_id: 'b.example', business_name: 'B', events: 2, visits: 1 },
      { account_id: 'crm', business_name: 'B', events: 1, visits: 1 },
    ],
  )
  assert.deepEqual(await rows('SELECT account_id, visits, events FROM daily_visits OF ORDER BY account_id'), [
    { account_id: 'b.example', visits: 1, events: 2 },
    { account_id: 'crm', visits: 1, events: 1 },
  ])
})

test('heat is the sum of recency, frequency, depth and intent of 30 days, after merges and without hidden companies', async () => {
  // The day must not change between the inserts and the reads.
  const nowMs = Date.now()
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS
  let made = 0
  const on = (company_id: string, daysAgo: number, pages: readonly string[]): EventRow[] =>
    pages.map((page) => ({
      ...{ company_id, account_id: company_id, event_id: `h${made++}` },
      ...{ received_at: nowMs, timestamp: today - daysAgo * DAY_MS + 1 },
      extra: page === '' ? '' : JSON.stringify({ url: page }),
    }))
  const events = [
    ...on('one.example', 0, ['https://shop.example/pricing?x=1']),
    ...on('busy.example', 7, ['/', '/Book%20a-Demo', '/repricing']),
    ...on('busy.example', 20, ['/en/sign-up/', '/contacts', '/search?q=pricing']),
    ...on('edge.example', 29, ['', '/other']),
    ...on('old.example', 30, ['/pricing']),
    ...on('part.example', 1, ['/prei\u00dfe', '/demo']),
    ...[0, 1, 2, 3, 4, 5, 6].flatMap((ago) => on('week.example', ago, [''])),
    ...on('gone.example', 0, ['/pricing']),
    ...on('ahead.example', -1, ['/pricing']),
  ]
  await insert('heat', events)
  await insert('own-pages', events)
  await insert('weighed', events)
  await insert('unweighed', events)
  const at = new Date(NOON_MS).toISOString().replace('T', ' ').replace('Z', '')
  const own = { tenant_id: 'own-pages', company_id: '', field: 'intent_pages', at, change_id: '1', value: 'preiße\nq' }
  const weights = {
    ...own,
    tenant_id: 'weighed',
    field: 'heat_weights',
    value: 'recency=4 frequency=11 depth=85 intent=0',
  }
  // As of a later version, or of a backup that somebody changed.
  const wrong = { ...weights, tenant_id: 'unweighed', value: 'recency=4 frequency=11 depth=85 intent=1' }
  await clickhouse.client.insert({ table: 'company_corrections', values: [own, weights, wrong], format: 'JSONEachRow' })
  await correct('heat', [
    ['part.example', 'counts_for', 'one.example'],
    ['gone.example', 'hidden', 'yes'],
  ])
  /** The formula as src/companies/README.md says it. */
  const model = (
    company_id: string,
    daysAgo: number,
    days: number,
    count: number,
    intents: number,
    most: HeatWeights = DEFAULT_HEAT_WEIGHTS,
  ) => {
    const share = (value: number, most: number) => Math.min(1, Math.log2(1 + value) / Math.log2(1 + most))
    const parts = {
      recency: Math.round(most.recency * 2 ** (-daysAgo / 7)),
      // ClickHouse rounds a half to the even number: 22.5 of seven days is 22.
      frequency: days === 7 && most.frequency === 30 ? 22 : Math.round(most.frequency * share(days, 15)),
      depth: Math.round(most.depth * share(count / days, 31)),
      intent: Math.round(most.intent * share(intents, 7)),
    }
    const all = Array.from({ length: days }, (_, i) => ({
      ...{ ago: Math.min(29, daysAgo + i), events: i === 0 ? count - days + 1 : 1, hasIntent: i < intents },
    }))
    const {
      events_per_day: _,
      days_ago: __,
      ...computed
    } = heatOfDays([...all, { ago: 30, events: 9, hasIntent: true }], most)!
    const heat = parts.recency + parts.frequency + parts.depth + parts.intent
    const expected = { heat, ...parts, active_days: days, intent_days: intents }
    assert.deepEqual(computed, expected, 'heat of another day has the same formula')
    return { company_id, ...expected }
  }
  const found = async (tenant: string) => {
    const columns = 'SELECT company_id, heat, recency, frequency, depth, intent, active_days, intent_days'
    const rows = await clickhouse.rows(`${columns} FROM company_heat WHERE tenant_id = '${tenant}' ORDER BY company_id`)
    const numbers = `SELECT company_id, sipHash64(company_id) AS company FROM company_heat WHERE tenant_id = {tenant:String}`
    const query = `${columns} FROM (${heatSql(await readBasis(new QuestionReader(clickhouse.client), tenant, 'pages', 'UTC'))}) AS heats INNER JOIN (${numbers}) AS named USING company ORDER BY company_id`
    const ofLists = await clickhouse.client.query({ query, query_params: { tenant }, format: 'JSONEachRow' })
    assert.deepEqual(await ofLists.json(), rows, 'lists have the heat of the view')
    return rows
  }
  assert.deepEqual(await found('heat'), [
    model('busy.example', 7, 2, 6, 2),
    model('edge.example', 29, 1, 2, 0),
    model('one.example', 0, 2, 3, 2),
    model('week.example', 0, 7, 7, 0),
  ])
  assert.deepEqual(await found('own-pages'), [
    model('busy.example', 7, 2, 6, 0),
    model('edge.example', 29, 1, 2, 0),
    model('gone.example', 0, 1, 1, 0),
    model('one.example', 0, 1, 1, 0),
    model('part.example', 1, 1, 2, 1),
    model('week.example', 0, 7, 7, 0),
  ])
  const chosen = { recency: 4, frequency: 11, depth: 85, intent: 0 }
  assert.deepEqual(await found('weighed'), [
    model('busy.example', 7, 2, 6, 2, chosen),
    model('edge.example', 29, 1, 2, 0, chosen),
    model('gone.example', 0, 1, 1, 1, chosen),
    model('one.example', 0, 1, 1, 1, chosen),
    model('part.example', 1, 1, 2, 1, chosen),
    model('week.example', 0, 7, 7, 0, chosen),
  ])
  const [busy] = await found('unweighed')
  assert.deepEqual(busy, model('busy.example', 7, 2, 6, 2), 'what is no weights means the default ones')
  assert.deepEqual(
    await clickhouse.rows(
      "SELECT company_id, heat > 0 AS warm FROM companies WHERE tenant_id = 'heat' ORDER BY heat DESC, 1",
    ),
    [
      { company_id: 'one.example', warm: 1 },
      { company_id: 'week.example', warm: 1 },
      { company_id: 'busy.example', warm: 1 },
      { company_id: 'edge.example', warm: 1 },
      { company_id: 'ahead.example', warm: 0 },
      { company_id: 'old.example', warm: 0 },
    ],
  )
})

test('views read projections, with and without corrections', async () => {
  await insert('plans', [
    { company_id: 'x.example', account_id: 'x.example' },
    { company_id: 'y.example', account_id: 'y.example', event_id: 'y' },
  ])
  const isRead = async (view: string, where: string, projection: string) => {
    const plan = await clickhouse.rows<{ explain: string }>(
      `EXPLAIN projections = 1 SELECT * FROM ${view} WHERE tenant_id = 'plans'${where}`,
    )
    const text = plan.map(({ explain }) => explain).join('\n')
    assert.ok(text.includes(`ReadFromMergeTree (${projection})`), text)
  }
  for (const corrected of [false, true]) {
    if (corrected) await correct('plans', [['x.example', 'name', 'X']])
    await isRead('companies', '', 'company_sums')
    await isRead('companies', " AND company_id = 'y.example'", 'company_sums')
    await isRead('accounts', '', 'company_sums')
    await isRead('accounts', " AND account_id = 'y.example'", 'company_sums')
  }
})
