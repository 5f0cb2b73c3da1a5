import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ingest } from '../../pipelines/ingest.ts'
import { connectClickHouse, DATABASE } from '../../src/clickhouse/client.ts'
import { TableInserter } from '../../src/clickhouse/inserter.ts'
import { migrate } from '../../src/clickhouse/migrate.ts'
import { EVENTS } from '../../src/clickhouse/tables.ts'
import { encodeBlock, joinBlocks, packBlock } from '../../src/core/event/block.ts'
import type { Envelope } from '../../src/core/event/envelope.ts'
import type { Inserter } from '../../src/core/pipeline/destination.ts'
import type { Lane } from '../../src/core/pipeline/lane.ts'
import { connectRedis, type RedisClient } from '../../src/redis/connect.ts'
import { keys } from '../../src/redis/keys.ts'
import { SinkStreams } from '../../src/redis/streams/sink-streams.ts'
import { agreeOnPartitions, createGroups } from '../../src/redis/streams/topology.ts'
import { SinkWorker } from '../../src/runner/sink-worker.ts'
import { startTestClickHouse, type TestClickHouse } from '../support/clickhouse.ts'
import { envelope, quiet, silent } from '../support/pipeline.ts'
import { startTestRedis, type TestRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

const PARTITIONS = 2

async function startStores(t: TestContext) {
  const [redis, clickhouse] = await Promise.all([startTestRedis(t), startTestClickHouse(t)])
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  await agreeOnPartitions(client, PARTITIONS)
  await createGroups(client, ingest, PARTITIONS)
  return { redis, clickhouse, client }
}

/** @param wrap stands between the sink and ClickHouse */
async function startSink(
  redis: TestRedis,
  clickhouse: TestClickHouse,
  wrap: (inserter: Inserter) => Inserter = (inserter) => inserter,
) {
  const connect = (name: string) => quiet(connectRedis(redis.url, { name, kind: 'loop', timeoutMs: 2_000 }))
  const clients = [connect('sink'), connect('blocking')] as const
  const database = connectClickHouse(clickhouse.url, { application: 'test', database: DATABASE })
  const sink = new SinkWorker({
    startsReady: true,
    group: 'clickhouse',
    source: new SinkStreams({
      client: clients[0],
      blocking: clients[1],
      cluster: false,
      partitions: PARTITIONS,
      group: 'clickhouse',
      from: 'enriched',
      completesJobs: true,
      outcomesTo: 'outcomes',
      ensureGroups: async () => {},
    }),
    inserter: wrap(new TableInserter(EVENTS, database, () => migrate(clickhouse.url, silent))),
    rowsMax: 1_000,
    lingerMs: 50,
    log: silent,
  })
  await sink.start()
  return {
    async stop() {
      await sink.stop()
      await database.close()
      for (const client of clients) client.disconnect()
    },
    /** As `kill -9`: connections and lease are left as they are. */
    drop() {
      for (const client of clients) client.disconnect()
      return database.close()
    },
  }
}

/** An inserter of which some methods can be replaced. */
function bound(inserter: Inserter): Inserter {
  return {
    prepare: () => inserter.prepare(),
    insert: (rows, token) => inserter.insert(rows, token),
    absent: (rows) => inserter.absent(rows),
    close: () => inserter.close(),
  }
}

async function add(client: RedisClient, partition: number, envelopes: readonly Envelope[], lane: Lane = 'live') {
  await client.call('XADD', keys.stream(partition, 'enriched', lane), '*', ...encodeBlock(packBlock(envelopes)))
}

async function pending(client: RedisClient): Promise<number> {
  let entries = 0
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const [count] = (await client.call('XPENDING', keys.stream(partition, 'enriched', 'live'), 'clickhouse')) as [
      number,
    ]
    entries += count
  }
  return entries
}

const countEvents = async (clickhouse: TestClickHouse) => {
  const [row] = await clickhouse.rows<{ n: number; u: number }>(
    'SELECT count() AS n, uniqExact(event_id) AS u FROM events',
  )
  return row!
}

test('rows arrive as they were written, in both lanes, and accounts add up', async (t) => {
  const { redis, clickhouse, client } = await startStores(t)
  const sink = await startSink(redis, clickhouse)
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
    "SELECT account_id, events, visits, unique_ips FROM accounts WHERE tenant_id = 'acme'",
  )
  assert.deepEqual(accounts, [{ account_id: 'example.com', events: 3, visits: 2, unique_ips: 2 }])
  await sink.stop()
})

