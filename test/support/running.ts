import { ingest } from '../../pipelines/ingest.ts'
import { packBlock } from '../../src/pipeline/event/block.ts'
import { type Envelope, partitionOf } from '../../src/pipeline/event/envelope.ts'
import { deadLetterFields } from '../../src/pipeline/streams/dead-letter.ts'
import { claimIdOf } from '../../src/pipeline/streams/entries.ts'
import { readStatus } from '../../src/pipeline/streams/status.ts'
import type { RedisClient } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { runSql } from './fetch-clickhouse.ts'
import type { ReadyFile } from './site.ts'
import { until } from './until.ts'

/** The answer of a running instance's ClickHouse, without the last line feed. */
export async function queryTables({ tables_url: url }: ReadyFile, sql: string): Promise<string> {
  return (await runSql(url, sql)).trimEnd()
}

/** Waits until the pipeline of a running instance is empty. */
export async function untilIdle(redis: RedisClient): Promise<void> {
  const waiting = async () => (await readStatus(redis, ingest)).streams
  await until(waiting, (all) => all.length > 0 && all.every(({ waiting_events }) => waiting_events === 0))
}

/** A dead letter of the process step, as a worker writes it. */
export async function bury(redis: RedisClient, dead: Envelope): Promise<void> {
  const claimId = claimIdOf(`${Date.now()}-0`, 0)
  const origin = { group: 'process', stream: 'intake', lane: 'live', claimId } as const
  const block = packBlock([dead])
  const fields = deadLetterFields(origin, { reason: 'for the test', block, outcome: undefined })
  await redis.callBuffer('XADD', keys.dead(partitionOf(dead.identity, 4)), '*', ...fields)
}
