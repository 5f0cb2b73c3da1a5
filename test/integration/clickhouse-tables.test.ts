import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OUTCOME_COLUMNS } from '../../schemas/outcome.ts'
import { ROW_COLUMNS } from '../../schemas/row.ts'
import { ClickHouseRuleTrials } from '../../src/dashboard/queries/rule-trials.ts'
import { proposals } from '../../src/operations/accuracy/learn.ts'
import { qualityOf } from '../../src/operations/accuracy/quality.ts'
import { ClickHouseTruth } from '../../src/operations/accuracy/truth.ts'
import { readRows } from '../../src/pipeline/event/read-rows.ts'
import { systemClock } from '../../src/run/clock.ts'
import { BackpressureError } from '../../src/run/errors.ts'
import { connectReading } from '../../src/stores/clickhouse/reader.ts'
import { readSourceCounts } from '../../src/tenants/sources/counts.ts'
import { readProxiedSenders } from '../../src/tenants/sources/proxied-senders.ts'
import { readUsage } from '../../src/tenants/usage.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { readDocument } from '../support/documents.ts'
import { type EventRow, eventInserter, eventRows } from '../support/event-rows.ts'

const DAY_MS = 86_400_000

const clickhouse = await startTestClickHouse()
/** Events of a tenant that only this test uses. */
const insert = eventInserter(clickhouse)

test('rows of the pipeline match the columns of their tables, in order', async () => {
  const columnsOf = async (table: string) => {
    const columns = await clickhouse.rows<{ name: string; default_type: string }>(`DESCRIBE TABLE ${table}`)
    // ClickHouse computes the others.
    return columns.filter(({ default_type: kind }) => ['', 'DEFAULT'].includes(kind)).map((column) => column.name)
  }
  assert.deepEqual(await columnsOf('events'), [...ROW_COLUMNS])
  assert.deepEqual(await columnsOf('outcomes'), [...OUTCOME_COLUMNS])
})

test('the queries of the page about events in no account run', async () => {
  const page = readDocument('src/operations/receipts/README.md')
  const queries = [...page.matchAll(/```sql\n(.*?)```|ipid sql "(.*?)"/gs)].map(([, block, line]) => block ?? line!)
  assert.equal(queries.length, 4)
  for (const query of queries) await clickhouse.rows(query)
})

test('every value comes back as sent', async () => {
  const text = 'tab\tline\nback\\slash \'quote\' "double" \0 \r\b\f ü 漢 🏳️'
  const sent = { event_id: text, properties: text, session_id: '-9007199254740991', event_type: text, platform: '\\N' }
  await insert('texts', [sent])
  const [row] =
    await clickhouse.rows(`SELECT event_id, properties, session_id, event_type, platform, received_at, asn, quality
    FROM events WHERE tenant_id = 'texts'`)
  assert.deepEqual(row, {
    event_id: text,
    properties: text,
    session_id: -9_007_199_254_740_991,
    event_type: text,
    platform: '\\N',
    received_at: '2025-11-20 00:00:00.000',
    asn: 64_500,
    quality: 80,
  })
})

test('a sink reads the same values of a row as ClickHouse, by type', async () => {
  const rows: EventRow[] = [
    { event_id: 'full', session_id: '-9007199254740991', properties: '{"a":"\t\\"}', job_id: 'j', browser_key: 2 },
    { event_id: 'null', platform: '\\N', timestamp: Date.UTC(1900, 0, 1), asn: 0, quality: 0 },
  ]
  await insert('typed', rows)
  const read = [...readRows([eventRows(rows.map((row) => ({ tenant_id: 'typed', ...row })))])]
  const time = (column: string) => `concat(replaceOne(toString(${column}), ' ', 'T'), 'Z') AS ${column}`
  const columns = ROW_COLUMNS.map((column) => (/received_at|timestamp/.test(column) ? time(column) : column))
  const stored = await clickhouse.rows(
    `SELECT ${columns.join(', ')} FROM events WHERE tenant_id = 'typed' ORDER BY event_id`,
  )
  assert.deepEqual(read, stored)
})

const PAGE = ['url', 'referrer', 'utm_source', 'utm_medium', 'utm_campaign', 'utm_term', 'utm_content'] as const
type Page = Partial<Record<(typeof PAGE)[number], string>>

