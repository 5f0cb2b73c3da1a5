import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { SinkStreams } from '../../src/pipeline/streams/sink-streams.ts'
import { agreeOnPartitions, createGroups } from '../../src/pipeline/streams/topology.ts'
import type { RedisClient } from '../../src/stores/redis/connect.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import type { Caller } from '../../src/stores/redis/pipelined-calls.ts'
import { quiet, silent, startIntake, threeSinks } from './pipeline.ts'
import { startTestRedis } from './redis.ts'

/** A Redis with the streams of the pipeline in one partition, and an intake into them. */
export async function startStreams(t: TestContext) {
  const redis = await startTestRedis(t)
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  await agreeOnPartitions(client, 1)
  await createGroups(client, threeSinks, 1)
  const { intake, stop } = startIntake(redis.url, 1, 30_000)
  t.after(stop)
  return { client, intake, stream: keys.stream(0, 'intake', 'live') }
}

/** The sink of the tables, on one partition. */
export async function startSource(
  client: RedisClient,
  blocking = client,
  leases: Caller = client,
): Promise<SinkStreams> {
  const options = { cluster: false, partitions: 1, group: 'clickhouse', from: 'enriched', completesJobs: true }
  const ensureGroups = async () => {}
  const source = new SinkStreams({
    ...options,
    client,
    blocking,
    leases,
    outcomesTo: undefined,
    ensureGroups,
    log: silent,
  })
  assert.equal(await source.acquire(new AbortController().signal, async () => {}), true)
  return source
}
