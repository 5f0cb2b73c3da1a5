import { Cluster, type Redis } from 'ioredis'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { keys } from '../../stores/redis/keys.ts'
import type { ShareLease } from '../../stores/redis/membership.ts'
import { mastersOf } from '../../stores/redis/nodes.ts'

/** The clocks of two machines differ by less. On one machine, only the whole seconds of `uptime_in_seconds` are uncertain. */
const CLOCKS_MS = { ofMachines: 10_000, ofOne: 1_000 }

/** The Redis servers that a sink has met. */
interface RunIds {
  /** Of each server the `run_id`, which is new at every start, and the replication id, which is new at every promotion. */
  readonly ids: string
  /** When a sink first met these servers, milliseconds. */
  readonly sinceMs: number
}

/**
 * Notices that a Redis server restarted, or that its replica took over. Such a server may have lost the end of its append-only
 * file, or what was not replicated yet. Entries are then delivered again as if for the first time, and steps write their output
 * again under other ids, although the rows of these events may be stored already. All of them were received before the restart.
 *
 * The note is one for all shares of a sink: what was lost was received before any share met the new server.
 */
export class RedisRunIds {
  readonly #client: RedisClient
  readonly #lease: ShareLease
  readonly #group: string
  #met: RunIds | undefined

  constructor(client: RedisClient, lease: ShareLease, group: string) {
    this.#client = client
    this.#lease = lease
    this.#group = group
  }

  /** Call it after taking the lease: other holders may have met other servers meanwhile. */
  forget(): void {
    this.#met = undefined
  }

  /**
   * Events received before this time, milliseconds, may be stored although Redis does not know it. Call it after a read, so that it
   * covers the servers that the entries came from.
   */
  async forgotBefore(): Promise<number> {
    const hasReplicas = !isLocal(this.#client)
    const servers = await Promise.all(mastersOf(this.#client).map((node) => serverOf(node, hasReplicas)))
    const ids = servers
      .map(({ id }) => id)
      .sort()
      .join()
    if (this.#met?.ids !== ids) this.#met = await this.#meet(ids, servers)
    return this.#met.sinceMs + (isLocal(this.#client) ? CLOCKS_MS.ofOne : CLOCKS_MS.ofMachines)
  }

  /**
   * After a restart, the note names earlier servers, so the new time is now. Without a note, no sink has read before, or a restart
   * lost the note: then the start of the youngest server is late enough.
   */
  async #meet(ids: string, servers: readonly Server[]): Promise<RunIds> {
    const noted = await this.#noted()
    if (noted.ids === ids && noted.sinceMs !== undefined) return { ids, sinceMs: noted.sinceMs }
    const youngest = Math.max(...servers.map(({ startedMs }) => startedMs))
    // Keeps the later time if the clock was set back.
    const sinceMs = noted.sinceMs === undefined ? youngest : Math.max(noted.sinceMs, Date.now())
    const met = { ids, sinceMs }
    await this.#lease.write(keys.sinkRunIds(this.#group), JSON.stringify(met))
    return met
  }

  async #noted(): Promise<Partial<RunIds>> {
    const [text, ofEarlierVersion] = await this.#client.mget(
      keys.sinkRunIds(this.#group),
      keys.sinkRunIds(this.#group, this.#lease.number),
    )
    return JSON.parse(text ?? ofEarlierVersion ?? '{}') as Partial<RunIds>
  }
}

function isLocal(client: RedisClient): boolean {
  return !(client instanceof Cluster) && client.options.path !== undefined
}

interface Server {
  readonly id: string
  /** By our clock, to the second. */
  readonly startedMs: number
}

async function serverOf(node: Redis, hasReplicas: boolean): Promise<Server> {
  const [info, replication] = await Promise.all([node.info('server'), hasReplicas ? node.info('replication') : ''])
  const upSeconds = Number(/^uptime_in_seconds:(\d+)/m.exec(info)?.[1] ?? 0)
  const runId = /^run_id:(\w+)/m.exec(info)?.[1] ?? ''
  const replicationId = /^master_replid:(\w+)/m.exec(replication)?.[1]
  const id = replicationId === undefined ? runId : `${runId}:${replicationId}`
  return { id, startedMs: Date.now() - 1_000 * upSeconds }
}
