import { IDENTITY_BYTES } from '../../core/event/envelope.ts'
import type { Delivery } from '../../core/pipeline/delivery.ts'
import { type SeenStore, SettledElsewhereError } from '../../core/pipeline/seen.ts'
import type { Clock } from '../../core/run/clock.ts'
import { UnavailableError } from '../../core/run/errors.ts'
import type { RedisClient } from '../connect.ts'
import { keys } from '../keys.ts'
import { loadScript } from '../scripts.ts'
import { OWNER_EPOCH_MS, ownerMs } from './owner.ts'
import type { Claim } from './settlement-writer.ts'

const EXPIRY_SLACK_MS = 3_600_000
/** A clock of ours may be this much behind or ahead of Redis'. */
const CLOCK_SLACK_MS = 60_000

/**
 * Buckets of a generation in one partition, a power of two. Up to 128 identities each, Redis keeps a bucket as a
 * listpack: 4 million events a partition and generation at 35 bytes; beyond that it is right, but takes more memory.
 */
export const BUCKETS = 32_768

const claimScript = loadScript('claimSeen-2')
const heldScript = loadScript('heldSeen-1')

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
 * The dedup window in Redis: packed hashes from identity to owner. A generation of them lasts half a window; its keys
 * expire as a whole once its youngest entry is out of the window.
 */
export class RedisSeenStore implements SeenStore {
  readonly #options: RedisSeenStoreOptions

  constructor(options: RedisSeenStoreOptions) {
    this.#options = options
  }

  async claim(identities: Buffer, delivery: Delivery): Promise<readonly number[]> {
    const { client, clock, group, from, windowMs } = this.#options
    const { partition, lane, owner } = delivery
    const ms = ownerMs(owner)
    const generation = generationOf(ms, windowMs)
    const others = [generation - 1, generation - 2]
    // A later block may have been processed first, and then its claims are in the generation after this one.
    if (generationOf(clock.now() + CLOCK_SLACK_MS, windowMs) > generation) others.push(generation + 1)
    try {
      const repeats = await claimScript.run(
        client,
        [keys.seen(partition, generation), keys.stream(partition, from, lane)],
        [
          ...[owner, ms - windowMs - OWNER_EPOCH_MS, BUCKETS - 1, expiryOf(generation, windowMs), identities],
          ...[group, delivery.id, ...others.map((other) => keys.seen(partition, other))],
        ],
      )
      if (repeats === null) throw new SettledElsewhereError(`entry ${delivery.id} is not pending any more`)
      return repeats as number[]
    } catch (error) {
      if (error instanceof SettledElsewhereError) throw error
      throw new UnavailableError('the dedup store did not answer', { cause: error })
    }
  }

  async held(identities: Buffer, { partition, owner }: Delivery): Promise<readonly number[]> {
    const { client, windowMs } = this.#options
    const prefix = keys.seen(partition, generationOf(ownerMs(owner), windowMs))
    try {
      return (await heldScript.run(client, [prefix], [owner, BUCKETS - 1, identities])) as number[]
    } catch (error) {
      throw new UnavailableError('the dedup store did not answer', { cause: error })
    }
  }
}

/** The claim that a delivery would have on an identity. @param identity 16 latin1 characters */
export function claimOf(identity: string, delivery: Pick<Delivery, 'partition' | 'owner'>, windowMs: number): Claim {
  const bytes = Buffer.from(identity, 'latin1')
  const { partition, owner } = delivery
  return { key: claimKeys(bytes, { partition, ms: ownerMs(owner) }, windowMs, 1)[0]!, identity: bytes, owner }
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
  const bucket = identity.readUIntBE(IDENTITY_BYTES - 3, 3) & (BUCKETS - 1)
  const newest = generationOf(ms, windowMs)
  return Array.from({ length: generations }, (_, back) => `${keys.seen(partition, newest - back)}${bucket}`)
}

/** A claim may be older than an entry that finds it by what its event waited, at most about a window. */
export const CLAIM_GENERATIONS = 3

/** The generation of owners of that time. */
export function generationOf(ms: number, windowMs: number): number {
  return Math.floor(ms / (windowMs / 2))
}

/** Unix milliseconds from which on no owner of a generation counts. */
export function expiryOf(generation: number, windowMs: number): number {
  return Math.ceil(((generation + 1) * windowMs) / 2 + windowMs + EXPIRY_SLACK_MS)
}