/** Events of each kind, and the page of each. */
const PAGES: readonly (readonly [event: EventRow, page: Page])[] = [
  [{}, {}],
  [
    {
      extra: '{"curl":1,"a":"url","b":{"url":"inner","utm_source":"inner"}}',
      properties: '{"url":{"a":1},"path":["x"],"referrer":null}',
    },
    {},
  ],
  [{ extra: 'no JSON "url" "referrer" "utm_source"', properties: '["url"]' }, {}],
  [
    {
      extra:
        '{"url": "https://example.com/a?b=1#part", "referrer":"https://x.example/", "utm_source":"news","utm_term":"t"}',
      properties: '{"url":"https://example.com/other","referrer":"other","utm_medium":"email","utm_source":"other"}',
    },
    {
      url: 'https://example.com/a?b=1',
      referrer: 'https://x.example/',
      ...{ utm_source: 'news', utm_medium: 'email', utm_term: 't' },
    },
  ],
  [
    { properties: '{"$current_url":"https://example.com/?utm_campaign=Black+Friday%21&utm_content=b#utm_term=no"}' },
    {
      url: 'https://example.com/?utm_campaign=Black+Friday%21&utm_content=b',
      utm_campaign: 'Black Friday!',
      utm_content: 'b',
    },
  ],
  [{ properties: '{"$referrer":"$direct","path":"/pricing#top"}' }, { url: '/pricing' }],
  [{ properties: '{"page_location":"u","page_referrer":"r"}' }, { url: 'u', referrer: 'r' }],
  [{ extra: '{"page_url":"u","referer":"r"}' }, { url: 'u', referrer: 'r' }],
  [{ extra: JSON.stringify({ url: 'ü'.repeat(3_000) }) }, { url: 'ü'.repeat(2_048) }],
]

/** Pages of a tenant's events as an array, in the order of the events. */
function pagesOf(tenant: string): Promise<Page[]> {
  return clickhouse.rows<Page>(`SELECT ${PAGE.join()} FROM events WHERE tenant_id = '${tenant}' ORDER BY event_id`)
}

const EXPECTED_PAGES = PAGES.map(([, page]) => Object.fromEntries(PAGE.map((name) => [name, page[name] ?? ''])))

test('events have columns of their page and campaign, wherever their sender put them', async () => {
  await insert(
    'pages',
    PAGES.map(([event]) => event),
  )
  assert.deepEqual(await pagesOf('pages'), EXPECTED_PAGES)
  const all = await clickhouse.rows("SELECT * FROM events WHERE tenant_id = 'pages' LIMIT 1")
  assert.deepEqual(
    Object.keys(all[0]!),
    [...ROW_COLUMNS, 'lane'].filter((name) => name in all[0]!),
    'SELECT * is as before',
  )
})

test('one insert of a sink becomes a part of few files', async () => {
  const properties = 'x'.repeat(60_000)
  await insert(
    'large',
    Array.from({ length: 200 }, () => ({ properties })),
  )
  const types = "SELECT DISTINCT part_type FROM system.parts WHERE database = currentDatabase() AND table = 'events'"
  assert.deepEqual(await clickhouse.rows(types), [{ part_type: 'Compact' }])
})

test('times from 1900 to 2299 are stored to the millisecond and grouped by their UTC day', async () => {
  const days = [
    '1900-01-01',
    '1969-12-31',
    '1970-01-01',
    '1970-01-02',
    '1973-03-03',
    '1973-03-04',
    '2286-11-21',
    '2299-12-31',
  ]
  const times = days.flatMap((day) => [Date.parse(`${day}T00:00:00.000Z`), Date.parse(`${day}T23:59:59.999Z`)])
  await insert(
    'times',
    times.map((timestamp) => ({ timestamp })),
  )
  const stored = await clickhouse.rows<{ ms: number }>(
    "SELECT toUnixTimestamp64Milli(timestamp) AS ms FROM events WHERE tenant_id = 'times' ORDER BY ms",
  )
  assert.deepEqual(
    stored.map((row) => row.ms),
    times,
  )
  const rows = await clickhouse.rows<{ day: string }>(
    "SELECT day FROM daily_visits WHERE tenant_id = 'times' ORDER BY 1",
  )
  assert.deepEqual(
    rows.map((row) => row.day),
    days,
  )
})

