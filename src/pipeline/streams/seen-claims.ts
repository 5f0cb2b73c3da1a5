import type { RedisClient } from '../../stores/redis/connect.ts'
import { keys } from '../../stores/redis/keys.ts'
import { loadScript } from '../../stores/redis/scripts.ts'
import { CLAIM_EPOCH_MS, claimIdMs } from './claim-id.ts'
import { BUCKETS, CLAIM_GENERATIONS, claimKeys, expiryOf, generationOf } from './seen-store.ts'

/** A claim in the dedup window. */
export interface SeenClaim {
  readonly partition: number
  /** 16 bytes. */
  readonly identity: Buffer
  /** Whose claim it is; its time is when the event was first seen. */
  readonly claimId: Buffer
}

/** Identities of one call, so that a script stays short. */
const CLAIMS_PER_CALL = 2_000

const seedSeenScript = loadScript(import.meta.url, './seedSeen-1.lua')
const forgetSeenScript = loadScript(import.meta.url, './forgetSeen-1.lua')

/** Enters claims; one that is there stays as it is. Rejects when Redis has no room for them. */
export async function seedClaims(client: RedisClient, claims: readonly SeenClaim[], windowMs: number): Promise<void> {
  const places = new Map<string, { expiresAtMs: number; packed: Buffer[] }>()
  for (const { partition, identity, claimId } of claims) {
    const generation = generationOf(claimIdMs(claimId), windowMs)
    const prefix = keys.seen(partition, generation)
    let place = places.get(prefix)
    if (place === undefined) {
      place = { expiresAtMs: expiryOf(generation, windowMs), packed: [] }
      places.set(prefix, place)
    }
    place.packed.push(Buffer.concat([identity, claimId]))
  }
  for (const [prefix, { expiresAtMs, packed }] of places) {
    for (let at = 0; at < packed.length; at += CLAIMS_PER_CALL) {
      const some = Buffer.concat(packed.slice(at, at + CLAIMS_PER_CALL))
      await seedSeenScript.run(client, [prefix], [BUCKETS - 1, expiresAtMs, some])
    }
  }
}

/**
 * Whose claim there is on an identity, as an entry of that time finds it; undefined when there is none.
 * @param ms of the entry
 */
export async function findClaim(
  client: RedisClient,
  place: { readonly partition: number; readonly identity: Buffer; readonly ms: number },
  windowMs: number,
): Promise<Buffer | undefined> {
  for (const key of claimKeys(place.identity, place, windowMs, CLAIM_GENERATIONS)) {
    const claimId = await client.hgetBuffer(key, place.identity)
    if (claimId !== null) return claimId
  }
  return undefined
}

/** Identities of 16 latin1 characters, as `Forgotten` wants them. */
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

/** Which claims are given up. */
export interface Forgotten {
  readonly partition: number
  /** 16 bytes each. */
  readonly identities: readonly Buffer[]
  /** Only claims from before this count: what came later is another event. */
  readonly beforeMs: number
}

/** Gives up claims, so that events of these identities are new ones. Returns how many there were. */
export async function forgetClaims(
  client: RedisClient,
  { partition, identities, beforeMs }: Forgotten,
  windowMs: number,
): Promise<number> {
  const newest = generationOf(beforeMs, windowMs)
  let forgotten = 0
  for (let at = 0; at < identities.length; at += CLAIMS_PER_CALL) {
    const some = Buffer.concat(identities.slice(at, at + CLAIMS_PER_CALL))
    for (let back = 0; back < CLAIM_GENERATIONS; back++) {
      const prefix = keys.seen(partition, newest - back)
      const args = [BUCKETS - 1, beforeMs - CLAIM_EPOCH_MS, some]
      forgotten += Number(await forgetSeenScript.run(client, [prefix], args))
    }
  }
  return forgotten
}