test('a row that ClickHouse refuses goes to the dead letters with its reason, and the others are stored', async (t) => {
  const { redis, clickhouse, client } = await startStores(t)
  const sink = await startSink(redis, clickhouse)
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
  await sink.stop()
})

test('the next sink repeats exactly what the one before it was about to insert', async (t) => {
  const { redis, clickhouse, client } = await startStores(t)
  for (const step of ['before the insert', 'after the insert'] as const) {
    let reached = () => {}
    const atStep = new Promise<void>((resolve) => {
      reached = resolve
    })
    const first = await startSink(redis, clickhouse, (inserter) => ({
      ...bound(inserter),
      async insert(rows, token) {
        if (step === 'after the insert') await inserter.insert(rows, token)
        reached()
        await new Promise(() => {})
      },
    }))
    const before = (await countEvents(clickhouse)).n
    await add(
      client,
      0,
      Array.from({ length: 30 }, (_, i) => envelope('acme', `${step} ${i}`)),
    )
    await add(
      client,
      1,
      Array.from({ length: 30 }, (_, i) => envelope('acme', `${step} ${30 + i}`)),
    )
    await atStep
    await first.drop()
    const second = await startSink(redis, clickhouse)
    await add(client, 1, [envelope('acme', `${step} later`)])
    await until(
      () => pending(client),
      (n) => n === 0,
    )
    const { n, u } = await until(
      () => countEvents(clickhouse),
      (counts) => counts.n >= before + 61,
    )
    assert.equal(n, before + 61, step)
    assert.equal(u, n, step)
    assert.equal(await client.get(keys.sinkIntent('clickhouse')), null)
    await second.stop()
  }
})

test('a token that ClickHouse knows without its rows does not lose them', async (t) => {
  const { redis, clickhouse, client } = await startStores(t)
  let reached = () => {}
  const cutOff = new Promise<void>((resolve) => {
    reached = resolve
  })
  // As when ClickHouse was killed right behind the line of its log: the token is there, and other rows under it.
  const first = await startSink(redis, clickhouse, (inserter) => ({
    ...bound(inserter),
    async insert(_rows, token) {
      await inserter.insert([Buffer.from(`${envelope('acme', 'instead').row}\n`)], token)
      reached()
      await new Promise(() => {})
    },
  }))
  await add(
    client,
    0,
    Array.from({ length: 30 }, (_, i) => envelope('acme', `e${i}`)),
  )
  await cutOff
  await first.drop()
  const second = await startSink(redis, clickhouse)
  await until(
    () => pending(client),
    (n) => n === 0,
  )
  assert.deepEqual(await clickhouse.rows("SELECT count() AS n FROM events WHERE event_id != 'instead'"), [{ n: 30 }])
  await second.stop()
})

test('ClickHouse and Redis killed again and again: every row is stored once, and accounts say so', async (t) => {
  const { redis, clickhouse, client } = await startStores(t)
  const sink = await startSink(redis, clickhouse)
  let sent = 0
  for (let round = 0; round < 6; round++) {
    for (let entry = 0; entry < 20; entry++) {
      const rows = Array.from({ length: 40 }, () => envelope('acme', `e${sent}`, { ip: `192.0.2.${sent++ % 100}` }))
      await add(client, entry % PARTITIONS, rows)
    }
    const { n } = await countEvents(clickhouse)
    await until(
      () => countEvents(clickhouse),
      (counts) => counts.n > n || n === sent,
    )
    if (round % 2 === 0) await clickhouse.restart()
    else await redis.restart()
  }
  const counts = await until(
    () => countEvents(clickhouse),
    ({ n }) => n >= sent,
  )
  await until(
    () => pending(client),
    (left) => left === 0,
  )
  assert.deepEqual(counts, { n: sent, u: sent })
  const accounts = await clickhouse.rows('SELECT events, unique_ips FROM accounts')
  assert.deepEqual(accounts, [{ events: sent, unique_ips: 100 }])
  await sink.stop()
})

test('two sinks take turns: one inserts, the other goes on at once when it stops', async (t) => {
  const { redis, clickhouse, client } = await startStores(t)
  let inserts = 0
  const counted = (inserter: Inserter): Inserter => ({
    ...bound(inserter),
    insert(rows, token) {
      inserts++
      return inserter.insert(rows, token)
    },
  })
  const first = await startSink(redis, clickhouse, counted)
  await add(client, 0, [envelope('acme', 'a')])
  await until(
    () => countEvents(clickhouse),
    ({ n }) => n === 1,
  )
  const second = await startSink(redis, clickhouse)
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
  await second.stop()
})
