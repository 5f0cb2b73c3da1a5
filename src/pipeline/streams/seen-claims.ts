import type { RedisClient } from '../../stores/redis/connect.ts'
import { keys } from '../../stores/redis/keys.ts'
import { loadScript } from '../../stores/redis/scripts.ts'
import { CLAIM_EPOCH_MS, claimIdMs } from './entries.ts'
import { BUCKETS, CLAIM_GENERATIONS, claimKeys, expiryOf, generationOf } from './seen-store.ts'

/** A claim in the dedup window. */
export interface SeenClaim {
  readonly partition: number
  /** 16 bytes. */
  readonly identity: Buffer
  /** Its time is when the event was first seen. */
  readonly claimId: Buffer
}

/** Bounds how long a script runs. */
const CLAIMS_PER_CALL = 2_000

const seedSeenScript = loadScript(import.meta.url, './seedSeen-1.lua')
const forgetSeenScript = loadScript(import.meta.url, './forgetSeen-1.lua')

/** Adds claims. Existing ones stay as they are. Rejects when Redis has no room for them. */
export async function seedClaims(client: RedisClient, claims: readonly SeenClaim[], windowMs: number): Promise<void> {
  const generations = new Map<string, { expiresAtMs: number; packed: Buffer[] }>()
  for (const { partition, identity, claimId } of claims) {
    const number = generationOf(claimIdMs(claimId), windowMs)
    const prefix = keys.seen(partition, number)
    let generation = generations.get(prefix)
    if (generation === undefined) {
      generation = { expiresAtMs: expiryOf(number, windowMs), packed: [] }
      generations.set(prefix, generation)
    }
    generation.packed.push(Buffer.concat([identity, claimId]))
  }
  for (const [prefix, { expiresAtMs, packed }] of generations) {
    for (let at = 0; at < packed.length; at += CLAIMS_PER_CALL) {
      const batch = Buffer.concat(packed.slice(at, at + CLAIMS_PER_CALL))
      await seedSeenScript.run(client, [prefix], [BUCKETS - 1, expiresAtMs, batch])
    }
  }
}

/**
 * The claim id that holds an identity, as an entry of that time would find it; undefined if unclaimed.
 * @param event `ms` is the time of the entry
 */
export async function findClaim(
  client: RedisClient,
  event: { readonly partition: number; readonly identity: Buffer; readonly ms: number },
  windowMs: number,
): Promise<Buffer | undefined> {
  for (const key of claimKeys(event.identity, event, windowMs, CLAIM_GENERATIONS)) {
    const claimId = await client.hgetBuffer(key, event.identity)
    if (claimId !== null) return claimId
  }
  return undefined
}

/** Groups identities of 16 latin1 characters by partition, as bytes. */
export function byPartition(
  claims: Iterable<{ readonly partition: number; readonly identity: string }>,
): Map<number, Buffer[]> {
  const found = new Map<number, Buffer[]>()
  for (const { partition, identity } of claims) {
    const bytes = Buffer.from(identity, 'latin1')
    const identities = found.get(partition)
    if (identities === undefined) found.set(partition, [bytes])
    else identities.push(bytes)
  }
  return found
}

/** Claims to remove. */
interface Forgotten {
  readonly partition: number
  /** 16 bytes each. */
  readonly identities: readonly Buffer[]
  /** Removes only claims from before this time, Unix milliseconds: a later claim is another event's. */
  readonly beforeMs: number
}

/** Removes claims, so that events of these identities count as new. Returns how many it removed. */
export async function forgetClaims(
  client: RedisClient,
  { partition, identities, beforeMs }: Forgotten,
  windowMs: number,
): Promise<number> {
  const newest = generationOf(beforeMs, windowMs)
  let forgotten = 0
  for (let at = 0; at < identities.length; at += CLAIMS_PER_CALL) {
    const batch = Buffer.concat(identities.slice(at, at + CLAIMS_PER_CALL))
    for (let back = 0; back < CLAIM_GENERATIONS; back++) {
      const prefix = keys.seen(partition, newest - back)
      const args = [BUCKETS - 1, beforeMs - CLAIM_EPOCH_MS, batch]
      forgotten += Number(await forgetSeenScript.run(client, [prefix], args))
    }
  }
  return forgotten
}
