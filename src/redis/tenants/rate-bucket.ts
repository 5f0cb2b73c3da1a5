import { UnavailableError } from '../../core/run/errors.ts'
import type { BucketDemand, BucketGrant, TokenBuckets } from '../../tenants/stores.ts'
import type { RedisClient } from '../connect.ts'
import { keys } from '../keys.ts'
import { loadScript } from '../scripts.ts'

const takeTokensScript = loadScript('takeTokens-1')

/** Token buckets in Redis, by Redis' clock. Demands that are made together travel together. */
export class RedisTokenBuckets implements TokenBuckets {
  readonly #client: RedisClient

  constructor(client: RedisClient) {
    this.#client = client
  }

  take(demands: readonly BucketDemand[]): Promise<BucketGrant>[] {
    return demands.map((demand) => this.#take(demand))
  }

  async #take({ tenantId, rate, burst, wanted }: BucketDemand): Promise<BucketGrant> {
    try {
      const reply = await takeTokensScript.run(this.#client, [keys.rateBucket(tenantId)], [rate, burst, wanted])
      const [granted, leftMilli] = reply as [number, number]
      return { granted, leftMilli }
    } catch (error) {
      throw new UnavailableError('the store of rate limits does not answer', { cause: error })
    }
  }
}
