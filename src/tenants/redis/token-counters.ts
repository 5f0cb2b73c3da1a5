import { Cluster } from 'ioredis'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { orUnavailable } from '../../stores/redis/errors.ts'
import { keys } from '../../stores/redis/keys.ts'
import type { Reconnection } from '../../stores/redis/reconnection.ts'
import { loadScript } from '../../stores/redis/scripts.ts'
import type { TokenCounters, TokenDemand, TokenGrant } from '../shared-tokens.ts'

const takeTokensScript = loadScript(import.meta.url, './takeTokens-N.lua')

/** Counters of tokens in Redis. Demands that come together are one call; on a cluster, one call each. */
export class RedisTokenCounters implements TokenCounters {
  readonly #client: RedisClient
  readonly #reconnection: Reconnection | undefined

  /** @param reconnection waits for `client` to be connected; undefined: calls fail at once without a connection */
  constructor(client: RedisClient, reconnection?: Reconnection) {
    this.#client = client
    this.#reconnection = reconnection
  }

  take(demands: readonly TokenDemand[]): Promise<TokenGrant>[] {
    if (this.#client instanceof Cluster) return demands.map(async (demand) => (await this.#take([demand]))[0]!)
    const grants = this.#take(demands)
    return demands.map(async (_, i) => (await grants)[i]!)
  }

  async used(tenantId: string, window: string): Promise<number> {
    return Number.parseInt((await this.#client.get(keys.lookups(tenantId, window))) ?? '0', 10)
  }

  async setUsed(tenantId: string, window: string, used: number, keptMs: number): Promise<void> {
    await this.#client.set(keys.lookups(tenantId, window), used, 'PX', keptMs)
  }

  async #take(demands: readonly TokenDemand[]): Promise<TokenGrant[]> {
    const names = demands.map(({ counter: { tenantId, keyId, window } }) =>
      window === undefined ? keys.rateBucket(tenantId, keyId) : keys.lookups(tenantId, window),
    )
    const runs = demands.map(({ tokens }) => runsOf(tokens))
    const args = demands.flatMap(({ counter: { size, rate, keptMs = 0 }, change }, i) => {
      const { ended, returned, kept, name, wanted } = change
      return [size, rate, keptMs, ended, returned, kept, name, wanted, runs[i]!.length, ...runs[i]!.flat()]
    })
    await this.#reconnection?.wait()
    const reply = takeTokensScript.run(this.#client, names, args) as Promise<number[]>
    const numbers = (await orUnavailable(reply, 'the store of limits does not answer'))[Symbol.iterator]()
    const next = () => numbers.next().value as number
    return demands.map(({ counter }, i) => {
      const [left, more, kept, othersHold] = [next(), next(), next(), next()]
      const allowed = runs[i]!.flatMap(([requests]) => {
        const granted = next()
        return Array.from({ length: requests }, (_, position) => position < granted)
      })
      return { allowed, left: counter.window === undefined ? left / 1_000 : left, more, kept, othersHold }
    })
  }
}

/** Runs of requests that want the same number of tokens. */
function runsOf(tokens: readonly number[]): [requests: number, each: number][] {
  const runs: [number, number][] = []
  for (const each of tokens) {
    const last = runs.at(-1)
    if (last?.[1] === each) last[0]++
    else runs.push([1, each])
  }
  return runs
}
