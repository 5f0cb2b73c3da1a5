import { once } from 'node:events'
import type { Config } from '../config/config.ts'
import { shown } from '../config/values.ts'
import { causeText } from '../run/cause-text.ts'
import { systemClock } from '../run/clock.ts'
import { StartupError } from '../run/errors.ts'
import { connectRedis, type RedisClient } from '../stores/redis/connect.ts'
import { persisted } from '../stores/redis/durability/persisted.ts'
import { replyCode } from '../stores/redis/reply-error.ts'
import { TenantAdmin } from '../tenants/admin.ts'
import { RedisTenantStore } from '../tenants/redis/tenant-store.ts'
import { asInstance, redisUrlOf } from './instance.ts'

const CONNECT_MS = 5_000

/**
 * Connects to Redis for the length of `use`. When it resolves, what was changed is on disk.
 * @param connectMs time to connect, and for each answer
 * @throws StartupError when Redis cannot be reached in that time
 */
export async function withRedis<T>(
  url: string,
  use: (client: RedisClient) => Promise<T>,
  connectMs = CONNECT_MS,
): Promise<T> {
  const client = connectRedis(url, { name: 'cli', kind: 'request', timeoutMs: connectMs })
  let problem = 'no answer'
  client.on('error', (error: Error) => {
    problem = causeText(error)
  })
  try {
    await once(client, 'ready', { signal: AbortSignal.timeout(connectMs) }).catch((error: Error) => {
      const reason = error.name === 'AbortError' ? problem : causeText(error)
      throw new StartupError(`cannot reach Redis at ${shown(url)}: ${reason}`, { cause: new Error(reason) })
    })
    const refused = await refusesWrites(client)
    const result = await use(client)
    // What would have changed something was refused, and what is only read is as good as before.
    if (!refused || !(await refusesWrites(client))) await persisted(client)
    return result
  } finally {
    client.disconnect()
  }
}

/** A Redis that cannot write to its file, as on a full disk. */
async function refusesWrites(client: RedisClient): Promise<boolean> {
  const error = await client.ping().then(
    () => undefined,
    (error: unknown) => error,
  )
  return replyCode(error) === 'MISCONF'
}

/** Manages the tenants of the running instance for the length of `use`. */
export async function withTenants<T>(config: Config, use: (admin: TenantAdmin) => Promise<T>): Promise<T> {
  const { plans } = await asInstance(config)
  return await withRedis(await redisUrlOf(config), (client) => use(tenantAdmin(client, { plans })))
}

export function tenantAdmin(client: RedisClient, { plans }: Pick<Config, 'plans'>): TenantAdmin {
  return new TenantAdmin({ store: new RedisTenantStore(client), plans, clock: systemClock })
}
