import type { PipelineOutline } from '../../../pipeline/declaration/pipeline.ts'
import { BUCKETS, CLAIM_GENERATIONS, generationOf } from '../../../pipeline/streams/seen-store.ts'
import type { RedisClient } from '../../../stores/redis/connect.ts'
import { keys } from '../../../stores/redis/keys.ts'
import type { DedupStatus } from '../system-status.ts'

/** Memory of a bucket with its key, and of each identity in a compact bucket, measured with MEMORY USAGE. */
const BUCKET_BYTES = 104
const IDENTITY_BYTES = 29
/** `hash-max-listpack-entries`: a larger bucket is a hash table. */
export const COMPACT_MAX = 128
const LOOSE_IDENTITY_BYTES = 116

/** Reads the number of identities in the dedup window from counters, and estimates their memory. */
export async function readDedup(
  client: RedisClient,
  pipeline: Pick<PipelineOutline, 'limits'>,
  nowMs: number,
): Promise<DedupStatus> {
  const partitions = Number((await client.get(keys.partitions())) ?? 0)
  const newest = generationOf(nowMs, pipeline.limits.dedupWindowMs)
  const names = Array.from({ length: partitions }, (_, partition) =>
    Array.from({ length: CLAIM_GENERATIONS + 1 }, (_, back) => keys.seenCount(partition, newest - back)),
  ).flat()
  // One GET each, because on a cluster the keys are in many slots.
  const counts = (await Promise.all(names.map((name) => client.get(name)))).map((count) => Math.max(0, Number(count)))
  return {
    entries: counts.reduce((sum, count) => sum + count, 0),
    bytes: Math.round(counts.reduce((sum, count) => sum + claimBytes(count), 0)),
  }
}

/**
 * Memory of the claims of one partition and generation. Identities are spread over buckets at random, so this estimates the number of used
 * buckets.
 */
export function claimBytes(identities: number): number {
  const used = BUCKETS * (1 - Math.exp(-identities / BUCKETS))
  const each = identities / BUCKETS > COMPACT_MAX ? LOOSE_IDENTITY_BYTES : IDENTITY_BYTES
  return used * BUCKET_BYTES + identities * each
}
