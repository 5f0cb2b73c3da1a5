import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { ClickHouseCompanies } from '../../src/companies/companies.ts'
import { ClickHouseOverview } from '../../src/dashboard/queries/overview.ts'
import { json, route } from '../../src/dashboard/server/route.ts'
import { sessionRoute } from '../../src/dashboard/server/routes/session.ts'
import { UnavailableError } from '../../src/run/errors.ts'
import { connectReading, QuestionReader } from '../../src/stores/clickhouse/reader.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { readTrackedAccounts, readUsage } from '../../src/tenants/usage.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { clock, TODAY } from '../support/companies.ts'
import { startDashboard } from '../support/dashboard.ts'
import { quiet } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

// This hook must run before the one that ends the store.
after(() => client.close())
const clickhouse = await startTestClickHouse()
const client = connectReading(clickhouse.url, 'test')
const reader = new QuestionReader(client)

test('the client of the dashboard pages cannot write', async () => {
  for (const query of ["INSERT INTO events (ip) VALUES ('x')", 'CREATE TABLE t (a Int8) ENGINE = Memory']) {
    await assert.rejects(client.command({ query }), /readonly/i)
  }
})

const ENDLESS = "SELECT sum(sipHash64(number)) FROM numbers(1000000000000) WHERE {tenant:String} > ''"

async function underWay(): Promise<number> {
  const query = "SELECT count() AS n FROM system.processes WHERE query LIKE 'SELECT sum(%'"
  const result = await clickhouse.client.query({ query, format: 'JSONEachRow' })
  return Number((await result.json<{ n: string }>())[0]!.n)
}

test('a query of a page ends in ClickHouse when the page is left', async (t) => {
  const redis = await startTestRedis(t)
  const requests = quiet(connectRedis(redis.url, { name: 'test', kind: 'request' }))
  t.after(() => requests.disconnect())
  await until(
    () => requests.ping(),
    (pong) => pong === 'PONG',
  )
  const tenants = { listTenants: async () => [], getTenant: async () => undefined }
  const asking = route({
    ...{ method: 'GET', path: '/api/endless', endsWithCaller: true },
    handle: async () => json(await reader.rows(ENDLESS, { tenant: 'acme' }, 60)),
  })
  const dashboard = await startDashboard(t, requests, [sessionRoute({ tenants, version: '0', apiUrl: null }), asking])
  const { cookie } = await dashboard.signIn()
  const leaving = new AbortController()
  const page = fetch(`${dashboard.url}/api/endless`, { headers: { cookie }, signal: leaving.signal })
  await until(underWay, (count) => count === 1, 20_000)
  leaving.abort()
  await assert.rejects(page)
  await until(underWay, (count) => count === 0, 20_000)
})

test('a cancelled query ends in ClickHouse, too', async () => {
  const leaving = new AbortController()
  const first = reader.stream(ENDLESS, { tenant: 'acme' }, leaving.signal).next()
  await until(underWay, (count) => count === 1, 20_000)
  leaving.abort()
  await assert.rejects(first, UnavailableError)
  await until(underWay, (count) => count === 0, 20_000)
})

test('a missing table or ClickHouse is a clear error in every call, never an empty answer', async () => {
  const days = { from: TODAY, to: TODAY }
  const calls = (from: QuestionReader): Record<string, () => Promise<unknown>> => {
    const [store, sums] = [new ClickHouseCompanies(from, clock), new ClickHouseOverview(from)]
    return {
      page: () => store.page('acme', {}),
      details: () => store.details('acme', { companies: ['a'] }),
      export: () => store.rows('acme', {}, new AbortController().signal)[Symbol.asyncIterator]().next(),
      version: () => store.version('acme'),
      choices: () => store.choices('acme'),
      company: () => store.company('acme', 'a', 1),
      outcomes: () => sums.outcomes('acme', days),
      eventDays: () => sums.eventDays('acme', days),
      tracked: () => sums.tracked('acme', '2026-03', 1),
    }
  }
  const lacks = (error: unknown) =>
    error instanceof UnavailableError && /lacks a table of ipid, .* restart ipid/.test(error.message)
  for (const call of Object.values(calls(reader))) await call()
  await clickhouse.client.command({ query: 'RENAME TABLE events TO events_elsewhere' })
  for (const [name, call] of Object.entries(calls(reader))) await assert.rejects(call(), lacks, name)
  await clickhouse.client.command({ query: 'RENAME TABLE events_elsewhere TO events' })
  await clickhouse.client.command({ query: 'RENAME TABLE outcomes TO outcomes_elsewhere' })
  await assert.rejects(calls(reader).outcomes!(), lacks)
  await clickhouse.client.command({ query: 'RENAME TABLE outcomes_elsewhere TO outcomes' })
  const bare = connectReading(clickhouse.url, 'test', 'nowhere')
  for (const [name, call] of Object.entries(calls(new QuestionReader(bare)))) await assert.rejects(call(), lacks, name)
  await assert.rejects(readUsage(bare, 'acme', '2026-03', 1), lacks)
  await assert.rejects(readTrackedAccounts(bare, '2026-03'), lacks)
  await bare.close()
  await assert.rejects(new ClickHouseCompanies(new QuestionReader(undefined), clock).page('acme', {}), UnavailableError)
})
