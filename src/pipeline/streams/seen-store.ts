import type { Clock } from '../../run/clock.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { answeredOr } from '../../stores/redis/errors.ts'
import { keys } from '../../stores/redis/keys.ts'
import { TurnBatcher } from '../../stores/redis/pipelined-calls.ts'
import { loadScript, type ScriptArgument } from '../../stores/redis/scripts.ts'
import { type Delivery, type SeenStore, SettledElsewhereError } from '../declaration/stage.ts'
import { IDENTITY_BYTES } from '../event/envelope.ts'
import { CLAIM_EPOCH_MS, claimIdMs } from './entries.ts'

const EXPIRY_SLACK_MS = 3_600_000
/** The clock of this process may differ from Redis' by this much. */
const CLOCK_SLACK_MS = 60_000

/**
 * Buckets of a generation in one partition, a power of two. Redis keeps a bucket of up to 128 identities as a listpack. So up to
 * 4 million events per partition and generation take 35 bytes each; further ones take more.
 */
export const BUCKETS = 32_768
const BUCKET_DIGITS = String(BUCKETS - 1).length

/** Identities per call for several blocks. A larger block gets a call of its own. */
const CLAIMS_PER_CALL = 1_000

const claimScript = loadScript(import.meta.url, './claimSeen-3.lua')
const heldScript = loadScript(import.meta.url, './heldSeen-1.lua')
const sweepScript = loadScript(import.meta.url, './sweepSeen-1.lua')
const answered = answeredOr('the dedup store did not answer')

/** A claim that the dedup store may hold. */
export interface Claim {
  /** Key of the hash that would hold it. */
  readonly key: string
  readonly identity: Buffer
  readonly claimId: Buffer
}

interface RedisSeenStoreOptions {
  readonly client: RedisClient
  readonly clock: Clock
  /** The group of the step that claims, and the stream that it reads. */
  readonly group: string
  readonly from: string
  /** How long repeats are recognized, milliseconds. */
  readonly windowMs: number
}

/**
 * The dedup window in Redis: hashes from identity to claim id. Each generation covers half a window, and is removed as a whole once its
 * youngest claim is older than the window; see `sweepSeen`.
 */
export class RedisSeenStore implements SeenStore {
  readonly #options: RedisSeenStoreOptions
  readonly #claims = new TurnBatcher<ClaimCall, readonly number[]>((calls) => this.#claimAll(calls))

  constructor(options: RedisSeenStoreOptions) {
    this.#options = options
  }

  claim(identities: Buffer, delivery: Delivery): Promise<readonly number[]> {
    return this.#claims.add({ identities, delivery, generation: this.#generationOf(delivery) })
  }

  #generationOf({ claimId }: Delivery): number {
    return generationOf(claimIdMs(claimId), this.#options.windowMs)
  }

  #claimAll(calls: readonly ClaimCall[]): Promise<readonly number[]>[] {
    const results = new Map<ClaimCall, Promise<readonly number[]>>()
    for (const batch of batchesOf(calls)) {
      const found = this.#claimTogether(batch)
      for (const [i, call] of batch.entries()) {
        results.set(
          call,
          found.then((all) => all[i] ?? settledElsewhere(call.delivery)),
        )
      }
    }
    return calls.map((call) => results.get(call)!)
  }

  /** Claims for blocks of one stream and generation. Returns the positions of repeats; null when its entry is not pending. */
  async #claimTogether(calls: readonly ClaimCall[]): Promise<readonly (readonly number[] | null)[]> {
    const { client, clock, group, from, windowMs } = this.#options
    const { delivery, generation } = calls[0]!
    const { partition, lane } = delivery
    const others = [generation - 1, generation - 2]
    // A later block may have been processed first. Its claims may be in the next generation.
    if (generationOf(clock.now() + CLOCK_SLACK_MS, windowMs) > generation) others.push(generation + 1)
    const args: ScriptArgument[] = [BUCKET_DIGITS, expiryOf(generation, windowMs), group, calls.length]
    for (const { identities, delivery } of calls) {
      const earliest = claimIdMs(delivery.claimId) - windowMs - CLAIM_EPOCH_MS
      args.push(delivery.id, delivery.claimId, earliest, identities, bucketNumbers(identities))
    }
    for (const other of others) args.push(keys.seen(partition, other))
    const names = [
      keys.seen(partition, generation),
      keys.stream(partition, from, lane),
      keys.seenGenerations(partition),
    ]
    return (await answered(claimScript.run(client, names, args))) as (number[] | null)[]
  }

  async held(identities: Buffer, { partition, claimId }: Delivery): Promise<readonly number[]> {
    const { client, windowMs } = this.#options
    const prefix = keys.seen(partition, generationOf(claimIdMs(claimId), windowMs))
    return (await answered(heldScript.run(client, [prefix], [claimId, BUCKETS - 1, identities]))) as number[]
  }
}

