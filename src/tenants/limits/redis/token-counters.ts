import { Cluster } from 'ioredis'
import type { RedisClient } from '../../../stores/redis/connect.ts'
import { orUnavailable } from '../../../stores/redis/errors.ts'
import type { Reconnection } from '../../../stores/redis/reconnection.ts'
import { loadScript } from '../../../stores/redis/scripts.ts'
import {
  NO_CHANGE,
  type TokenCounter,
  type TokenCounters,
  type TokenDemand,
  type TokenGrant,
} from '../shared-tokens.ts'

const takeFromBucketsScript = loadScript(import.meta.url, './takeFromBuckets-N.lua', { using: './tokens.lua' })
const takeFromWindowsScript = loadScript(import.meta.url, './takeFromWindows-N.lua', { using: './tokens.lua' })

const UNANSWERED = 'the store of limits does not answer'

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

  async left(counter: TokenCounter): Promise<number> {
    // A window can be read while Redis refuses writes.
    if (counter.rate === 0) return counter.size - (await this.used(counter.key))
    const [grant] = await this.#take([{ counter, tokens: [], change: NO_CHANGE }])
    return grant!.left
  }

  /** Tokens taken from a window, reserved ones included. */
  async used(key: string): Promise<number> {
    return Number.parseInt((await orUnavailable(this.#client.get(key), UNANSWERED)) ?? '0', 10)
  }

  async #take(demands: readonly TokenDemand[]): Promise<TokenGrant[]> {
    const areBuckets = demands[0]!.counter.rate > 0
    const runs = demands.map(({ tokens }) => runsOf(tokens))
    const args = demands.flatMap(({ counter: { size, rate, keptMs = 0 }, change }, i) => {
      const { ended, returned, kept, name, wanted } = change
      const reservation = [ended, returned, kept, name, wanted]
      return [size, areBuckets ? rate : keptMs, ...reservation, runs[i]!.length, ...runs[i]!.flat()]
    })
    await this.#reconnection?.wait()
    const script = areBuckets ? takeFromBucketsScript : takeFromWindowsScript
    const names = demands.map(({ counter }) => counter.key)
    const reply = script.run(this.#client, names, args) as Promise<number[]>
    const numbers = (await orUnavailable(reply, UNANSWERED))[Symbol.iterator]()
    const next = () => numbers.next().value as number
    return demands.map((_, i) => {
      const [left, more, kept, othersHold] = [next(), next(), next(), next()]
      const allowed = runs[i]!.flatMap(([requests]) => {
        const granted = next()
        return Array.from({ length: requests }, (_, position) => position < granted)
      })
      return { allowed, left: areBuckets ? left / 1_000 : left, more, kept, othersHold }
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
