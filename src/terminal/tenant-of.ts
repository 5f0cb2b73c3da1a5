import type { Config } from '../config/config.ts'
import type { Tenant } from '../tenants/tenancy.ts'

/** A tenant of the running instance. @throws InputError when it has none of that name */
export async function tenantOf(config: Config, name: string): Promise<Tenant> {
  const [{ readingRedis, tenantAdmin }, { asInstance, redisUrlOf }] = await Promise.all([
    import('./stores.ts'),
    import('./instance.ts'),
  ])
  const instance = await asInstance(config)
  return await readingRedis(await redisUrlOf(config), (client) => tenantAdmin(client, instance).getTenant(name))
}
