import { Cluster, Redis, type RedisOptions } from 'ioredis'
import { InputError } from '../../run/errors.ts'

export type RedisClient = Redis | Cluster

/** What a connection is for: it decides how it behaves when Redis is away. */
export interface ConnectionUse {
  /** Shown by `CLIENT LIST`. */
  readonly name: string
  /**
   * `request`: somebody waits for the answer, so a command fails at once when the connection is down, and after
   * `timeoutMs` without a reply. `loop`: a background loop that tries again by itself; a command waits for
   * the connection that is being made, and fails with it.
   */
  readonly kind: 'request' | 'loop'
  readonly timeoutMs?: number
}

/**
 * Opens a client for `redis://`, `rediss://`, `unix:///path` or `redis-cluster://h1:p1,h2:p2`. It connects in the
 * background and reconnects by itself, for ever. A command whose reply was lost is never sent again by the client: its
 * outcome is unknown, and only the caller can tell whether repeating it is safe. But a client of a cluster sends a transaction again of
 * which every reply is missing.
 * @throws InputError when the address is not of these forms
 */
export function connectRedis(url: string, use: ConnectionUse): RedisClient {
  speedUpStrings()
  const options: RedisOptions = {
    connectionName: `ipid:${use.name}`,
    autoResendUnfulfilledCommands: false,
    // A subscription that fails inside of the client is nobody's to catch, and would end the process.
    autoResubscribe: false,
    enableOfflineQueue: use.kind === 'loop',
    // With null, commands that were on their way when the connection broke would never be answered at all.
    maxRetriesPerRequest: 0,
    commandTimeout: use.timeoutMs,
    connectTimeout: 2_000,
    keepAlive: 10_000,
    noDelay: true,
    retryStrategy: reconnectMs,
    // Else it asks again when Redis thinks that it has its data by then, or 10 s later.
    maxLoadingRetryTime: LOADING_ASK_MS,
    protocol: 2,
  }
  if (url.startsWith('redis-cluster://')) {
    return new Cluster(clusterNodes(url), {
      redisOptions: options,
      enableOfflineQueue: use.kind === 'loop',
      clusterRetryStrategy: reconnectMs,
      scaleReads: 'master',
    })
  }
  if (url.startsWith('unix://')) {
    const path = url.slice('unix://'.length)
    if (!path.startsWith('/')) throw new InputError(`REDIS_URL: unix:// wants an absolute path, got ${url}`)
    return new Redis({ ...options, path })
  }
  if (url.startsWith('redis://') || url.startsWith('rediss://')) {
    if (!URL.canParse(url)) throw new InputError(`REDIS_URL: not a URL: ${url}`)
    const option = [...new URL(url).searchParams.keys()].find((name) => !URL_OPTIONS.has(name))
    // They would take the place of those above, on which it depends that nothing is sent twice.
    if (option !== undefined)
      throw new InputError(`REDIS_URL: of options only ${[...URL_OPTIONS].join(', ')} are taken, got ${option}`)
    return new Redis(url, options)
  }
  throw new InputError(
    `REDIS_URL: wants redis://, rediss://, unix:///path or redis-cluster://host:port,host:port, got ${url}`,
  )
}

/** Options of ioredis that a URL may have behind its question mark. */
const URL_OPTIONS: ReadonlySet<string> = new Set(['family', 'db', 'username', 'password'])

/** Requests fail until a connection is there again, and a Redis that is started again serves in a fraction of a second. */
function reconnectMs(attempt: number): number {
  return Math.min(20 * attempt, 200)
}

/** How often a Redis that loads its data is asked whether it has them. */
const LOADING_ASK_MS = 100

/** Loads after which V8 has made a prototype fast, with room to spare. */
const LOADS = 1_000

/**
 * ioredis has a class that extends String. V8 then keeps the methods of all strings of a process in a dictionary, in which each
 * use of one is looked up: a tenth and more of the time of ingress and worker. It makes them fast again when they are
 * loaded from an object that inherits them; loads from strings do not count.
 */
function speedUpStrings(): void {
  const inheriting = Object.create(String.prototype) as string
  for (let i = 0; i < LOADS; i++) inheriting.charCodeAt
}

function clusterNodes(url: string): { host: string; port: number }[] {
  return url
    .slice('redis-cluster://'.length)
    .replace(/\/$/, '')
    .split(',')
    .map((node) => {
      const at = node.lastIndexOf(':')
      const port = Number(node.slice(at + 1))
      if (at < 1 || !Number.isInteger(port) || port < 1 || port > 65_535) {
        throw new InputError(`REDIS_URL: a cluster node is host:port, got ${node}`)
      }
      return { host: node.slice(0, at), port }
    })
}
