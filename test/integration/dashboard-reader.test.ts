import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { ClickHouseCompanies } from '../../src/clickhouse/dashboard/companies.ts'
import { ClickHouseOverview } from '../../src/clickhouse/dashboard/overview.ts'
import { connectReading, DashboardReader } from '../../src/clickhouse/dashboard/reader.ts'
import { UnavailableError } from '../../src/core/run/errors.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { clock, TODAY } from '../support/companies.ts'
import { until } from '../support/until.ts'

// Before what the store ends with.
after(() => client.close())
const clickhouse = await startTestClickHouse()
const client = connectReading(clickhouse.url)
const reader = new DashboardReader(client)

test('the client of the pages cannot write', async () => {
  for (const query of ["INSERT INTO events (ip) VALUES ('x')", 'CREATE TABLE t (a Int8) ENGINE = Memory']) {
    await assert.rejects(client.command({ query }), /readonly/i)
  }
})

test('what nobody waits for any more ends in ClickHouse, too', async () => {
  const underWay = async () => {
    const query = "SELECT count() AS n FROM system.processes WHERE query LIKE 'SELECT sum(%'"
    const result = await clickhouse.client.query({ query, format: 'JSONEachRow' })
    return Number((await result.json<{ n: string }>())[0]!.n)
  }
  const leaving = new AbortController()
  const query = "SELECT sum(sipHash64(number)) FROM numbers(1000000000000) WHERE {tenant:String} > ''"
  const first = reader.stream(query, { tenant: 'acme' }, leaving.signal).next()
  await until(underWay, (count) => count === 1, 20_000)
  leaving.abort()
  await assert.rejects(first, UnavailableError)
  await until(underWay, (count) => count === 0, 20_000)
})

test('without tables there is nothing, and without ClickHouse an error that says so', async () => {
  const bare = connectReading(clickhouse.url, 'nowhere')
  const nothing = new DashboardReader(bare)
  const store = new ClickHouseCompanies(nothing, clock)
  const sums = new ClickHouseOverview(nothing)
  assert.deepEqual(await store.page('acme', {}), { rows: [], total: 0 })
  assert.equal(await store.company('acme', 'a', 1), undefined)
  assert.equal(await store.version('acme'), '0')
  assert.deepEqual(await sums.companies('acme', { from: TODAY, to: TODAY }), { days: [], seen: 0, new: 0 })
  assert.deepEqual((await sums.tracked('acme', '2026-03', 1)).tracked_accounts, 0)
  await bare.close()
  await assert.rejects(
    new ClickHouseCompanies(new DashboardReader(undefined), clock).page('acme', {}),
    UnavailableError,
  )
})
