import { Cluster, type Redis } from 'ioredis'
import { UnavailableError } from '../../run/errors.ts'

interface Losses {
  readonly count: number
  /** Of the last one, by `performance.now()`. */
  readonly atMs: number
}

/** How often each client has lost a connection, and when last. */
const losses = new WeakMap<Redis | Cluster, Losses>()

/** Whether a command would be sent now. Otherwise it would wait for the next connection, which may lead to another server. */
export function isConnected(client: Redis): boolean {
  return client.status === 'ready' && client.stream.writable
}

export function countLoss(client: Redis | Cluster): void {
  losses.set(client, { count: (losses.get(client)?.count ?? 0) + 1, atMs: performance.now() })
}

/**
 * How often the client has lost its connection, or one to a node of a Redis Cluster, or found another master for slots. What was read
 * before the last loss may be from a server that is not the master any more.
 */
export function lossesOf(client: Redis | Cluster): number {
  if (client instanceof Cluster) countMoves(client)
  const connections = client instanceof Cluster ? client.nodes() : [client]
  // The socket has ended already, and `close` follows.
  const ending = connections.filter((one) => one.status === 'ready' && !isConnected(one)).length
  return (losses.get(client)?.count ?? 0) + ending
}

/** Milliseconds since the last loss that `lossesOf` has counted; infinite when there was none. */
export function sinceLossMs(client: Redis | Cluster): number {
  return performance.now() - (losses.get(client)?.atMs ?? Number.NEGATIVE_INFINITY)
}

/** The nodes that a cluster client is connected to; also those that it has left, while their connections end. */
const nodesOf = new WeakMap<Cluster, Set<Redis>>()

/** Counts the losses of a cluster client from now on. */
export function countLossesOf(cluster: Cluster): void {
  const nodes = new Set<Redis>()
  nodesOf.set(cluster, nodes)
  cluster.on('+node', (node: Redis) => {
    nodes.add(node)
    node.on('close', () => countLoss(cluster))
    node.on('end', () => nodes.delete(node))
  })
  cluster.on('refresh', () => countMoves(cluster))
}

/** The servers of each slot of a cluster, master first, when `lossesOf` was last called. */
const serversSeen = new WeakMap<Cluster, readonly (readonly string[] | undefined)[]>()

/**
 * A demoted master may keep its connection: it answers MOVED, and the client goes to the next master. One that was paused or cut off may
 * answer later, although the next master never gets the command. So its connection ends at once, and what was sent over it has an unknown
 * outcome.
 */
function countMoves(cluster: Cluster): void {
  const { slots } = cluster
  const before = serversSeen.get(cluster)
  if (before !== undefined && isSame(before, slots)) return
  serversSeen.set(cluster, [...slots])
  if (before === undefined || before.every((servers, slot) => !servers?.[0] || servers[0] === slots[slot]?.[0])) return
  countLoss(cluster)
  const [demoted, masters] = [mastersOf(before), mastersOf(slots)]
  for (const node of nodesOf.get(cluster) ?? []) {
    const key = `${node.options.host}:${node.options.port}`
    if (demoted.has(key) && !masters.has(key)) node.stream?.destroy()
  }
}

function mastersOf(slots: readonly (readonly string[] | undefined)[]): Set<string | undefined> {
  return new Set(Array.from(slots, (servers) => servers?.[0]))
}

/** The client replaces the list of a slot with each answer. A comparison of lists takes a tenth of that of their names. */
function isSame(before: readonly unknown[], slots: readonly unknown[]): boolean {
  if (before.length !== slots.length) return false
  for (let slot = 0; slot < slots.length; slot++) if (before[slot] !== slots[slot]) return false
  return true
}

/**
 * Call it right before a write that depends on an earlier read or write.
 * @param losses result of `lossesOf(client)` before that read or write
 * @throws UnavailableError when the connection was lost since: the next master may lack the answers of the last one
 */
export function assertSameConnection(client: Redis | Cluster, losses: number): void {
  if (lossesOf(client) === losses) return
  throw new UnavailableError(
    'the connection to Redis was lost after the read: the next master may lack the data that was read',
  )
}
