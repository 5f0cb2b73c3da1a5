import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type NamedCounts, pointsText } from '../../schemas/named.ts'
import { ClickHouseAccuracy } from '../../src/dashboard/queries/accuracy.ts'
import { connectReading, QuestionReader } from '../../src/stores/clickhouse/reader.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { type EventRow, eventInserter } from '../support/event-rows.ts'

const DAY_MS = 86_400_000
const NOON_MS = Date.UTC(2026, 2, 15, 12)

const clickhouse = await startTestClickHouse()
const client = connectReading(clickhouse.url, 'test')
after(() => client.close())
const insert = eventInserter(clickhouse)
const accuracy = new ClickHouseAccuracy(
  new QuestionReader(client),
  { now: () => NOON_MS },
  { lookup: () => assert.fail('no address is looked up'), organisationOf: () => undefined },
  { listSources: async () => [] },
)

const UNNAMED = { company_id: '', account_id: '', business_name: '', org_name: '', domain: '' }
/** Received some days ago. What happened long before counts for the day of its receipt. */
const event = (daysAgo: number, row: EventRow = {}): EventRow => ({
  ...{ received_at: NOON_MS - daysAgo * DAY_MS, timestamp: NOON_MS - (daysAgo + 300) * DAY_MS },
  ...row,
})

const outcome = (day: string, status: string, reason: string, classification: string, events: number) => ({
  ...{ source: `${day} ${status} ${reason} ${classification}`, tenant_id: 'shares', job_id: '' },
  ...{ day, status, reason, classification, events },
})

test('every event that was stored or filtered is named, or has one class of those that are not', async () => {
  await insert('shares', [
    event(0),
    event(6, { classification: '' }),
    // The caller names the account, and the company is unknown.
    event(1, { ...UNNAMED, account_id: 'crm-1', classification: '' }),
    // A doubtful name.
    event(2, { ...UNNAMED, classification: 'business' }),
    // A rule "keep isp" stores it.
    event(3, { ...UNNAMED, classification: 'isp' }),
    // The week before.
    event(7),
    event(13, { ...UNNAMED, classification: '' }),
    event(14),
  ])
  await insert('others', [event(0)])
  await clickhouse.client.insert({
    table: 'outcomes',
    values: [
      outcome('2026-03-15', 'filtered', '', 'isp', 10),
      outcome('2026-03-09', 'filtered', '', 'hosting', 2),
      outcome('2026-03-09', 'filtered', '', 'cloud', 3),
      outcome('2026-03-09', 'filtered', '', 'cdn', 4),
      outcome('2026-03-10', 'filtered', '', 'vpn', 5),
      outcome('2026-03-10', 'filtered', 'bot:googlebot:verified', 'bot', 6),
      outcome('2026-03-10', 'filtered', 'bot:other', 'isp', 1),
      outcome('2026-03-10', 'filtered', '', 'reserved', 7),
      outcome('2026-03-10', 'filtered', 'own', 'business', 8),
      outcome('2026-03-10', 'filtered', 'always_noise', 'isp', 9),
      // None of them is a visit.
      outcome('2026-03-10', 'duplicates', '', 'isp', 100),
      outcome('2026-03-10', 'no_page', '', 'isp', 100),
      outcome('2026-03-10', 'rejected', 'not JSON', '', 100),
      // The week before.
      outcome('2026-03-08', 'filtered', '', 'isp', 2),
    ],
    format: 'JSONEachRow',
  })
  const { now, before, weeks } = await accuracy.named('shares', 7)
  const others = { access: 11, hosting: 9, vpn: 5, bot: 7, reserved: 7, rules: 17, unknown: 2 }
  assert.deepEqual(now, { from: '2026-03-09', to: '2026-03-15', events: 60, named: 2, share: 2 / 60, others })
  const none = { access: 0, hosting: 0, vpn: 0, bot: 0, reserved: 0, rules: 0, unknown: 0 }
  const earlier = { from: '2026-03-02', to: '2026-03-08', events: 4, named: 1, share: 0.25 }
  assert.deepEqual(before, { ...earlier, others: { ...none, access: 2, unknown: 1 } })
  assert.deepEqual(weeks, [before, now])
  assert.equal(pointsText({ now, before }), '−22 points')

  const long = await accuracy.named('shares', 30)
  assert.deepEqual([long.now.from, long.now.events, long.before.events, long.weeks.length], ['2026-02-14', 65, 0, 5])
  assert.equal(pointsText(long), '')
  assert.deepEqual(
    long.weeks.map(({ events }) => events),
    [0, 0, 1, 4, 60],
  )
  const nothing: NamedCounts = (await accuracy.named('nobody', 7)).now
  assert.deepEqual([nothing.events, nothing.share, nothing.others], [0, null, none])
})
