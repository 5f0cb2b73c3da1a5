import type { TestContext } from 'node:test'
import { ingest } from '../../pipelines/ingest.ts'
import { createGroups } from '../../src/pipeline/streams/topology.ts'
import { connectRedis, type RedisClient } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { envelope, quiet } from './pipeline.ts'
import { startTestRedis } from './redis.ts'
import { add } from './sink.ts'

export const PARTITIONS = 4

export const GROUP = 'clickhouse'

/** A Redis with the streams that the shares of a sink divide. */
export async function startSharedStreams(t: TestContext) {
  const redis = await startTestRedis(t)
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  await createGroups(client, ingest, PARTITIONS)
  let sent = 0
  return {
    redis,
    client,
    /** Adds events to every partition, and returns the ids of all so far. */
    async send(): Promise<string[]> {
      for (let partition = 0; partition < PARTITIONS; partition++) {
        await add(client, partition, [envelope('acme', `e${sent++}`), envelope('acme', `e${sent++}`)])
      }
      return Array.from({ length: sent }, (_, i) => `e${i}`).sort()
    },
  }
}

/** The number of shares of each process, in descending order. */
export async function holdings(client: RedisClient): Promise<number[]> {
  const counts = new Map<string, number>()
  for (const holder of await client.hvals(keys.leaseShares(GROUP))) counts.set(holder, (counts.get(holder) ?? 0) + 1)
  return [...counts.values()].sort((a, b) => b - a)
}
