import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Inserter } from '../../src/pipeline/declaration/destination.ts'
import { encodeBlock, joinBlocks, packBlock } from '../../src/pipeline/event/block.ts'
import { TableInserter } from '../../src/pipeline/sinks/clickhouse/inserter.ts'
import { DATA_ERRORS, UNAVAILABLE_ERRORS } from '../../src/pipeline/sinks/clickhouse/refusals.ts'
import { EVENTS } from '../../src/stores/clickhouse/tables.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { envelope } from '../support/pipeline.ts'
import { add, bound, countEvents, pending, startSink, startStores } from '../support/sink.ts'
import { until } from '../support/until.ts'

test('rows arrive as written, in both lanes, and accounts add up', async (t) => {
  const { redis, clickhouse, client } = await startStores(t)
  await startSink(t, redis, clickhouse)
  const odd = 'a\\tb\\\\n'
  await add(client, 0, [envelope('acme', 'one', { properties: odd, timestamp: '1795165200.500', ip: '192.0.2.1' })])
  await add(client, 1, [
    envelope('acme', 'two', { timestamp: '1795165300.000', ip: '192.0.2.1', session_id: '-7' }),
    envelope('acme', 'early', { timestamp: '1901-02-03 04:05:06.789', ip: '2001:db8::1' }),
    envelope('acme', 'unknown', { account_id: 'mine', company_id: '' }),
  ])
  await add(client, 1, [envelope('other', 'one')], 'batch')
  await until(
    () => countEvents(clickhouse),
    ({ n }) => n === 5,
  )
  const [one] = await clickhouse.rows<Record<string, unknown>>(
    "SELECT * FROM events WHERE event_id = 'one' AND tenant_id = 'acme'",
  )
  assert.equal(one!.properties, 'a\tb\\n')
  assert.equal(one!.timestamp, '2026-11-20 09:00:00.500')
  assert.equal(one!.session_id, null)
  const [early] = await clickhouse.rows<Record<string, unknown>>("SELECT * FROM events WHERE event_id = 'early'")
  assert.equal(early!.timestamp, '1901-02-03 04:05:06.789')
  const accounts = await clickhouse.rows(
    "SELECT account_id, events, visits, unique_ips FROM accounts WHERE tenant_id = 'acme' ORDER BY account_id",
  )
  assert.deepEqual(accounts, [
    { account_id: 'example.com', events: 3, visits: 2, unique_ips: 2 },
    { account_id: 'mine', events: 1, visits: 1, unique_ips: 1 },
  ])
})

test('a row that ClickHouse refuses becomes a dead letter with its reason; others are stored', async (t) => {
  const { redis, clickhouse, client } = await startStores(t)
  await startSink(t, redis, clickhouse)
  const many = Array.from({ length: 50 }, (_, i) => envelope('acme', `e${i}`))
  many[31] = envelope('acme', 'bad', { asn: 'not a number' })
  const commits = [packBlock(many.slice(0, 20), undefined, 'p:1'), packBlock(many.slice(20), undefined, 'q:2')]
  await client.call('XADD', keys.stream(0, 'enriched', 'live'), '*', ...encodeBlock(joinBlocks(commits)))
  await add(client, 1, [envelope('acme', 'last')])
  await until(
    () => countEvents(clickhouse),
    ({ n }) => n === 50,
  )
  await until(
    () => pending(client),
    (n) => n === 0,
  )
  const letters = (await client.xrange(keys.dead(0), '-', '+')) as [string, string[]][]
  assert.equal(letters.length, 1)
  const fields = letters[0]![1]
  assert.match(fields[fields.indexOf('reason') + 1]!, /asn|parse/i)
  assert.match(fields[fields.indexOf('r') + 1]!, /\tbad\t/)
  const [[, outcome]] = (await client.xrange(keys.stream(0, 'outcomes', 'live'), '-', '+')) as [[string, string[]]]
  const today = new Date().toISOString().slice(0, 10)
  assert.match(
    outcome[outcome.indexOf('r') + 1]!,
    new RegExp(`^q:2/clickhouse:0:live:\\d+-\\d+\\tacme\\t${today}\\t\\tdead\\tclickhouse\\t\\t1\\n$`),
  )
  await add(client, 0, [envelope('acme', 'after')])
  await until(
    () => countEvents(clickhouse),
    ({ n }) => n === 51,
  )
})

