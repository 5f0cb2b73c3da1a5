import type { Clock } from '../../run/clock.ts'
import { UnavailableError } from '../../run/errors.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { keys } from '../../stores/redis/keys.ts'
import { loadScript, type ScriptArgument } from '../../stores/redis/scripts.ts'
import { TurnBatcher } from '../../stores/redis/turn-batcher.ts'
import { type Delivery, type SeenStore, SettledElsewhereError } from '../declaration/stage.ts'
import { IDENTITY_BYTES } from '../event/envelope.ts'
import { CLAIM_EPOCH_MS, claimIdMs } from './claim-id.ts'

const EXPIRY_SLACK_MS = 3_600_000
/** A clock of ours may be this much behind or ahead of Redis'. */
const CLOCK_SLACK_MS = 60_000

/**
 * Buckets of a generation in one partition, a power of two. Up to 128 identities each, Redis keeps a bucket as a
 * listpack: 4 million events a partition and generation at 35 bytes; beyond that it is right, but takes more memory.
 */
export const BUCKETS = 32_768
const BUCKET_DIGITS = String(BUCKETS - 1).length

/** Identities of a call for several blocks; a block that has more goes alone. */
const CLAIMS_PER_CALL = 1_000

const claimScript = loadScript(import.meta.url, './claimSeen-3.lua')
const heldScript = loadScript(import.meta.url, './heldSeen-1.lua')
const sweepScript = loadScript(import.meta.url, './sweepSeen-1.lua')

/** An identity that a claim id may have in the dedup store. */
export interface Claim {
  /** Of the hash that would hold it. */
  readonly key: string
  readonly identity: Buffer
  readonly claimId: Buffer
}

export interface RedisSeenStoreOptions {
  readonly client: RedisClient
  readonly clock: Clock
  /** The step that claims: its group, and the stream that it reads. */
  readonly group: string
  readonly from: string
  /** How long a repeat is known, milliseconds. */
  readonly windowMs: number
}

/**
 * The dedup window in Redis: packed hashes from identity to claim id. A generation of them lasts half a window, and is removed
 * as a whole once its youngest entry is out of the window; see `sweepSeen`.
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

  /** Of one stream and generation. Returns the positions of repeats; null of an entry that is not pending any more. */
  async #claimTogether(calls: readonly ClaimCall[]): Promise<readonly (readonly number[] | null)[]> {
    const { client, clock, group, from, windowMs } = this.#options
    const { delivery, generation } = calls[0]!
    const { partition, lane } = delivery
    const others = [generation - 1, generation - 2]
    // A later block may have been processed first, and then its claims are in the generation after this one.
    if (generationOf(clock.now() + CLOCK_SLACK_MS, windowMs) > generation) others.push(generation + 1)
    const args: ScriptArgument[] = [BUCKET_DIGITS, expiryOf(generation, windowMs), group, calls.length]
    for (const { identities, delivery } of calls) {
      const earliest = claimIdMs(delivery.claimId) - windowMs - CLAIM_EPOCH_MS
      args.push(delivery.id, delivery.claimId, earliest, identities, bucketNumbers(identities))
    }
    for (const other of others) args.push(keys.seen(partition, other))
    try {
      const names = [
        keys.seen(partition, generation),
        keys.stream(partition, from, lane),
        keys.seenGenerations(partition),
      ]
      return (await claimScript.run(client, names, args)) as (number[] | null)[]
    } catch (error) {
      throw new UnavailableError('the dedup store did not answer', { cause: error })
    }
  }

  async held(identities: Buffer, { partition, claimId }: Delivery): Promise<readonly number[]> {
    const { client, windowMs } = this.#options
    const prefix = keys.seen(partition, generationOf(claimIdMs(claimId), windowMs))
    try {
      return (await heldScript.run(client, [prefix], [claimId, BUCKETS - 1, identities])) as number[]
    } catch (error) {
      throw new UnavailableError('the dedup store did not answer', { cause: error })
    }
  }
}

/**
 * Removes generations of a partition that are over, one a call, so that Redis is not held up: it takes some 20 ms.
 * Returns whether there was one.
 */
export async function sweepSeen(client: RedisClient, partition: number, nowMs: number): Promise<boolean> {
  return Number(await sweepScript.run(client, [keys.seenGenerations(partition)], [nowMs, BUCKETS, 1])) > 0
}

interface ClaimCall {
  readonly identities: Buffer
  readonly delivery: Delivery
  readonly generation: number
}

/** What goes into one call: claims of one stream and generation, few enough that Redis is not held up. */
function batchesOf(calls: readonly ClaimCall[]): ClaimCall[][] {
  const batches: ClaimCall[][] = []
  const open = new Map<string, { batch: ClaimCall[]; bytes: number }>()
  for (const call of calls) {
    const { delivery, generation, identities } = call
    const place = `${delivery.partition} ${delivery.lane} ${generation}`
    const last = open.get(place)
    if (last !== undefined && last.bytes + identities.length <= CLAIMS_PER_CALL * IDENTITY_BYTES) {
      last.batch.push(call)
      last.bytes += identities.length
    } else {
      const batch = [call]
      batches.push(batch)
      open.set(place, { batch, bytes: identities.length })
    }
  }
  return batches
}

function settledElsewhere({ id }: Delivery): never {
  throw new SettledElsewhereError(`entry ${id} is not pending any more`)
}

/** The claim that a delivery would have on an identity. @param identity 16 latin1 characters */
export function claimOf(identity: string, delivery: Pick<Delivery, 'partition' | 'claimId'>, windowMs: number): Claim {
  const bytes = Buffer.from(identity, 'latin1')
  const { partition, claimId } = delivery
  return { key: claimKeys(bytes, { partition, ms: claimIdMs(claimId) }, windowMs, 1)[0]!, identity: bytes, claimId }
}

/**
 * The hashes that may hold claims on an identity: that of the generation of a time, and those before it.
 * @param generations how many
 */
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

/** @param at where the identity begins */
function bucketOf(identities: Buffer, at: number): number {
  return identities.readUIntBE(at + IDENTITY_BYTES - 3, 3) & (BUCKETS - 1)
}

const ZERO = 48

/** The buckets of identities in decimal, each with `BUCKET_DIGITS` digits. */
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

/** A claim may be older than an entry that finds it by what its event waited, at most about a window. */
export const CLAIM_GENERATIONS = 3

/** The generation of claim ids of that time. */
export function generationOf(ms: number, windowMs: number): number {
  return Math.floor(ms / (windowMs / 2))
}

/** Unix milliseconds from which on no claim id of a generation counts. */
export function expiryOf(generation: number, windowMs: number): number {
  return Math.ceil(((generation + 1) * windowMs) / 2 + windowMs + EXPIRY_SLACK_MS)
}