const HOUR_MS = 3_600_000

test('health of sources is counted by their hours and days, from projections', async () => {
  const [nowMs, source_id] = [Date.UTC(2026, 2, 15, 12), 'src_1111111']
  const at = (hoursAgo: number, row: EventRow = {}) => {
    const received_at = nowMs - hoursAgo * HOUR_MS
    return { source_id, received_at, timestamp: received_at - 600_000, ip: '192.0.2.7', ...row }
  }
  await insert('health', [at(0), at(0.2), at(13), at(40, { ip: '192.0.2.9' }), at(15 * 24), at(1, { source_id: '' })])
  await insert('health', [
    ...Array.from({ length: 30 }, (_, i) => at(60 + 2 * i)),
    at(1, { source_id: 'src_2222222', ip: '::1' }),
  ])
  await insert('others', [at(0)])
  const outcome = (events: number, status: string, row: object = {}) => {
    const of = { source: `${status}${events}`, tenant_id: 'health', day: '2026-03-15', job_id: '', reason: '' }
    return { ...of, classification: '', source_id, status, events, ...row }
  }
  const values = [
    ...[
      outcome(5, 'no_ip'),
      outcome(4, 'duplicates', { day: '2026-03-14' }),
      outcome(7, 'duplicates', { day: '2026-03-13' }),
    ],
    ...[outcome(2, 'rejected', { reason: 'a' }), outcome(3, 'rejected', { reason: 'b' }), outcome(1, 'invalid_ip')],
    ...[
      outcome(8, 'filtered', { classification: 'cdn' }),
      outcome(6, 'no_page'),
      outcome(9, 'own stage'),
      outcome(99, 'no_ip', { source_id: '' }),
    ],
  ]
  await clickhouse.client.insert({ table: 'outcomes', values, format: 'JSONEachRow' })
  const counts = await readSourceCounts(clickhouse.client, 'health', nowMs)
  assert.deepEqual([...counts.keys()].sort(), ['src_1111111', 'src_2222222'])
  const { delayMs, ...found } = counts.get('src_1111111')!
  const today = { stored: 2, filtered: 14, noIp: 5, invalidIp: 1, rejected: 5, repeats: 0, other: 9 }
  assert.deepEqual(found, {
    today,
    recent: { ...today, stored: 3, repeats: 4 },
    ...{
      rejectedReasons: [
        { reason: 'b', events: 3 },
        { reason: 'a', events: 2 },
      ],
      filteredToday: { cdn: 8, no_page: 6 },
      filteredRecent: { cdn: 8, no_page: 6 },
    },
    ...{ lastEventMs: nowMs, longestPauseMs: 27 * HOUR_MS, onlyFrom: '192.0.2.7' },
  })
  assert.ok(Math.abs(delayMs! - 600_000) < 5_000, `${delayMs}`)
  const second = counts.get('src_2222222')!
  assert.deepEqual([second.longestPauseMs, second.onlyFrom, second.today.stored], [undefined, '::1', 1])

  await insert(
    'proxied',
    [0, 1, 40].map((hours) => at(hours, { source_id: '' })),
  )
  const filtered = (events: number, tenant_id: string, row: object) =>
    outcome(events, 'filtered', { tenant_id, classification: 'cdn', source_id: '', ...row })
  const noise = [
    filtered(12, 'proxied', {}),
    filtered(7, 'proxied', { day: '2026-03-13', source: 'the day before yesterday' }),
    filtered(9, 'proxied', { source_id: 'src_few' }),
    filtered(50, 'proxied', { source_id: 'src_rules', reason: 'own' }),
    filtered(20, 'proxied', { source_id: 'src_isp', classification: 'isp' }),
    outcome(90, 'duplicates', { tenant_id: 'proxied', source_id: '' }),
    filtered(20, 'proxied-too', { source_id: 'src_3333333', classification: 'reserved', day: '2026-03-14' }),
    filtered(10, 'proxied-too', { source_id: 'src_3333333', classification: 'cloud', day: '2026-03-14' }),
    outcome(90, 'no_page', { tenant_id: 'proxied-too', source_id: 'src_3333333', day: '2026-03-14' }),
  ]
  await clickhouse.client.insert({ table: 'outcomes', values: noise, format: 'JSONEachRow' })
  const keys = { tenant_id: 'proxied', source_id: '', by: 'cdn', by_events: 12, events: 12, all: 14 }
  const source = {
    tenant_id: 'proxied-too',
    source_id: 'src_3333333',
    by: 'reserved',
    by_events: 20,
    events: 30,
    all: 30,
  }
  assert.deepEqual(await readProxiedSenders(clickhouse.client, nowMs, 'proxied'), [keys])
  assert.deepEqual(await readProxiedSenders(clickhouse.client, nowMs), [source, keys])

  const forced = { force_optimize_projection: 1 } as const
  const reading = connectReading(clickhouse.url, 'test')
  try {
    const strict = {
      query: (params: Parameters<typeof reading.query>[0]) =>
        reading.query({ ...params, clickhouse_settings: { ...params.clickhouse_settings, ...forced } }),
    } as typeof reading
    assert.deepEqual((await readSourceCounts(strict, 'health', nowMs)).size, 2)
    assert.deepEqual(await readProxiedSenders(strict, nowMs, 'proxied'), [keys])
    assert.deepEqual((await readProxiedSenders(strict, nowMs)).length, 2)
  } finally {
    await reading.close()
  }
})

