import { Cluster } from 'ioredis'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { keys } from '../../stores/redis/keys.ts'
import { orUnavailable } from '../../stores/redis/or-unavailable.ts'
import type { Reconnection } from '../../stores/redis/reconnection.ts'
import { loadScript } from '../../stores/redis/scripts.ts'
import type { BucketDemand, BucketGrant, TokenBuckets } from '../stores.ts'
import { lotArgs } from './lot-args.ts'

const takeTokensScript = loadScript(import.meta.url, './takeTokens-N.lua', { using: './lots.lua' })

/** Token buckets in Redis, by Redis' clock. Demands that are made together are one call; on a cluster one each. */
export class RedisTokenBuckets implements TokenBuckets {
  readonly #client: RedisClient
  readonly #reconnection: Reconnection | undefined

  /** @param reconnection waits for `client`; undefined: nobody waits */
  constructor(client: RedisClient, reconnection?: Reconnection) {
    this.#client = client
    this.#reconnection = reconnection
  }

  take(demands: readonly BucketDemand[]): Promise<BucketGrant>[] {
    if (this.#client instanceof Cluster) return demands.map(async (demand) => (await this.#take([demand]))[0]!)
    const grants = this.#take(demands)
    return demands.map(async (_, i) => (await grants)[i]!)
  }

  async #take(demands: readonly BucketDemand[]): Promise<BucketGrant[]> {
    const buckets = demands.map(({ tenantId }) => keys.rateBucket(tenantId))
    const args = demands.flatMap(({ rate, burst, wanted, lot }) => [rate, burst, wanted, ...lotArgs(lot)])
    await this.#reconnection?.wait()
    const reply = takeTokensScript.run(this.#client, buckets, args) as Promise<number[]>
    const numbers = await orUnavailable(reply, 'the store of rate limits does not answer')
    return demands.map((_, i) => {
      const [granted, leftMilli, more, kept, othersHold] = numbers.slice(5 * i) as [
        number,
        number,
        number,
        number,
        number,
      ]
      return { granted, leftMilli, more, kept, othersHold }
    })
  }
}
