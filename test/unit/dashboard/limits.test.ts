import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import type { ClickHouseClient } from '@clickhouse/client'
import { ClickHouseCompanies } from '../../../src/companies/companies.ts'
import { companiesCsv } from '../../../src/companies/csv.ts'
import { RedisLiveSource } from '../../../src/dashboard/redis/live.ts'
import { companyRoutes } from '../../../src/dashboard/server/routes/companies.ts'
import { systemClock } from '../../../src/run/clock.ts'
import { BackpressureError } from '../../../src/run/errors.ts'
import { QuestionReader } from '../../../src/stores/clickhouse/reader.ts'
import type { RedisClient } from '../../../src/stores/redis/connect.ts'
import { keys } from '../../../src/stores/redis/keys.ts'

test('a tenant may run two exports, and all together four', async () => {
  async function* endless() {
    for (;;) yield []
  }
  const ofAll = { rows: endless, daysOf: () => ({ to: '2026-03-10' }), ownColumns: async () => [] }
  const parts = { companies: ofAll, lookups: undefined } as never
  const route = companyRoutes(parts).find(({ path }) => path.endsWith('/export'))!
  const begin = async (id: string) => {
    const { body } = await route.handle({ tenant: { id }, query: {} } as never)
    const pieces = (body as AsyncIterable<string>)[Symbol.asyncIterator]()
    await pieces.next()
    return pieces
  }
  const [first] = [await begin('acme'), await begin('acme')]
  await assert.rejects(begin('acme'), BackpressureError)
  await begin('other')
  await begin('third')
  await assert.rejects(begin('fourth'), BackpressureError)
  await first.return!()
  await begin('acme')
})

test('an export without a reader ends its statement, and frees its slot', async () => {
  const signals: AbortSignal[] = []
  const query = ({ abort_signal }: { abort_signal: AbortSignal }) =>
    new Promise((_, reject) => {
      signals.push(abort_signal)
      abort_signal.addEventListener('abort', () => reject(abort_signal.reason))
    })
  const reader = new QuestionReader({ query } as unknown as ClickHouseClient)
  const companies = new ClickHouseCompanies(reader, systemClock)
  const parts = { companies, lookups: undefined } as never
  const route = companyRoutes(parts).find(({ path }) => path.endsWith('/export'))!
  for (let i = 1; i <= 5; i++) {
    const { body } = await route.handle({ tenant: { id: 'acme' }, query: {} } as never)
    const pieces = (body as AsyncIterable<string>)[Symbol.asyncIterator]()
    const first = pieces.next()
    await new Promise(setImmediate)
    assert.equal(signals.length, i, 'before its first row')
    await Promise.all([assert.rejects(first), pieces.return!()])
    assert.ok(signals.every(({ aborted }) => aborted))
  }
})

test('malformed reports of live events end nothing', () => {
  const connection = Object.assign(new EventEmitter(), { subscribe: async () => 1, unsubscribe: async () => 0 })
  const client = { publish: async () => 0 } as unknown as RedisClient
  const heard: unknown[] = []
  const close = new RedisLiveSource(connection as unknown as RedisClient, client).watch('acme', (report) =>
    heard.push(report),
  )
  const report = { totals: { ok: 1, filtered: 0, invalid_ip: 0 }, events: [] }
  for (const text of ['no JSON', 'null', '{"totals":1}', JSON.stringify(report)]) {
    connection.emit('message', keys.liveEvents('acme'), text)
  }
  close()
  assert.deepEqual(heard, [report])
})

test('an id without an encoding is looked up, and not found', async () => {
  const client = { query: async () => ({ json: async () => ({ data: [] }) }) } as unknown as ClickHouseClient
  const companies = new ClickHouseCompanies(new QuestionReader(client), systemClock)
  assert.deepEqual((await companies.details('acme', { companies: ['\ud800'] })).companies, [])
})

test('a name is no formula, even after a line feed', async () => {
  async function* rows() {
    yield [{ company_id: '\n=1+1', name: '=1+1' } as never]
  }
  const hidden = ['domain', 'industry', 'industry_category', 'country_code', 'classification', 'events', 'visits']
  const csv = companiesCsv(rows(), async () => [], [
    ...hidden,
    'unique_ips',
    'heat',
    'first_seen',
    'last_seen',
    'quality',
    'tags',
    'owner',
    'status',
    'hidden',
    ...['first_channel', 'first_campaign', 'last_channel', 'last_campaign'],
  ])
  assert.deepEqual((await csv.next()).value, `\ufeffCompany,Id\r\n'=1+1,"'\n=1+1"\r\n`)
})