test('the dashboard only reads; a dry run of rules counts, one per tenant, and ends in time', async (t) => {
  const client = connectReading(clickhouse.url, 'test')
  t.after(() => client.close())
  await assert.rejects(client.command({ query: "INSERT INTO events (event_id) VALUES ('x')" }), { type: 'READONLY' })
  await assert.rejects(client.command({ query: 'SET readonly = 0' }), { type: 'READONLY' })
  await insert('tried', [{ received_at: Date.now(), ip: '203.0.113.7' }, { received_at: Date.now() }])
  assert.equal((await readUsage(client, 'tried', new Date().toISOString().slice(0, 7), 5)).tracked_accounts, 1)

  const tenant = { id: 'tried', plan: 'starter', archive: false, addresses: 'full', createdAt: '' } as const
  const trials = new ClickHouseRuleTrials(() => client, systemClock)
  const own = 'own 203.0.113.7/32'
  const unchanged = { before: {}, after: {}, changed: [], days: 2 }
  const [first, second] = await Promise.allSettled(
    [1, 2].map(() => trials.run(tenant, { ...unchanged, after: { rules: [own] }, changed: [own] })),
  )
  assert.deepEqual(first, {
    status: 'fulfilled',
    value: {
      since: new Date(Date.now() - DAY_MS).toISOString().slice(0, 10),
      ...{
        stored: 1,
        newly_filtered: { [own]: 1 },
        newly_held: {},
        shown: 0,
        filtered: 0,
        newly_kept: {},
        unknown: 0,
      },
      without_address: 0,
      changed: { companies: 1, gone_companies: 0, events: 1, visits: 1 },
      companies: [{ company_id: 'example.com', name: 'Example', events: 1, visits: 1, is_gone: false }],
    },
  })
  assert.ok((second as PromiseRejectedResult).reason instanceof BackpressureError)
  await clickhouse.client.command({
    query: `INSERT INTO events (tenant_id, event_id, received_at, timestamp, ip)
      SELECT 'tried', toString(number), now64(3, 'UTC'), now64(3, 'UTC'), toString(number) FROM numbers(30000)`,
  })
  const brief = new ClickHouseRuleTrials(() => client, systemClock, 0.001)
  await assert.rejects(brief.run(tenant, unchanged), {
    status: 503,
    message: /ipid rules add tried KIND SUBJECT --dry-run/,
  })
  assert.equal((await trials.run(tenant, { ...unchanged, days: null })).stored, 30_002, 'the next call is not refused')
})

async function listOf<T>(from: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const one of from) list.push(one)
  return list
}

