import type { TestContext } from 'node:test'
import { ingest } from '../../pipelines/ingest.ts'
import type { Inserter } from '../../src/pipeline/declaration/destination.ts'
import type { Lane } from '../../src/pipeline/declaration/lane.ts'
import { encodeBlock, packBlock } from '../../src/pipeline/event/block.ts'
import type { Envelope } from '../../src/pipeline/event/envelope.ts'
import { SinkWorker, type SinkWorkerOptions } from '../../src/pipeline/runner/sink-worker.ts'
import { TableInserter } from '../../src/pipeline/sinks/clickhouse/inserter.ts'
import { SinkStreams } from '../../src/pipeline/streams/sink-streams.ts'
import { agreeOnPartitions, createGroups } from '../../src/pipeline/streams/topology.ts'
import { connectClickHouse, DATABASE } from '../../src/stores/clickhouse/client.ts'
import { migrate } from '../../src/stores/clickhouse/migrate.ts'
import { EVENTS } from '../../src/stores/clickhouse/tables.ts'
import { connectRedis, type RedisClient } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { startTestClickHouse, type TestClickHouse } from './clickhouse.ts'
import { quiet, silent } from './pipeline.ts'
import { startTestRedis, type TestRedis } from './redis.ts'

export const PARTITIONS = 2

/** Redis and ClickHouse, prepared for a sink. */
export async function startStores(t: TestContext) {
  const [redis, clickhouse] = await Promise.all([startTestRedis(t), startTestClickHouse(t)])
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  await agreeOnPartitions(client, PARTITIONS)
  await createGroups(client, ingest, PARTITIONS)
  return { redis, clickhouse, client }
}

/**
 * Starts a sink, which is stopped after the test.
 * @param wrap wraps the inserter that the sink uses
 */
export async function startSink(
  t: TestContext,
  redis: TestRedis,
  clickhouse: TestClickHouse,
  wrap: (inserter: Inserter) => Inserter = (inserter) => inserter,
  retryDelay?: SinkWorkerOptions['retryDelay'],
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
      log: silent,
    }),
    inserter: wrap(new TableInserter(EVENTS, database, () => migrate(clickhouse.url, silent))),
    rowsMax: 1_000,
    lingerMs: 50,
    ...(retryDelay && { retryDelay }),
    log: silent,
  })
  /** As `kill -9`: connections and lease are left as they are. */
  const drop = () => {
    for (const client of clients) client.disconnect()
    return database.close()
  }
  const stop = async () => {
    await sink.stop()
    await drop()
  }
  // Not awaited: an insert that a test holds never ends.
  t.after(() => {
    sink.stop().catch(() => {})
    return drop()
  })
  await sink.start()
  return { stop, drop }
}

/** An inserter whose methods can be replaced. */
export function bound(inserter: Inserter): Inserter {
  return {
    prepare: () => inserter.prepare(),
    insert: (rows, token) => inserter.insert(rows, token),
    absent: (rows) => inserter.absent(rows),
    close: () => inserter.close(),
  }
}

export async function add(client: RedisClient, partition: number, envelopes: readonly Envelope[], lane: Lane = 'live') {
  await client.call('XADD', keys.stream(partition, 'enriched', lane), '*', ...encodeBlock(packBlock(envelopes)))
}

export async function pending(client: RedisClient): Promise<number> {
  let entries = 0
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const [count] = (await client.call('XPENDING', keys.stream(partition, 'enriched', 'live'), 'clickhouse')) as [
      number,
    ]
    entries += count
  }
  return entries
}

export const countEvents = async (clickhouse: TestClickHouse) => {
  const [row] = await clickhouse.rows<{ n: number; u: number }>(
    'SELECT count() AS n, uniqExact(event_id) AS u FROM events',
  )
  return row!
}
