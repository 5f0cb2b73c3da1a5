import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OUTCOME_COLUMNS } from '../../schemas/outcome.ts'
import { TableInserter } from '../../src/pipeline/sinks/clickhouse/inserter.ts'
import { OUTCOMES } from '../../src/stores/clickhouse/tables.ts'
import { EVERYBODY, readTrackedAccounts, readUsage } from '../../src/tenants/usage.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { type EventRow, eventInserter } from '../support/event-rows.ts'

const DAY_MS = 86_400_000
const NOON_MS = Date.UTC(2025, 2, 10, 12)

const clickhouse = await startTestClickHouse()
/** Events of a tenant that only this test uses. */
const insert = eventInserter(clickhouse)

test('an account sums up its events; a visit is an address on a UTC day', async () => {
  const visits = [
    { ip: '192.0.2.1', timestamp: NOON_MS },
    ...Array.from({ length: 500 }, () => ({ ip: '192.0.2.1', timestamp: NOON_MS + 1 })),
    { ip: '192.0.2.1', timestamp: NOON_MS + DAY_MS },
    { ip: '2001:db8::1', timestamp: NOON_MS },
  ]
  await insert('sums', visits)
  assert.deepEqual(await clickhouse.rows("SELECT * FROM accounts WHERE tenant_id = 'sums'"), [
    {
      tenant_id: 'sums',
      account_id: 'example.com',
      business_name: 'Example',
      org_name: 'Example Holdings',
      domain: 'example.com',
      industry: '',
      industry_category: '',
      classification: 'business',
      country_code: 'DE',
      first_seen: '2025-03-10 12:00:00.000',
      last_seen: '2025-03-11 12:00:00.000',
      events: 503,
      visits: 3,
      unique_ips: 2,
      quality: 80,
    },
  ])
  const day = { tenant_id: 'sums', account_id: 'example.com' }
  assert.deepEqual(await clickhouse.rows("SELECT * FROM daily_visits WHERE tenant_id = 'sums' ORDER BY day"), [
    { ...day, day: '2025-03-10', visits: 2, events: 502, unique_ips: 2 },
    { ...day, day: '2025-03-11', visits: 1, events: 1, unique_ips: 1 },
  ])
})

test('the attributes come together from the event received last, whatever its timestamp', async () => {
  const attributes = (at: number, name: string, more: EventRow = {}) => {
    return { received_at: NOON_MS + at, timestamp: NOON_MS - at, business_name: name, org_name: name, ...more }
  }
  await insert('latest', [attributes(2, 'known less', { quality: 10 }), attributes(2, 'new'), attributes(0, 'old')])
  await insert('latest', [attributes(1, 'of the year 2200', { timestamp: Date.UTC(2200, 0, 1) })])
  for (const view of ['accounts', 'companies']) {
    const [row] = await clickhouse.rows(`SELECT business_name, org_name FROM ${view} WHERE tenant_id = 'latest'`)
    assert.deepEqual(row, { business_name: 'new', org_name: 'new' }, view)
  }
})

test('a timestamp over a day ahead of receipt is stored, but moves neither first nor last_seen', async () => {
  const received_at = NOON_MS
  const ahead = { received_at, timestamp: Date.UTC(2200, 0, 1) }
  await insert('ahead', [
    { account_id: 'both', received_at, timestamp: NOON_MS - 5 },
    { account_id: 'both', ...ahead },
    { account_id: 'a day', received_at, timestamp: NOON_MS + DAY_MS },
    { account_id: 'only ahead', ...ahead },
    { account_id: 'old', received_at, timestamp: Date.UTC(1950, 0, 1) },
  ])
  const seen = await clickhouse.rows(
    "SELECT account_id, first_seen, last_seen FROM accounts WHERE tenant_id = 'ahead' ORDER BY account_id",
  )
  const noon = '2025-03-10 12:00:00.000'
  assert.deepEqual(seen, [
    { account_id: 'a day', first_seen: '2025-03-11 12:00:00.000', last_seen: '2025-03-11 12:00:00.000' },
    { account_id: 'both', first_seen: '2025-03-10 11:59:59.995', last_seen: '2025-03-10 11:59:59.995' },
    { account_id: 'old', first_seen: '1950-01-01 00:00:00.000', last_seen: '1950-01-01 00:00:00.000' },
    // Its first_seen is the time of receipt.
    { account_id: 'only ahead', first_seen: noon, last_seen: noon },
  ])
  const [company] = await clickhouse.rows("SELECT first_seen, last_seen FROM companies WHERE tenant_id = 'ahead'")
  assert.deepEqual(company, { first_seen: '1950-01-01 00:00:00.000', last_seen: '2025-03-11 12:00:00.000' })
  const [stored] = await clickhouse.rows("SELECT max(timestamp) AS latest FROM events WHERE tenant_id = 'ahead'")
  assert.deepEqual(stored, { latest: '2200-01-01 00:00:00.000' })
})