test('the truth of sign-ups is read by address and session, and the networks where people are met', async () => {
  const timestamp = Date.UTC(2026, 2, 15, 12)
  const email = (name: string) => ({ user_properties: `{"email":"${name}"}` })
  const at = (ip: string, row: EventRow = {}): EventRow => ({ ip, timestamp, received_at: timestamp, ...row })
  await insert('truth', [
    at('203.0.113.7', { session_id: 1, known_domain: 'acme.com', ...email('Jane@acme.com') }),
    at('203.0.113.7', { session_id: 1, hostname: 'a.acme.com', quality: 15 }),
    // In its session two domains were named, so it says nothing about a third event.
    at('203.0.113.8', {
      session_id: 2,
      known_domain: 'acme.com',
      ...email('jane@acme.com'),
      timestamp: timestamp + DAY_MS,
    }),
    at('203.0.113.8', { session_id: 2, known_domain: 'b.com', ...email('x@b.com') }),
    at('203.0.113.8', { session_id: 2 }),
    at('203.0.113.9', { session_id: 3, company_id: '', domain: '', ...email('x@gmail.com') }),
    at('203.0.113.9', { known_domain: 'b.com', company_id: 'b', domain: '', properties: '{"email":"Y@b.com"}' }),
    at('2001:db8:1:2::3', { known_domain: 'b.com', ...email('y@b.com') }),
    at('#0123456789abcdef', { known_domain: 'b.com', ...email('z@b.com') }),
    at('203.0.113.7', { session_id: 1, timestamp: timestamp - 9 * DAY_MS, known_domain: 'old.com' }),
    // They came with browser keys, so they are only counted. The last one is older than the column.
    at('203.0.113.7', { session_id: 1, browser_key: 1 }),
    at('203.0.113.9', { browser_key: 2, ...email('z@evil.com') }),
    at('203.0.113.7', { source_id: 'src_0000001', known_domain: 'evil.com', ...email('z@evil.com') }),
  ])
  await insert('others', [at('203.0.113.7', { session_id: 1, known_domain: 'others.com' })])
  const truth = new ClickHouseTruth(clickhouse.client)
  const selection = { tenantId: 'truth', since: '2026-03-15', pageSources: ['src_0000001'] }
  assert.equal(await truth.events(selection), 12)
  assert.equal(await truth.leftOut(selection), 2)

  const groups = await listOf(truth.groups(selection))
  assert.deepEqual(
    groups
      .map(({ place, knownDomain, companyId, quality, events }) => [place, knownDomain, companyId, quality, events])
      .sort(),
    [
      ['#b.com', 'b.com', 'example.com', 80, 1],
      ['2001:db8:1:2::3', 'b.com', 'example.com', 80, 1],
      ['203.0.113.7', 'acme.com', 'example.com', 15, 1],
      ['203.0.113.7', 'acme.com', 'example.com', 80, 1],
      ['203.0.113.8', 'acme.com', 'example.com', 80, 1],
      ['203.0.113.8', 'b.com', 'example.com', 80, 1],
      ['203.0.113.9', 'b.com', 'b', 80, 1],
    ],
  )
  const pairs = groups.map(({ place, knownDomain }) => `${place} ${knownDomain}`)
  assert.deepEqual([...pairs].sort(), pairs)

  const addresses = await listOf(truth.addresses(selection))
  assert.deepEqual(
    addresses.map(({ ip, hostname, events, knownDomain }) => [ip, hostname, events, knownDomain]).sort(),
    [
      ['#0123456789abcdef', '', 1, 'b.com'],
      ['2001:db8:1:2::3', '', 1, 'b.com'],
      ['203.0.113.7', 'a.acme.com', 4, 'acme.com'],
      ['203.0.113.8', '', 3, ''],
      ['203.0.113.9', '', 3, 'b.com'],
    ],
  )

  const meetings = await listOf(truth.meetings(selection))
  assert.deepEqual(
    meetings
      .map(({ network, ip, knownDomain, days, events }) => [network, ip, knownDomain, days.length, events])
      .sort(),
    [
      ['2001:db8:1::', '2001:db8:1:2::3', 'b.com', 1, 1],
      ['203.0.113.0', '203.0.113.7', 'acme.com', 1, 1],
      ['203.0.113.0', '203.0.113.8', 'acme.com', 1, 1],
      ['203.0.113.0', '203.0.113.8', 'b.com', 1, 1],
      ['203.0.113.0', '203.0.113.9', '', 1, 1],
      ['203.0.113.0', '203.0.113.9', 'b.com', 1, 1],
    ],
  )
  const peopleOf = (domain: string) =>
    new Set(meetings.filter(({ knownDomain }) => knownDomain === domain).flatMap(({ people }) => people)).size
  assert.deepEqual([peopleOf('acme.com'), peopleOf('b.com'), peopleOf('')], [1, 2, 1])
})

