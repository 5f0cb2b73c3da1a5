import { Cluster, type Redis } from 'ioredis'
import { UnavailableError } from '../../../run/errors.ts'
import { assertSameConnection, isConnected, lossesOf, sinceLossMs } from '../connection-losses.ts'

/** How many replicas must have a write, by client. */
const needed = new WeakMap<object, number>()

/** Longest wait for the replicas. Other commands of the connection wait meanwhile. */
const WAIT_MS_MAX = 1_000
/** Part of the time limit of a command, so that Redis answers before the client gives up. */
const WAIT_SHARE = 0.8
/** Longer than a turn of the event loop. A lost master answers nothing after its loss was counted. */
const TURN_MS = 100

/** `waitReplicas` of the client's URL. */
export function needReplicas(client: Redis | Cluster, replicas: number): void {
  if (replicas > 0) needed.set(client, replicas)
}

/** How many replicas must have a write of this client; 0: Redis answers alone. */
export function replicasNeededBy(client: object): number {
  return needed.get(client) ?? 0
}

/**
 * Resolves when `replicasNeededBy(client)` replicas have every write that the client's Redis made before this call, also those of other
 * clients. Rejects after the time limit, and when the connection is lost: the next server may lack all of them. On a Redis Cluster each
 * master that this client uses needs that many replicas.
 * @param losses of a cluster client (`lossesOf`), before the first write. Default: the write was answered in this turn
 */
export async function replicated(client: Redis | Cluster, losses?: number): Promise<void> {
  const replicas = replicasNeededBy(client)
  if (!(client instanceof Cluster)) return await replicatedBy(client, replicas)
  const found = lossesOf(client)
  if (losses === undefined ? sinceLossMs(client) < TURN_MS : losses !== found) {
    throw new UnavailableError('a master of the Redis Cluster was lost: the next one may lack the last writes')
  }
  // Nothing was written or read over a connection that is not open yet.
  const used = client.nodes('master').filter(({ status }) => status === 'ready')
  await Promise.all(used.map((master) => replicatedBy(master, replicas)))
  assertSameConnection(client, found)
}

async function replicatedBy(master: Redis, replicas: number): Promise<void> {
  if (!isConnected(master)) throw new UnavailableError('the connection to Redis is lost')
  const waitMs = Math.min(WAIT_MS_MAX, WAIT_SHARE * (master.options.commandTimeout ?? WAIT_MS_MAX))
  // WAIT is about the writes until the last command of its own connection. The PING moves that to now.
  const [, found] = await Promise.all([master.ping(), master.call('WAIT', replicas, Math.ceil(waitMs))])
  if (Number(found) >= replicas) return
  throw new UnavailableError(
    `only ${Number(found)} of ${replicas} replicas have the last writes (waitReplicas of REDIS_URL)`,
  )
}
