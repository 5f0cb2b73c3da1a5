import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OverviewAnswer } from '../../schemas/dashboard/overview.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { RedisOriginCounts } from '../../src/tenants/redis/origin-counts.ts'
import { clock, DAY_MS, event, NOON_MS, ODD, startCompanies, TODAY } from '../support/companies.ts'

const { clickhouse, redis, insert, operator, member } = await startCompanies()

test('the overview counts outcomes by day, and the use of the plan', async () => {
  const rows = [
    ['a', 'acme', TODAY, 'filtered', '', 'hosting', 7],
    ['b', 'acme', '2026-03-14', 'duplicates', '', 'business', 2],
    ['c', 'acme', '2026-02-01', 'invalid_ip', '', '', 9],
    ['d', 'other', TODAY, 'filtered', '', 'isp', 100],
  ] as const
  const values = rows.map(([source, tenant, day, ...rest]) => {
    const [status, reason, classification, events] = rest
    return { source, tenant_id: tenant, day, job_id: '', status, reason, classification, events }
  })
  await clickhouse.client.insert({ table: 'outcomes', values, format: 'JSONEachRow' })
  await redis.set(keys.lookups('acme', TODAY), 12)
  await new RedisOriginCounts(redis, clock).add('acme', { events: 200, byOrigin: new Map([['cdn AS1 Edge', 150]]) })
  const found = await operator.read<OverviewAnswer>('/api/tenants/acme/overview?days=7')
  assert.deepEqual([found.from, found.to], ['2026-03-09', TODAY])
  const sum = (status: string) =>
    found.outcomes.filter((row) => row.status === status).reduce((n, { events }) => n + events, 0)
  assert.deepEqual(['stored', 'filtered', 'duplicates', 'invalid_ip'].map(sum), [6, 7, 2, 0])
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
  assert.match(found.warning!.text, /^75 % of 200 events come from one network, AS1 Edge \(cdn\)/)
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
