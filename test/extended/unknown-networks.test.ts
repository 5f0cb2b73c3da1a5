import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { UnknownQuery } from '../../schemas/unknown-networks.ts'
import { countUnknownVisits, findUnknownNetworks } from '../../src/companies/unknown.ts'
import { connectReading, QuestionReader } from '../../src/stores/clickhouse/reader.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { TestDays } from '../support/days.ts'
import { type EventRow, eventInserter } from '../support/event-rows.ts'

const NOW_MS = Date.UTC(2025, 10, 21, 12)
const clock = { now: () => NOW_MS }
const DAY_MS = 86_400_000

/** Events without an account; the addresses differ by the last octet. */
const from = (asn: number, name: string, octets: readonly number[], row: EventRow = {}): EventRow[] =>
  octets.map((octet, i) => ({
    ...{
      event_id: `${asn}-${name}-${i}-${JSON.stringify(row).length}`,
      ip: `192.0.2.${octet}`,
      timestamp: NOW_MS - DAY_MS,
    },
    ...{ account_id: '', company_id: '', business_name: name, org_name: name, domain: '', classification: '' },
    ...{ asn, as_name: name, received_at: NOW_MS, ...row },
  }))

test('visits without a company are counted by network and reason, from events and from stored days', async (t) => {
  const clickhouse = await startTestClickHouse(t)
  const client = connectReading(clickhouse.url, 'test')
  const days = new TestDays(clickhouse)
  t.after(() => Promise.all([client.close(), days.tables.close()]))
  const insert = eventInserter(clickhouse)
  const reader = new QuestionReader(client)
  await insert('acme', [
    ...from(64_501, 'Kibo Systems', [1, 1, 2, 3]),
    ...from(64_501, 'Kibo Systems', [1], { timestamp: NOW_MS, country_code: 'FR' }),
    ...from(64_501, 'Kibo Systems', [9], { timestamp: NOW_MS - 40 * DAY_MS }),
    ...from(64_502, '', [4, 5]),
    ...from(64_503, 'Kibo Telecom', [6], { classification: 'isp' }),
    ...from(0, '', [7]),
    ...from(0, 'Kibo of a table', [8, 8]),
    // Known by its sender, or by data.
    ...from(64_501, 'Kibo Systems', [1], { account_id: 'crm-1', event_id: 'named' }),
    { event_id: 'known', ip: '192.0.2.1', timestamp: NOW_MS },
  ])
  await insert('other', from(64_501, 'Kibo Systems', [1, 2, 3, 4]))
  const find = (query: UnknownQuery = {}, rules: readonly string[] = []) =>
    findUnknownNetworks(reader, { clock, zone: 'UTC' }, { id: 'acme', rules }, query)
  const short = async (...of: Parameters<typeof find>) =>
    (await find(...of)).networks.map(({ asn, name, reason, country_code, visits, events, rule }) => [
      ...[asn, name, reason, country_code, visits, events, rule],
    ])

  const all = await find()
  assert.deepEqual([all.from, all.to, all.visits, all.total], ['2025-10-23', '2025-11-21', 9, 5])
  assert.deepEqual(all.networks[0], {
    ...{ asn: 64_501, as_name: 'Kibo Systems', name: 'Kibo Systems', country_code: 'DE', reason: 'doubtful' },
    ...{ visits: 4, events: 5, last_seen: '2025-11-21T12:00:00.000Z', rule: null },
  })
  assert.deepEqual(await short(), [
    [64_501, 'Kibo Systems', 'doubtful', 'DE', 4, 5, null],
    [64_502, '', 'unnamed', 'DE', 2, 2, null],
    [0, 'Kibo of a table', 'doubtful', 'DE', 1, 2, null],
    [0, '', 'unknown', '', 1, 1, null],
    [64_503, 'Kibo Telecom', 'kept', 'DE', 1, 1, null],
  ])
  assert.equal((await find({ days: 41 })).visits, 10)
  const part = await find({ reason: 'doubtful', limit: 1 })
  assert.deepEqual([part.total, part.visits, part.networks.length], [2, 5, 1])
  const none = await find({ days: 1, reason: 'kept' })
  assert.deepEqual([none.total, none.visits, none.networks], [0, 0, []])
  const rules = ['never-noise AS645', 'is AS64502 - Doe', 'never-noise AS64503', 'is 192.0.2.0/24 kibo.example']
  assert.deepEqual(
    (await find({}, rules)).networks.map(({ asn, rule }) => [asn, rule]).filter(([, rule]) => rule !== null),
    [
      [64_502, rules[1]],
      [64_503, rules[2]],
    ],
  )

  const counts = () =>
    Promise.all([30, 41, 1].map((span) => countUnknownVisits(reader, { clock, zone: 'UTC' }, 'acme', span)))
  assert.deepEqual(await counts(), [9, 10, 1])
  await days.build()
  assert.deepEqual(await counts(), [9, 10, 1])
  const built = await clickhouse.rows<{ days: number }>(
    "SELECT uniqExact(day) AS days FROM day_builds WHERE built > 0 AND tenant_id = 'acme'",
  )
  assert.ok(Number(built[0]!.days) >= 2, 'some of these days are stored')
})
