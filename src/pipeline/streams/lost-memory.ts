import { Cluster, type Redis } from 'ioredis'
import type { RedisClient } from '../../stores/redis/connect.ts'
import type { SinkLease } from './sink-shares.ts'

/** Clocks of machines differ by less; behind a unix socket there is one clock, and what is left is that of whole seconds. */
const CLOCKS_MS = { ofMachines: 10_000, ofOne: 1_000 }

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
  readonly #lease: SinkLease
  readonly #key: string
  #lives: Lives | undefined

  /** @param key in the lease's slot */
  constructor(client: RedisClient, lease: SinkLease, key: string) {
    this.#client = client
    this.#lease = lease
    this.#key = key
  }

  /** To be called when the lease is taken: its owners meanwhile may have met other servers. */
  forget(): void {
    this.#lives = undefined
  }

  /**
   * Events that were received before this moment, milliseconds, may be stored though Redis does not know it. To be asked
   * behind a read: what was read came from these servers, or from earlier ones.
   */
  async before(): Promise<number> {
    const servers = await Promise.all(mastersOf(this.#client).map(serverOf))
    const ids = servers
      .map(({ id }) => id)
      .sort()
      .join()
    if (this.#lives?.ids !== ids) this.#lives = await this.#meet(ids, servers)
    return this.#lives.sinceMs + (isHere(this.#client) ? CLOCKS_MS.ofOne : CLOCKS_MS.ofMachines)
  }

  /**
   * A note that is lost with the end of the file names servers that are gone. Without any, nothing was read before, or a start
   * lost it, but no replica has taken over yet.
   */
  async #meet(ids: string, servers: readonly Server[]): Promise<Lives> {
    const noted = JSON.parse((await this.#client.get(this.#key)) ?? '{}') as Partial<Lives>
    if (noted.ids === ids && noted.sinceMs !== undefined) return { ids, sinceMs: noted.sinceMs }
    const youngest = Math.max(...servers.map(({ startedMs }) => startedMs))
    // A clock that was set back takes nothing away.
    const sinceMs = noted.sinceMs === undefined ? youngest : Math.max(noted.sinceMs, Date.now())
    const lives = { ids, sinceMs }
    await this.#lease.write(this.#key, JSON.stringify(lives))
    return lives
  }
}

function mastersOf(client: RedisClient): Redis[] {
  return client instanceof Cluster ? client.nodes('master') : [client]
}

function isHere(client: RedisClient): boolean {
  return !(client instanceof Cluster) && client.options.path !== undefined
}

interface Server {
  readonly id: string
  /** By our clock, to the second. */
  readonly startedMs: number
}

async function serverOf(node: Redis): Promise<Server> {
  const info = await node.info('server')
  const upSeconds = Number(/^uptime_in_seconds:(\d+)/m.exec(info)?.[1] ?? 0)
  return { id: /^run_id:(\w+)/m.exec(info)?.[1] ?? '', startedMs: Date.now() - 1_000 * upSeconds }
}