test('an event without a session does not belong to the session 0', async () => {
  const ip = '203.0.113.7'
  await insert('session-zero', [
    { ip, session_id: 0, known_domain: 'acme.com' },
    { ip, session_id: 0, quality: 15 },
    { ip: '203.0.113.8' },
  ])
  const truth = new ClickHouseTruth(clickhouse.client)
  const selection = { tenantId: 'session-zero', since: '2020-01-01', pageSources: [] }
  const groups = await listOf(truth.groups(selection))
  assert.deepEqual(groups.map(({ place, quality }) => [place, quality]).sort(), [
    [ip, 15],
    [ip, 80],
  ])
  const addresses = await listOf(truth.addresses(selection))
  assert.deepEqual(addresses.map(({ ip: at, knownDomain }) => [at, knownDomain]).sort(), [
    [ip, 'acme.com'],
    ['203.0.113.8', ''],
  ])
})

test('a masked address is a case of its network for all days, and is never proposed', async () => {
  const work = { known_domain: 'acme.com', company_id: 'other.com', domain: 'other.com' }
  const masked = (network: string) =>
    [1, 2, 3, 4, 5].map((day) => ({
      ...{ ...work, ip: `${network}#000000000000000${day}`, user_properties: `{"email":"p${day}@acme.com"}` },
      timestamp: Date.UTC(2026, 2, day),
    }))
  await insert('masked', [...masked('203.0.113.0/24'), ...masked('2001:db8:1::/48'), ...masked('')])
  const truth = new ClickHouseTruth(clickhouse.client)
  const selection = { tenantId: 'masked', since: '2020-01-01', pageSources: [] }
  assert.deepEqual(
    (await listOf(truth.groups(selection))).map(({ place, events }) => [place, events]),
    [
      ['#acme.com', 5],
      ['2001:db8:1::/48', 5],
      ['203.0.113.0/24', 5],
    ],
  )
  const questions = { dataSetOf: () => 'a', isByRule: () => false }
  const { all } = await qualityOf(truth.groups(selection), questions)
  assert.deepEqual([all.events, all.cases], [15, 3])
  assert.deepEqual(await proposals(truth.meetings(selection), undefined), [])
})

test('people are distinguished by the value of an e-mail key, anywhere in the event', async () => {
  const work = { known_domain: 'acme.com' }
  await insert(
    'people',
    [
      { ...work, user_properties: '{"note":"ask help@acme.com","email":"Jane@acme.com"}' },
      { ...work, user_properties: '{"$Email" : "Jane \\"J\\" <jane@acme.com>"}' },
      { ...work, user_properties: '{"note":"ask help@acme.com","work_email":"joe@acme.com"}' },
      { ...work, user_properties: '{"note":"ask help@acme.com","email_address":"jim@acme.com"}' },
      { properties: '{"email":"a@gmail.com"}' },
      { extra: '{"traits":{"e-mail":"b@gmail.com"}}' },
      { user_properties: '{"emailAddress":" c@gmail.com"}' },
      { user_properties: '{"email":"none"}', properties: '{"text":"<d@gmail.com>","handle":"@d"}' },
      { properties: '{"friend_email":"e@gmail.com"}' },
    ].map((row) => ({ ip: '203.0.113.7', ...row })),
  )
  const truth = new ClickHouseTruth(clickhouse.client)
  const meetings = await listOf(truth.meetings({ tenantId: 'people', since: '2020-01-01', pageSources: [] }))
  assert.deepEqual(meetings.map(({ knownDomain, people, events }) => [knownDomain, people.length, events]).sort(), [
    ['', 3, 3],
    ['acme.com', 3, 4],
  ])
})