/** Removes one ended generation of a partition, in some 20 ms. Returns whether there was one: repeat the call then. */
export async function sweepSeen(client: RedisClient, partition: number, nowMs: number): Promise<boolean> {
  return Number(await sweepScript.run(client, [keys.seenGenerations(partition)], [nowMs, BUCKETS, 1])) > 0
}

interface ClaimCall {
  readonly identities: Buffer
  readonly delivery: Delivery
  readonly generation: number
}

/** Groups claims of one stream and generation into calls, each small enough not to block Redis for long. */
function batchesOf(calls: readonly ClaimCall[]): ClaimCall[][] {
  const batches: ClaimCall[][] = []
  const open = new Map<string, { batch: ClaimCall[]; bytes: number }>()
  for (const call of calls) {
    const { delivery, generation, identities } = call
    const batchKey = `${delivery.partition} ${delivery.lane} ${generation}`
    const last = open.get(batchKey)
    if (last !== undefined && last.bytes + identities.length <= CLAIMS_PER_CALL * IDENTITY_BYTES) {
      last.batch.push(call)
      last.bytes += identities.length
    } else {
      const batch = [call]
      batches.push(batch)
      open.set(batchKey, { batch, bytes: identities.length })
    }
  }
  return batches
}

function settledElsewhere({ id }: Delivery): never {
  throw new SettledElsewhereError(`entry ${id} is not pending any more`)
}

/** The claim of a delivery on an identity. @param identity 16 latin1 characters */
export function claimOf(identity: string, delivery: Pick<Delivery, 'partition' | 'claimId'>, windowMs: number): Claim {
  const bytes = Buffer.from(identity, 'latin1')
  const { partition, claimId } = delivery
  return { key: claimKeys(bytes, { partition, ms: claimIdMs(claimId) }, windowMs, 1)[0]!, identity: bytes, claimId }
}

/** Keys of the hashes that may hold a claim on an identity: in the generation of `ms` and the ones before. */
export function claimKeys(
  identity: Buffer,
  { partition, ms }: { readonly partition: number; readonly ms: number },
  windowMs: number,
  generations: number,
): string[] {
  const bucket = bucketOf(identity, 0)
  const newest = generationOf(ms, windowMs)
  return Array.from({ length: generations }, (_, back) => `${keys.seen(partition, newest - back)}${bucket}`)
}

/** @param at offset of the identity */
function bucketOf(identities: Buffer, at: number): number {
  return identities.readUIntBE(at + IDENTITY_BYTES - 3, 3) & (BUCKETS - 1)
}

const ZERO = 48

/** The bucket numbers of identities, each with `BUCKET_DIGITS` decimal digits. */
function bucketNumbers(identities: Buffer): Buffer {
  const numbers = Buffer.allocUnsafe((identities.length / IDENTITY_BYTES) * BUCKET_DIGITS)
  let end = 0
  for (let at = 0; at < identities.length; at += IDENTITY_BYTES) {
    let rest = bucketOf(identities, at)
    const from = end
    end += BUCKET_DIGITS
    for (let digit = end - 1; digit >= from; digit--) {
      numbers[digit] = ZERO + (rest % 10)
      rest = Math.floor(rest / 10)
    }
  }
  return numbers
}

/** A claim is older than the entry that finds it by the time that its event waited, at most about a window. */
export const CLAIM_GENERATIONS = 3

/** The generation of claims from that time. */
export function generationOf(ms: number, windowMs: number): number {
  return Math.floor(ms / (windowMs / 2))
}

/** When no claim of a generation counts any more, Unix milliseconds. */
export function expiryOf(generation: number, windowMs: number): number {
  return Math.ceil(((generation + 1) * windowMs) / 2 + windowMs + EXPIRY_SLACK_MS)
}
