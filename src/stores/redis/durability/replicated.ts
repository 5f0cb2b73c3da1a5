import type { Redis } from 'ioredis'
import { UnavailableError } from '../../../run/errors.ts'

/** How many replicas must have a write, by client. */
const needed = new WeakMap<object, number>()

/** Longest wait for the replicas. Other commands of the connection wait meanwhile. */
const WAIT_MS_MAX = 1_000
/** Part of the time limit of a command, so that Redis answers before the client gives up. */
const WAIT_SHARE = 0.8

/** `waitReplicas` of the client's URL. */
export function needReplicas(client: Redis, replicas: number): void {
  if (replicas > 0) needed.set(client, replicas)
}

/** How many replicas must have a write of this client; 0: Redis answers alone. */
export function replicasNeededBy(client: object): number {
  return needed.get(client) ?? 0
}

/** Whether a command would be sent now. Otherwise it would wait for the next connection, which may lead to another server. */
export function isConnected(client: Redis): boolean {
  return client.status === 'ready' && client.stream.writable
}

/**
 * Resolves when `replicasNeededBy(client)` replicas have every write that the client's Redis made before this call, also those of other
 * clients. Rejects after the time limit, and when the connection is lost: the next server may lack all of them.
 */
export async function replicated(client: Redis): Promise<void> {
  const replicas = replicasNeededBy(client)
  if (!isConnected(client)) throw new UnavailableError('the connection to Redis is lost')
  const waitMs = Math.min(WAIT_MS_MAX, WAIT_SHARE * (client.options.commandTimeout ?? WAIT_MS_MAX))
  // WAIT is about the writes until the last command of its own connection. The PING moves that to now.
  const [, found] = await Promise.all([client.ping(), client.call('WAIT', replicas, Math.ceil(waitMs))])
  if (Number(found) >= replicas) return
  throw new UnavailableError(
    `only ${Number(found)} of ${replicas} replicas have the last writes (waitReplicas of REDIS_URL)`,
  )
}
