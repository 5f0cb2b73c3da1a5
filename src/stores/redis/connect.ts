import { Cluster, Redis, type RedisOptions } from 'ioredis'
import {
  assertServerUrl,
  isClusterUrl,
  isSentinelUrl,
  readClusterUrl,
  readWaitReplicas,
} from '../../config/redis-url.ts'
import { shown } from '../../config/values.ts'
import { InputError } from '../../run/errors.ts'
import { countLoss, countLossesOf } from './connection-losses.ts'
import { needReplicas } from './durability/replicated.ts'
import { replyCode } from './errors.ts'
import { sentinelOptions } from './sentinel.ts'

export type RedisClient = Redis | Cluster

/** Decides how the connection behaves while Redis is down. */
export interface ConnectionUse {
  /** Shown by `CLIENT LIST`. */
  readonly name: string
  /**
   * `request`: a caller waits, so a command fails at once while there is no connection. `loop`: a background loop tries again by
   * itself, so a command waits for the next attempt to connect, and fails with it. Both fail after `timeoutMs` without a reply.
   * At a cluster, a command of a loop waits for as long as no node answers.
   */
  readonly kind: 'request' | 'loop'
  readonly timeoutMs?: number
}

/**
 * Opens a client for `redis://`, `rediss://`, `unix:///path`, `redis-sentinel://h1:p1,h2:p2/name` or `redis[s]-cluster://h1:p1,h2:p2`. It
 * connects in the background, reconnects for ever, and leaves a server that is not the master. It never repeats a command whose reply was lost: its outcome is unknown, and only the caller knows whether a
 * repeat is safe. Exception: a cluster client repeats a transaction if all its replies are lost.
 * @throws InputError for any other address
 */
export function connectRedis(url: string, use: ConnectionUse): RedisClient {
  speedUpStrings()
  const options: RedisOptions = {
    connectionName: `ipid:${use.name}`,
    autoResendUnfulfilledCommands: false,
    // A failed subscription inside the client would be an uncaught error and end the process.
    autoResubscribe: false,
    enableOfflineQueue: use.kind === 'loop',
    // With null, commands in flight when the connection breaks would never be answered.
    maxRetriesPerRequest: 0,
    commandTimeout: use.timeoutMs,
    connectTimeout: 2_000,
    keepAlive: 10_000,
    noDelay: true,
    retryStrategy: reconnectMs,
    // Otherwise the client waits for Redis' estimate of its loading time, up to 10 s.
    maxLoadingRetryTime: LOADING_ASK_MS,
    // The address may lead to another master by now.
    reconnectOnError: (error) => replyCode(error) === 'READONLY',
    protocol: 2,
  }
  if (isClusterUrl(url)) {
    const { nodes, isTls, username, password, waitReplicas } = naming('REDIS_URL', () => readClusterUrl(url))
    const cluster = new Cluster(nodes, {
      redisOptions: { ...options, username, password, ...(isTls && { tls: {} }) },
      // Certificates name hosts, and by default the client would connect to their addresses.
      ...(isTls && { dnsLookup: (host, found) => found(null, host) }),
      enableOfflineQueue: use.kind === 'loop',
      clusterRetryStrategy: reconnectMs,
      // Without it, the client stays with a master that is paused or cut off: nothing ends their connection.
      slotsRefreshInterval: MASTERS_ASK_MS,
      scaleReads: 'master',
    })
    countLossesOf(cluster)
    needReplicas(cluster, waitReplicas)
    return cluster
  }
  const client = connectOne(url, options)
  needReplicas(
    client,
    naming('REDIS_URL', () => readWaitReplicas(url)),
  )
  client.on('close', () => countLoss(client))
  return client
}

function connectOne(url: string, options: RedisOptions): Redis {
  if (url.startsWith('unix://')) {
    const path = url.slice('unix://'.length)
    if (!path.startsWith('/')) throw new InputError(`REDIS_URL: unix:// must have an absolute path, got ${shown(url)}`)
    return new Redis({ ...options, path })
  }
  if (isSentinelUrl(url)) return new Redis({ ...options, ...naming('REDIS_URL', () => sentinelOptions(url)) })
  naming('REDIS_URL', () => assertServerUrl(url))
  return new Redis(url, options)
}

function naming<T>(setting: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof InputError)) throw error
    throw new InputError(`${setting}: ${error.message}`)
  }
}

/** Short delays, because requests fail meanwhile, and a restarted Redis is ready in a fraction of a second. */
function reconnectMs(attempt: number): number {
  return Math.min(20 * attempt, 200)
}

/** How often to ask for the masters of a cluster: 5 ms of CPU for each client, and a new connection. */
const MASTERS_ASK_MS = 5_000

/** How often to ask a Redis that is loading its data. */
const LOADING_ASK_MS = 100

/** More property loads than V8 needs to optimize a prototype. */
const LOADS = 1_000

/**
 * ioredis has a class that extends String. V8 then turns String.prototype into a slow dictionary, which costs ingress and worker a
 * tenth of their time and more. V8 makes it fast again once methods are loaded from an object that inherits it. Loads from strings do
 * not count.
 */
function speedUpStrings(): void {
  const inheriting = Object.create(String.prototype) as string
  for (let i = 0; i < LOADS; i++) inheriting.charCodeAt
}
