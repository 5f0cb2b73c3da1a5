import { Cluster, type Redis } from 'ioredis'
import { UnavailableError } from '../../run/errors.ts'

interface Losses {
  readonly count: number
  /** Time of the last loss, by `performance.now()`. */
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

/** Counts the losses of a cluster client from now on. */
export function countLossesOf(cluster: Cluster): void {
  // Also those that the client has left, while their connections end.
  const nodes = new Set<Redis>()
  let masters: ReadonlySet<string> = new Set()
  cluster.on('+node', (node: Redis) => {
    nodes.add(node)
    node.on('close', () => countLoss(cluster))
    node.on('end', () => nodes.delete(node))
  })
  cluster.on('refresh', () => {
    countMoves(cluster)
    masters = leaveDemoted(cluster, nodes, masters)
  })
}

/** The masters of a cluster when `lossesOf` was last called. Slots of a range share one list, whose first server is the master. */
interface Slots {
  readonly lists: readonly (readonly string[] | undefined)[]
  readonly masters: ReadonlyMap<readonly string[] | undefined, string | undefined>
}

const slotsSeen = new WeakMap<Cluster, Slots>()

/** A demoted master may keep its connection: it answers MOVED, and the client goes to the next master. */
function countMoves(cluster: Cluster): void {
  const before = slotsSeen.get(cluster)
  if (before !== undefined && isSame(before, cluster.slots)) return
  const now = slotsOf(cluster)
  slotsSeen.set(cluster, now)
  if (before === undefined) return
  const masterIn = ({ lists, masters }: Slots, slot: number) => masters.get(lists[slot])
  if (
    before.lists.some(
      (_, slot) => masterIn(before, slot) !== undefined && masterIn(before, slot) !== masterIn(now, slot),
    )
  )
    countLoss(cluster)
}

function slotsOf({ slots }: Cluster): Slots {
  const lists = Array.from(slots)
  return { lists, masters: new Map([...new Set(lists)].map((list) => [list, list?.[0]])) }
}

/**
 * The client replaces the lists with each answer of CLUSTER SLOTS, and on MOVED changes the first server in a list. A comparison of lists takes
 * a tenth of that of all names.
 */
function isSame({ lists, masters }: Slots, slots: readonly unknown[]): boolean {
  if (lists.length !== slots.length) return false
  for (let slot = 0; slot < slots.length; slot++) if (lists[slot] !== slots[slot]) return false
  for (const [list, master] of masters) if (list?.[0] !== master) return false
  return true
}

/**
 * Ends the connections to masters that the cluster has demoted. One that was paused or cut off may answer later, although the next master
 * never gets the command, so what was sent over its connection has an unknown outcome.
 */
function leaveDemoted(cluster: Cluster, nodes: ReadonlySet<Redis>, before: ReadonlySet<string>): ReadonlySet<string> {
  const masters = new Set(cluster.nodes('master').map(addressOf))
  for (const node of nodes) if (before.has(addressOf(node)) && !masters.has(addressOf(node))) node.stream?.destroy()
  return masters
}

const addressOf = ({ options }: Redis): string => `${options.host}:${options.port}`

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