test('rows that violate a constraint are given up; too many parts give up none', async (t) => {
  const { redis, clickhouse, client } = await startStores(t)
  const named = await clickhouse.rows<{ name: string }>(
    'SELECT toString(errorCodeToName(number)) AS name FROM numbers(1100)',
  )
  const known = new Set(named.map(({ name }) => name))
  assert.deepEqual(
    [...DATA_ERRORS, ...UNAVAILABLE_ERRORS].filter((name) => !known.has(name)),
    [],
  )
  const setting = async (parts: string) => {
    const query = `ALTER TABLE events MODIFY SETTING parts_to_throw_insert = ${parts}, parts_to_delay_insert = ${parts}`
    await clickhouse.client.command({ query })
  }
  await clickhouse.client.command({ query: 'ALTER TABLE events ADD CONSTRAINT sure CHECK quality <= 100' })
  await startSink(t, redis, clickhouse, undefined, { minMs: 50, maxMs: 200 })
  const many = Array.from({ length: 100 }, (_, i) => envelope('acme', `e${i}`, { quality: i === 31 ? '101' : '90' }))
  await add(client, 0, many)
  await until(
    () => countEvents(clickhouse),
    ({ n }) => n === 99,
  )
  const letters = async () => (await client.xrange(keys.dead(0), '-', '+')) as [string, string[]][]
  const [[, fields]] = (await until(letters, ({ length }) => length === 1)) as [[string, string[]]]
  assert.match(fields[fields.indexOf('reason') + 1]!, /Constraint `sure`/)
  assert.match(fields[fields.indexOf('r') + 1]!, /\te31\t/)

  await setting('1')
  const inserter = new TableInserter(EVENTS, clickhouse.client, async () => {})
  const refusal = await inserter.insert([Buffer.from(`${envelope('acme', 'x').row}\n`)], 'x').catch((error) => error)
  assert.equal(refusal.type, 'TOO_MANY_PARTS')
  assert.equal(refusal.name, 'Error', 'says nothing about the rows')
  await assert.rejects(inserter.assertOpen(), /too many parts/i)
  await setting('3000')
  await inserter.assertOpen()
  await clickhouse.client.command({ query: 'RENAME TABLE events TO elsewhere' })
  await assert.rejects(inserter.assertOpen(), /UNKNOWN_TABLE|does not exist/)
  await clickhouse.client.command({ query: 'RENAME TABLE elsewhere TO events' })
  await add(client, 0, [envelope('acme', 'after')])
  const { n, u } = await until(
    () => countEvents(clickhouse),
    (counts) => counts.n >= 100,
  )
  assert.deepEqual([n, u], [100, 100])
})

test('two sinks take turns: one inserts, the other takes over at once when it stops', async (t) => {
  const { redis, clickhouse, client } = await startStores(t)
  let inserts = 0
  const counted = (inserter: Inserter): Inserter => ({
    ...bound(inserter),
    insert(rows, token) {
      inserts++
      return inserter.insert(rows, token)
    },
  })
  const first = await startSink(t, redis, clickhouse, counted)
  await add(client, 0, [envelope('acme', 'a')])
  await until(
    () => countEvents(clickhouse),
    ({ n }) => n === 1,
  )
  await startSink(t, redis, clickhouse)
  await add(client, 0, [envelope('acme', 'b')])
  await until(
    () => countEvents(clickhouse),
    ({ n }) => n === 2,
  )
  assert.equal(inserts, 2)
  await first.stop()
  await add(client, 0, [envelope('acme', 'c')])
  await until(
    () => countEvents(clickhouse),
    ({ n }) => n === 3,
  )
  assert.equal(inserts, 2)
})
