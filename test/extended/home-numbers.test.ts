import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { resolveFilter } from '../../src/companies/filter.ts'
import { ClickHouseHome, type HomeWeek } from '../../src/companies/home.ts'
import { parseWhere } from '../../src/companies/where.ts'
import { connectReading, QuestionReader } from '../../src/stores/clickhouse/reader.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import type { ModelState } from '../support/corrected-model.ts'
import { type EventRow, eventInserter } from '../support/event-rows.ts'
import { modelHome } from '../support/home-model.ts'
import { randomOf } from '../support/random.ts'

const DAY_MS = 86_400_000
const NOON_MS = Date.UTC(2026, 2, 15, 12)

const clickhouse = await startTestClickHouse()
const client = connectReading(clickhouse.url, 'test')
after(() => client.close())
const insert = eventInserter(clickhouse)
const home = new ClickHouseHome(new QuestionReader(client))

/** A company has its own pace, and the first half of all were not there in the weeks before. */
function randomEvents(random: (below: number) => number, from: number, count: number, companies: number): EventRow[] {
  return Array.from({ length: count }, (_, i) => {
    const company = random(companies)
    const company_id = random(20) === 0 ? '' : `c${company}.example`
    const spans = [...(company % 4 === 0 ? [] : [[7, 40] as const]), [0, company % 3 === 0 ? 2 : 7] as const]
    const [first, days] = spans[random(spans.length)]!
    const timestamp = NOON_MS - (first + random(days)) * DAY_MS
    return {
      ...{ event_id: `event-${from + i}`, company_id, account_id: random(4) === 0 ? `crm-${random(9)}` : company_id },
      // A few senders have a clock that is days ahead, and a few send an old event.
      ...{ timestamp, received_at: random(20) === 0 ? timestamp - 3 * DAY_MS : timestamp + random(2) * DAY_MS },
      ip: `192.0.2.${random(1 + (company % 7))}`,
      extra: JSON.stringify({ url: `https://shop.example/${random(9) === 0 ? 'pricing' : 'products'}` }),
    }
  })
}

const numbersOf = ({ now, before, daily_visits: ofAll, ...lists }: HomeWeek) => {
  const numbers = (companies: HomeWeek['newcomers']) =>
    companies.map(({ company_id, week_visits, week_events, usual_visits, ...rest }) => {
      const { first_day, last_day_before, daily_visits } = rest
      return { company_id, week_visits, week_events, usual_visits, first_day, last_day_before, daily_visits }
    })
  const { newcomers, rising, returned } = lists
  return {
    now,
    before,
    daily_visits: ofAll,
    newcomers: numbers(newcomers),
    rising: numbers(rising),
    returned: numbers(returned),
  }
}

/** `visitsMin` of the filter. */
for (const [perDay, seed, companies, visitsMin] of [
  ['few', 1, 60, 3],
  ['many', 2, 6, 12],
] as const) {
  test(`Home counts as a plain model of all events does: ${perDay} events of a company a day`, async () => {
    const tenant = `of-${perDay}`
    const random = randomOf(seed)
    const states = new Map<string, ModelState>()
    let events: EventRow[] = []
    for (let round = 0; round < 2; round++) {
      const more = randomEvents(random, events.length, 250, companies)
      events.push(...more)
      // Two inserts are two parts with visits of the same addresses on the same days.
      await insert(tenant, more.slice(0, 125))
      await insert(tenant, more.slice(125))
      assert.deepEqual(
        numbersOf(await home.week(tenant, NOON_MS)),
        modelHome(events, states, NOON_MS),
        `events of ${round}`,
      )
      // A third each, so that no merge has another one as its target.
      const [to, from, hidden] = [0, 1, 2].map((third) => `c${random(companies / 3) * 3 + third}.example`) as [
        string,
        string,
        string,
      ]
      states.set(from, { countsFor: to })
      states.set(hidden, { hidden: true })
      await clickhouse.client.insert({
        table: 'company_corrections',
        values: [
          { company_id: from, field: 'counts_for', value: to },
          { company_id: hidden, field: 'hidden', value: 'yes' },
        ].map((row) => ({ ...row, tenant_id: tenant, at: NOON_MS + round, change_id: String(round) })),
        format: 'JSONEachRow',
      })
      assert.deepEqual(
        numbersOf(await home.week(tenant, NOON_MS)),
        modelHome(events, states, NOON_MS),
        `corrections of ${round}`,
      )
      const filter = resolveFilter(parseWhere(`visits>=${visitsMin},days=7`), NOON_MS, [])
      const filtered = numbersOf(await home.week(tenant, NOON_MS, filter))
      assert.deepEqual(filtered, modelHome(events, states, NOON_MS, visitsMin), `filter of ${round}`)
      const { companies: all } = modelHome(events, states, NOON_MS).now
      const isPart = filtered.now.companies > 0 && filtered.now.companies < all
      // Of few companies, corrections may leave only those with more visits.
      assert.ok(isPart || perDay === 'many', `${filtered.now.companies} of ${all}`)
      const yesterday = events.filter(
        ({ timestamp, company_id }) => company_id !== '' && timestamp === NOON_MS - DAY_MS,
      )
      const perCompany = yesterday.length / new Set(yesterday.map(({ company_id }) => company_id)).size
      assert.equal(perCompany > 4, perDay === 'many', `${perCompany} events: the two cases are two queries`)
      const [before, found] = [`c${random(companies)}.example`, `c${random(companies)}.example`]
      events = events.map((row) => (row.company_id === before ? { ...row, company_id: found } : row))
      await clickhouse.client.command({
        query: `ALTER TABLE events UPDATE company_id = '${found}' WHERE tenant_id = '${tenant}' AND company_id = '${before}'`,
        clickhouse_settings: { mutations_sync: '2' },
      })
      assert.deepEqual(
        numbersOf(await home.week(tenant, NOON_MS)),
        modelHome(events, states, NOON_MS),
        `replaced in ${round}`,
      )
    }
  })
}

test('after a day without events, Home keeps no list of the visits of companies with many events a day', async () => {
  const [tenant, asked] = ['of-quiet', [] as string[]]
  class Recorder extends QuestionReader {
    override rows<T>(...given: Parameters<QuestionReader['rows']>): Promise<readonly T[]> {
      asked.push(given[0])
      return super.rows<T>(...given)
    }
  }
  const timestamp = NOON_MS - 3 * DAY_MS
  const events = Array.from({ length: 9 }, (_, i) => ({
    ...{ event_id: `event-${i}`, company_id: 'c1.example', account_id: 'c1.example', ip: `192.0.2.${i % 2}` },
    ...{ timestamp, received_at: timestamp, extra: '{}' },
  }))
  await insert(tenant, events)
  const week = await new ClickHouseHome(new Recorder(client)).week(tenant, NOON_MS)
  assert.deepEqual([week.now.companies, week.now.visits, week.now.events], [1, 2, 9])
  assert.ok(!asked.some((query) => query.includes('groupArray(visit)')))
})
