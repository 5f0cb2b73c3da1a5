import type { TestContext } from 'node:test'
import { ingest } from '../../pipelines/ingest.ts'
import { DeadLetters, type StoredLetter } from '../../src/operations/dead-letters/dead-letters.ts'
import type { RaiseOptions } from '../../src/operations/partitions/redis/raise.ts'
import type { Pipeline } from '../../src/pipeline/declaration/pipeline.ts'
import { identityOf, partitionOf } from '../../src/pipeline/event/envelope.ts'
import { ownerOfNobody } from '../../src/pipeline/streams/owner.ts'
import type { SeenClaim } from '../../src/pipeline/streams/seen-claims.ts'
import { agreeOnPartitions, createGroups } from '../../src/pipeline/streams/topology.ts'
import { systemClock } from '../../src/run/clock.ts'
import { connectRedis, type RedisClient } from '../../src/stores/redis/connect.ts'
import { DAY_MS } from './dead-letters.ts'
import { quiet } from './pipeline.ts'
import { startTestRedis } from './redis.ts'

export const WINDOW_MS = ingest.limits.dedupWindowMs

/** A Redis with the streams of the pipeline in so many partitions. */
export async function startPartitions(t: TestContext, partitions: number) {
  const redis = await startTestRedis(t)
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  await agreeOnPartitions(client, partitions)
  await createGroups(client, ingest, partitions)
  return { redis, client }
}

export const raiseTo = (to: number): RaiseOptions => ({
  ...{ pipeline: ingest, clock: systemClock, to },
  ...{ assertHeld: () => {}, onProgress: () => {} },
})

/** Claims of the whole window, in the partitions that they have. */
export function claimsOf(ids: readonly string[], partitions: number): SeenClaim[] {
  return ids.map((id, i) => {
    const identity = identityOf('t', id)
    const owner = ownerOfNobody(Date.now() - (i % 70) * (DAY_MS / 10))
    return { partition: partitionOf(identity, partitions), identity: Buffer.from(identity, 'latin1'), owner }
  })
}

/** All letters there are, the oldest first. */
export async function lettersOf(client: RedisClient, partitions: number, pipeline: Pipeline = ingest) {
  const letters = new DeadLetters(client, pipeline, partitions)
  const found: StoredLetter[] = []
  for await (const letter of letters.letters({}, 'oldest first')) found.push(letter)
  return { letters, found }
}

/** What a letter has wherever it is. */
export const facts = ({ firstId, atMs, group, owner, block }: StoredLetter) =>
  [firstId, atMs, group, owner?.toString('hex'), block?.rows.toString()].join(' ')