test('stored and dropped events add up in daily_outcomes, which reads sums of both', async () => {
  const received_at = Date.UTC(2025, 10, 20)
  await insert('outcomes', [
    { received_at },
    { received_at, timestamp: 0 },
    { received_at: received_at + DAY_MS, classification: '', company_id: '' },
    { received_at, job_id: 'job-1' },
  ])
  type OutcomeRow = Partial<Record<(typeof OUTCOME_COLUMNS)[number], string | number>>
  const outcome = (row: OutcomeRow) => {
    const full: OutcomeRow = { tenant_id: 'outcomes', ...row }
    return OUTCOME_COLUMNS.map((column) => full[column] ?? '').join('\t')
  }
  const day = '2025-11-20'
  const rows: OutcomeRow[] = [
    { source: 'p:1', day, status: 'filtered', classification: 'cloud', events: 3 },
    { source: 'p:2', day, status: 'filtered', classification: 'cloud', events: 4 },
    { source: 'p:2/process:0:live:1-1', day, status: 'dead', reason: 'enrich', events: 1 },
    { source: 'p:2/retry:0:live:1-1', day, status: 'dead', reason: 'enrich', events: -1 },
    { source: 'job-1:1', day, job_id: 'job-1', status: 'rejected', reason: 'schema', events: 5 },
  ]
  const outcomes = new TableInserter(OUTCOMES, clickhouse.client, async () => {})
  const lines = Buffer.from(`${rows.map(outcome).join('\n')}\n`)
  await outcomes.insert([lines], 'outcomes')
  await outcomes.insert([lines], 'outcomes')
  assert.deepEqual(await outcomes.absent([lines]), [])
  const other = Buffer.from(`${outcome({ source: 'p:3', ...rows[0], tenant_id: "o'ther\\t" })}\n`)
  assert.deepEqual(await outcomes.absent([lines, other]), [other])

  const expected = [
    `${day}\tbatch\trejected\tschema\t\t5`,
    `${day}\tbatch\tstored\t\tbusiness\t1`,
    `${day}\tlive\tfiltered\t\tcloud\t7`,
    `${day}\tlive\tstored\t\tbusiness\t2`,
    '2025-11-21\tlive\tstored\t\t\t1',
  ]
  const select = "SELECT * EXCEPT tenant_id FROM daily_outcomes WHERE tenant_id = 'outcomes' ORDER BY ALL"
  const found = await clickhouse.rows(select)
  assert.deepEqual(
    found.map((row) => Object.values(row).join('\t')),
    expected,
  )
  const force = 'SETTINGS force_optimize_projection = 1'
  await clickhouse.rows(`${select} ${force}`)
})

test('an account named by the caller has all its events, and the latest known organisation', async () => {
  const unknown = { company_id: '', business_name: '', org_name: '', domain: '', classification: '', quality: 0 }
  const ofCaller = (account_id: string, at: number, more: EventRow = {}) => {
    return { account_id, received_at: NOON_MS + at, timestamp: NOON_MS + at, ...more }
  }
  await insert('named', [
    ofCaller('crm-1', 0, { business_name: 'Older', company_id: 'older.example' }),
    ofCaller('crm-1', 1),
    ofCaller('crm-1', 2, { ip: '198.51.100.7', ...unknown }),
    ofCaller('crm-1', 2 + DAY_MS, { ip: '198.51.100.7', ...unknown }),
    ofCaller('crm-2', 3, { ip: '198.51.100.8', ...unknown }),
    ofCaller('', 4, { ip: '198.51.100.9', ...unknown }),
  ])
  const select = (view: string, columns: string) =>
    clickhouse.rows(`SELECT ${columns} FROM ${view} WHERE tenant_id = 'named' ORDER BY ALL`)
  const noon = '2025-03-10 12:00:00.00'
  assert.deepEqual(
    await select('accounts', 'account_id, business_name, quality, events, visits, unique_ips, first_seen, last_seen'),
    [
      {
        ...{ account_id: 'crm-1', business_name: 'Example', quality: 80, events: 4, visits: 3, unique_ips: 2 },
        ...{ first_seen: `${noon}0`, last_seen: '2025-03-11 12:00:00.002' },
      },
      {
        ...{ account_id: 'crm-2', business_name: '', quality: 0, events: 1, visits: 1, unique_ips: 1 },
        ...{ first_seen: `${noon}3`, last_seen: `${noon}3` },
      },
    ],
  )
  assert.deepEqual(await select('daily_visits', 'account_id, toString(day) AS day, visits, events'), [
    { account_id: 'crm-1', day: '2025-03-10', visits: 2, events: 3 },
    { account_id: 'crm-1', day: '2025-03-11', visits: 1, events: 1 },
    { account_id: 'crm-2', day: '2025-03-10', visits: 1, events: 1 },
  ])
  assert.deepEqual(await select('companies', 'company_id, events, accounts'), [
    { company_id: 'example.com', events: 1, accounts: 1 },
    { company_id: 'older.example', events: 1, accounts: 1 },
  ])
  assert.deepEqual(await readUsage(clickhouse.client, 'named', '2025-03', 9), { tracked_accounts: 2, passed_at: null })
})

