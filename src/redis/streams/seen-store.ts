import type { Delivery } from '../../core/pipeline/stage.ts'
import type { Clock } from '../../core/run/clock.ts'
import { UnavailableError } from '../../core/run/errors.ts'
import type { SeenStore } from '../../stages/dedup.ts'
import type { RedisClient } from '../connect.ts'
import { keys } from '../keys.ts'
import { loadScript } from '../scripts.ts'
import { OWNER_EPOCH_MS, ownerMs } from './owner.ts'

const DAY_MS = 86_400_000

/** How long a repeat is known (schemas/README.md, Events), exact to the millisecond, from the first sight. */
export const DEDUP_WINDOW_MS = 7 * DAY_MS
/** A generation's keys expire as a whole once its youngest entry is out of the window. */
const GENERATION_MS = DEDUP_WINDOW_MS / 2
const EXPIRY_SLACK_MS = 3_600_000
/** A clock of ours may be this much behind or ahead of Redis'. */
const CLOCK_SLACK_MS = 60_000

/**
 * Buckets of a generation in one partition, a power of two. Up to 128 identities each, Redis keeps a bucket as a
 * listpack: 4 million events a partition and generation at 35 bytes; beyond that it is right, but takes more memory.
 */
const BUCKETS = 32_768

const claimScript = loadScript('claimSeen-1')

/** The dedup window in Redis: packed hashes from identity to owner, in generations. */
export class RedisSeenStore implements SeenStore {
  readonly #client: RedisClient
  readonly #clock: Clock

  constructor(client: RedisClient, clock: Clock) {
    this.#client = client
    this.#clock = clock
  }

  async claim(identities: Buffer, delivery: Delivery): Promise<readonly number[]> {
    const { partition, owner } = delivery
    const ms = ownerMs(owner)
    const generation = Math.floor(ms / GENERATION_MS)
    const expiresAtMs = (generation + 1) * GENERATION_MS + DEDUP_WINDOW_MS + EXPIRY_SLACK_MS
    const others = [generation - 1, generation - 2]
    // A later block may have been processed first, and then its claims are in the generation after this one.
    if (Math.floor((this.#clock.now() + CLOCK_SLACK_MS) / GENERATION_MS) > generation) others.push(generation + 1)
    try {
      const repeats = await claimScript.run(
        this.#client,
        [keys.seen(partition, generation)],
        [
          owner,
          ms - DEDUP_WINDOW_MS - OWNER_EPOCH_MS,
          BUCKETS - 1,
          expiresAtMs,
          identities,
          ...others.map((other) => keys.seen(partition, other)),
        ],
      )
      return repeats as number[]
    } catch (error) {
      throw new UnavailableError('the dedup store did not answer', { cause: error })
    }
  }
}
