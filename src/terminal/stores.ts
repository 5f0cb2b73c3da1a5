import { once } from 'node:events'
import type { Config } from '../config/config.ts'
import { isClusterUrl } from '../config/redis-url.ts'
import { shown } from '../config/values.ts'
import { version } from '../config/version.ts'
import { causeText, causeWithRemedy } from '../run/cause-text.ts'
import { systemClock } from '../run/clock.ts'
import { StartupError } from '../run/errors.ts'
import { tlsProblemOf } from '../run/tls-problem.ts'
import { connectRedis, type RedisClient } from '../stores/redis/connect.ts'
import { lossesOf } from '../stores/redis/connection-losses.ts'
import { assertReadable } from '../stores/redis/data-form.ts'
import { persisted } from '../stores/redis/durability/persisted.ts'
import { replyCode } from '../stores/redis/errors.ts'
import { assertNoSentinel } from '../stores/redis/nodes.ts'
import { TenantAdmin } from '../tenants/admin.ts'
import { RedisTenantStore } from '../tenants/redis/tenant-store.ts'
import { asInstance, redisUrlOf } from './instance.ts'

const CONNECT_MS = 5_000

/**
 * Connects to Redis while `use` runs. When it resolves, all changes are on disk.
 * @param connectMs time limit for connecting, and for each answer
 * @throws StartupError when Redis cannot be reached in that time, or holds data of a later version
 */
export async function withRedis<T>(
  url: string,
  use: (client: RedisClient) => Promise<T>,
  connectMs = CONNECT_MS,
): Promise<T> {
  const useAndPersist = async (client: RedisClient) => {
    const losses = lossesOf(client)
    const refused = await refusesWrites(client)
    const result = await use(client)
    // With writes refused, nothing was changed, and reads need no disk.
    if (!refused || !(await refusesWrites(client))) await persisted(client, { losses })
    return result
  }
  return await readingRedis(url, useAndPersist, { connectMs })
}

interface ReadingOptions<T> {
  /** Time limit for connecting, and for each answer. */
  readonly connectMs?: number
  /** Called in place of `use` when Redis cannot be reached. Default: an error. */
  readonly unreachable?: (client: RedisClient, reason: Error) => Promise<T>
}

/** As `withRedis`, for a `use` that only reads: it needs neither the disk nor the replicas of Redis. */
export async function readingRedis<T>(
  url: string,
  use: (client: RedisClient) => Promise<T>,
  { connectMs = CONNECT_MS, unreachable }: ReadingOptions<T> = {},
): Promise<T> {
  const client = connectRedis(url, { name: 'cli', kind: 'request', timeoutMs: connectMs })
  try {
    try {
      await readyWithin(client, url, connectMs)
    } catch (error) {
      if (unreachable === undefined) throw error
      return await unreachable(client, error as Error)
    }
    await assertReadable(client, version())
    return await use(client)
  } finally {
    client.disconnect()
  }
}

/**
 * Waits for the first connection of a new client.
 * @throws StartupError when there is none in time, or to a Sentinel
 */
export async function readyWithin(client: RedisClient, url: string, connectMs: number): Promise<void> {
  const cause = await failureOf(client, connectMs)
  if (cause !== undefined) {
    const inner = isClusterUrl(url) ? await nodeFailure(url, cause) : cause
    const where = `cannot reach Redis at ${shown(url)}${isClusterUrl(url) ? ': no node answers as one of a cluster' : ''}`
    throw new StartupError(`${where}: ${causeWithRemedy(inner)}`, {
      cause: inner,
      reason: `${where}: ${causeText(inner)}`,
      remedy: tlsProblemOf(inner, 'REDIS_URL')?.remedy,
    })
  }
  await assertNoSentinel(client, url)
}

/** Why a new client does not connect in time; undefined when it does. */
async function failureOf(client: RedisClient, connectMs: number): Promise<Error | undefined> {
  let problem = new Error('no answer')
  client.on('error', (error: Error) => {
    problem = error
  })
  return await once(client, 'ready', { signal: AbortSignal.timeout(connectMs) }).then(
    () => undefined,
    (error: Error) => (error.name === 'AbortError' ? problem : error),
  )
}

const NODE_MS = 2_000

/** A cluster client does not report why it cannot connect to a node, for example a certificate, so this asks the first node. */
async function nodeFailure(clusterUrl: string, otherwise: Error): Promise<Error> {
  // A password may have a comma.
  const second = clusterUrl.indexOf(',', clusterUrl.lastIndexOf('@') + 1)
  const url = clusterUrl.slice(0, second < 0 ? undefined : second).replace('-cluster:', ':')
  const client = connectRedis(url, { name: 'cli', kind: 'request' })
  try {
    return (await failureOf(client, NODE_MS)) ?? otherwise
  } finally {
    client.disconnect()
  }
}

/** Whether Redis cannot write to its file, for example on a full disk. */
async function refusesWrites(client: RedisClient): Promise<boolean> {
  const error = await client.ping().then(
    () => undefined,
    (error: unknown) => error,
  )
  return replyCode(error) === 'MISCONF'
}

/** Runs `use` with the tenants of the running instance. */
export async function withTenants<T>(
  config: Config,
  use: (admin: TenantAdmin, client: RedisClient) => Promise<T>,
): Promise<T> {
  const { plans } = await asInstance(config)
  return await withRedis(await redisUrlOf(config), (client) => use(tenantAdmin(client, { plans }), client))
}

export function tenantAdmin(client: RedisClient, { plans }: Pick<Config, 'plans'>): TenantAdmin {
  return new TenantAdmin({ store: new RedisTenantStore(client), plans, clock: systemClock })
}
