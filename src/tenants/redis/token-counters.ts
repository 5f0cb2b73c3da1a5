import { Cluster } from 'ioredis'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { keys } from '../../stores/redis/keys.ts'
import { orUnavailable } from '../../stores/redis/or-unavailable.ts'
import type { Reconnection } from '../../stores/redis/reconnection.ts'
import { loadScript } from '../../stores/redis/scripts.ts'
import type { TokenCounters, TokenDemand, TokenGrant } from '../stores.ts'

const takeTokensScript = loadScript(import.meta.url, './takeTokens-N.lua')

/** Counters of tokens in Redis. Demands that come together are one call; on a cluster, one each. */
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
    const names = demands.map(({ counter: { tenantId, window } }) =>
      window === undefined ? keys.rateBucket(tenantId) : keys.lookups(tenantId, window),
    )
    const runs = demands.map(({ tokens }) => runsOf(tokens))
    const args = demands.flatMap(({ counter: { size, rate, keptMs = 0 }, change }, i) => {
      const { ended, returned, kept, name, wanted } = change
      return [size, rate, keptMs, ended, returned, kept, name, wanted, runs[i]!.length, ...runs[i]!.flat()]
    })
    await this.#reconnection?.wait()
    const reply = takeTokensScript.run(this.#client, names, args) as Promise<number[]>
    const numbers = await orUnavailable(reply, 'the store of limits does not answer')
    let at = 0
    return demands.map(({ counter }, i) => {
      const [left, more, kept, othersHold] = numbers.slice(at, at + 4) as [number, number, number, number]
      const granted = numbers.slice(at + 4, at + 4 + runs[i]!.length)
      at += 4 + granted.length
      const allowed = runs[i]!.flatMap(([requests], run) =>
        Array.from({ length: requests }, (_, position) => position < granted[run]!),
      )
      return { allowed, left: counter.window === undefined ? left / 1_000 : left, more, kept, othersHold }
    })
  }
}

/** Neighbours that want the same number of tokens, as requests and tokens of each. */
function runsOf(tokens: readonly number[]): [requests: number, each: number][] {
  const runs: [number, number][] = []
  for (const each of tokens) {
    const last = runs.at(-1)
    if (last?.[1] === each) last[0]++
    else runs.push([1, each])
  }
  return runs
}
