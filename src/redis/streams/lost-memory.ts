import { Cluster, type Redis } from 'ioredis'
import type { RedisClient } from '../connect.ts'
import { keys } from '../keys.ts'
import type { Lease } from '../lease.ts'

/** Clocks of machines differ by less. */
const CLOCKS_MS = 10_000

interface Lives {
  /** `run_id` of each server: another one behind every start. */
  readonly ids: string
  /** When a sink met them first, milliseconds. */
  readonly sinceMs: number
}

/**
 * Notices that a Redis server was started, or replaced by its replica: it may have lost the end of its append-only file, or
 * what was not replicated yet. Entries are then delivered again as if for the first time, and steps write their
 * output again under other ids, while the rows of all these events may be stored. They were received before.
 */
export class LostMemory {
  readonly #client: RedisClient
  readonly #lease: Lease
  readonly #key: string
  #lives: Lives | undefined

  constructor(client: RedisClient, lease: Lease, group: string) {
    this.#client = client
    this.#lease = lease
    this.#key = keys.sinkLives(group)
  }

  /**
   * Events that were received before this moment, milliseconds, may be stored though Redis does not know it. To be asked
   * behind a read: what was read came from these servers, or from earlier ones.
   */
  async before(): Promise<number> {
    const ids = (await Promise.all(mastersOf(this.#client).map(runId))).sort().join()
    if (this.#lives?.ids !== ids) this.#lives = await this.#meet(ids)
    return this.#lives.sinceMs + CLOCKS_MS
  }

  /** A note that is lost with the end of the file names servers that are gone. */
  async #meet(ids: string): Promise<Lives> {
    const noted = JSON.parse((await this.#client.get(this.#key)) ?? '{}') as Partial<Lives>
    if (noted.ids === ids && noted.sinceMs !== undefined) return { ids, sinceMs: noted.sinceMs }
    const lives = { ids, sinceMs: Date.now() }
    await this.#lease.write(this.#key, JSON.stringify(lives))
    return lives
  }
}

function mastersOf(client: RedisClient): Redis[] {
  return client instanceof Cluster ? client.nodes('master') : [client]
}

async function runId(node: Redis): Promise<string> {
  return /^run_id:(\w+)/m.exec(await node.info('server'))?.[1] ?? ''
}