test('a company spans all accounts of the caller; without either there is no account', async () => {
  await insert('companies', [
    { account_id: 'user-1' },
    { account_id: 'user-2' },
    { account_id: 'user-2', ip: '192.0.2.2' },
    { account_id: 'user-3', company_id: '' },
    { account_id: '', company_id: '' },
  ])
  const [company] = await clickhouse.rows(
    "SELECT company_id, accounts, events, visits, unique_ips FROM companies WHERE tenant_id = 'companies'",
  )
  assert.deepEqual(company, { company_id: 'example.com', accounts: 2, events: 3, visits: 2, unique_ips: 2 })
  const accounts = await clickhouse.rows("SELECT account_id FROM accounts WHERE tenant_id = 'companies' ORDER BY 1")
  assert.deepEqual(accounts, [{ account_id: 'user-1' }, { account_id: 'user-2' }, { account_id: 'user-3' }])
  const [events] = await clickhouse.rows("SELECT count() AS n FROM events WHERE tenant_id = 'companies'")
  assert.deepEqual(events, { n: 5 })
})

test('usage reads the projections of events, not its rows', async () => {
  const force = 'SETTINGS force_optimize_projection = 1'
  const usage = `SELECT account_id, min(received_at) FROM events
    WHERE tenant_id = 'sums' AND company > 0 AND toYYYYMM(received_at) IN (202511) GROUP BY account_id`
  await clickhouse.rows(`${usage} ${force}, force_optimize_projection_name = 'company_sums'`)
  const everybody = EVERYBODY.replace('{month:UInt32}', '202511')
  await clickhouse.rows(`${everybody} ${force}, force_optimize_projection_name = 'company_sums'`)
})

test('usage counts identified companies per UTC month, and the time when it passed the limit', async () => {
  const november = Date.UTC(2025, 10, 1)
  const rows = [2, 0, 1, 3].map((n) => ({
    account_id: `account-${n}`,
    company_id: `company-${n}`,
    received_at: november + n,
  }))
  await insert('usage', [
    ...rows,
    { account_id: 'another of company-0', company_id: 'company-0', received_at: november + 999 },
    { account_id: 'unknown', company_id: '', received_at: november },
    { account_id: 'october', received_at: november - 1 },
    { account_id: 'december', received_at: Date.UTC(2025, 11, 1) },
  ])
  const usage = (month: string, limit: number) => readUsage(clickhouse.client, 'usage', month, limit)
  assert.deepEqual(await usage('2025-11', 4), { tracked_accounts: 4, passed_at: null })
  assert.deepEqual(await usage('2025-11', 3), { tracked_accounts: 4, passed_at: '2025-11-01T00:00:00.003Z' })
  assert.deepEqual(await usage('2025-11', 0), { tracked_accounts: 4, passed_at: '2025-11-01T00:00:00.000Z' })
  assert.deepEqual(await usage('2025-10', 0), { tracked_accounts: 1, passed_at: '2025-10-31T23:59:59.999Z' })
  assert.deepEqual(await usage('2024-11', 0), { tracked_accounts: 0, passed_at: null })
  await assert.rejects(usage('2025-13', 1), { name: 'InputError' })
  const everybody = async (month: string) => (await readTrackedAccounts(clickhouse.client, month)).get('usage')
  assert.deepEqual([await everybody('2025-11'), await everybody('2025-10')], [4, 1])
  assert.equal(await everybody('2024-11'), undefined)
})

test('a deleted row takes its sums along', async () => {
  await insert('deleted', [{ event_id: 'a' }, { event_id: 'b' }])
  await clickhouse.client.command({
    query: "DELETE FROM events WHERE tenant_id = 'deleted' AND event_id = 'a'",
    clickhouse_settings: { lightweight_deletes_sync: '2' },
  })
  const [account] = await clickhouse.rows("SELECT events FROM accounts WHERE tenant_id = 'deleted'")
  assert.deepEqual(account, { events: 1 })
})
