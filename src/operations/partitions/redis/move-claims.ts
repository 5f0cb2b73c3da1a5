import { IDENTITY_BYTES, partitionOf } from '../../../pipeline/event/envelope.ts'
import { BUCKETS, CLAIM_GENERATIONS, expiryOf, generationOf, sweepSeen } from '../../../pipeline/streams/seen-store.ts'
import type { RedisClient } from '../../../stores/redis/connect.ts'
import { keys } from '../../../stores/redis/keys.ts'
import { loadScript } from '../../../stores/redis/scripts.ts'

/** Claims that one step looks at: Redis is held up for some ten milliseconds, and holds no more than these twice. */
const CLAIMS_PER_STEP = 4_000
const CLAIM_BYTES = IDENTITY_BYTES + 8

const claimsElsewhereScript = loadScript(import.meta.url, './claimsElsewhere-1.lua')
// What is given to one partition leaves the other: a Redis that is full has to take it.
const seedSeenScript = loadScript(import.meta.url, '../../../pipeline/streams/seedSeen-1.lua', { aboveMaxmemory: true })
const forgetSeenScript = loadScript(import.meta.url, '../../../pipeline/streams/forgetSeen-1.lua', {
  aboveMaxmemory: true,
})

export interface ClaimsMove {
  /** Whose claims. */
  readonly partition: number
  /** The number of partitions to be. */
  readonly partitions: number
  readonly windowMs: number
  readonly nowMs: number
  /** Called with each step, with the number of claims that it moves. May throw, to end it there. */
  readonly onStep: (claims: number) => void
}

/**
 * Moves the claims of a partition that others are to have, each with its owner, into the generation that it is in. A claim is
 * entered where it is to be before it is taken away, so that this may end at any moment and be done again.
 */
export async function moveClaims(client: RedisClient, move: ClaimsMove): Promise<void> {
  const { partition, partitions, windowMs, nowMs, onStep } = move
  while (await sweepSeen(client, partition, nowMs)) {}
  for (const generation of await generationsOf(client, move)) {
    const place = { generation, expiresAtMs: expiryOf(generation, windowMs) }
    const prefix = keys.seen(partition, generation)
    for (let bucket = 0; bucket < BUCKETS; ) {
      const args = [partition, partitions, bucket, BUCKETS, CLAIMS_PER_STEP]
      const [next, claims] = (await claimsElsewhereScript.run(client, [prefix], args)) as [number, Buffer]
      onStep(claims.length / CLAIM_BYTES)
      if (claims.length > 0) {
        await enter(client, claims, partitions, place)
        await takeAway(client, claims, prefix)
      }
      bucket = next
    }
  }
}

/** Those that have claims: named by the partition, or, as a restore leaves them, by their marker alone. */
async function generationsOf(client: RedisClient, { partition, windowMs, nowMs }: ClaimsMove): Promise<number[]> {
  const named = (await client.zrange(keys.seenGenerations(partition), '0', '-1')).map((prefix) =>
    Number(prefix.split(':').at(-2)),
  )
  const newest = generationOf(nowMs, windowMs) + 1
  const near = Array.from({ length: CLAIM_GENERATIONS + 2 }, (_, back) => newest - back)
  const marked = await Promise.all(near.map((generation) => client.exists(`${keys.seen(partition, generation)}m`)))
  return [...new Set([...named, ...near.filter((_, i) => marked[i] === 1)])]
}

async function enter(
  client: RedisClient,
  claims: Buffer,
  partitions: number,
  { generation, expiresAtMs }: { readonly generation: number; readonly expiresAtMs: number },
): Promise<void> {
  const shares = new Map<number, Buffer[]>()
  for (let at = 0; at < claims.length; at += CLAIM_BYTES) {
    const claim = claims.subarray(at, at + CLAIM_BYTES)
    const partition = partitionOf(claim.toString('latin1', 0, IDENTITY_BYTES), partitions)
    const share = shares.get(partition)
    if (share === undefined) shares.set(partition, [claim])
    else share.push(claim)
  }
  await Promise.all(
    [...shares].map(([partition, share]) =>
      seedSeenScript.run(client, [keys.seen(partition, generation)], [BUCKETS - 1, expiresAtMs, Buffer.concat(share)]),
    ),
  )
}

async function takeAway(client: RedisClient, claims: Buffer, prefix: string): Promise<void> {
  const identities: Buffer[] = []
  for (let at = 0; at < claims.length; at += CLAIM_BYTES) identities.push(claims.subarray(at, at + IDENTITY_BYTES))
  const whenever = Number.MAX_SAFE_INTEGER
  await forgetSeenScript.run(client, [prefix], [BUCKETS - 1, whenever, Buffer.concat(identities)])
}
