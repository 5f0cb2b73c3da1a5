import type { Config } from '../config/config.ts'
import type { TenantAdmin } from '../tenants/admin.ts'
import type { StoredSource } from '../tenants/stores.ts'
import type { Tenant } from '../tenants/tenancy.ts'

/** A tenant of the running instance. @throws InputError when it has none of that name */
export async function tenantOf(config: Config, name: string): Promise<Tenant> {
  return await reading(config, (admin) => admin.getTenant(name))
}

/** As `tenantOf`, with the sources of the tenant. */
export async function tenantAndSourcesOf(
  config: Config,
  name: string,
): Promise<{ readonly tenant: Tenant; readonly sources: readonly StoredSource[] }> {
  return await reading(config, async (admin) => ({
    tenant: await admin.getTenant(name),
    sources: await admin.listSources(name),
  }))
}

async function reading<T>(config: Config, use: (admin: TenantAdmin) => Promise<T>): Promise<T> {
  const [{ readingRedis, tenantAdmin }, { asInstance, redisUrlOf }] = await Promise.all([
    import('./stores.ts'),
    import('./instance.ts'),
  ])
  const instance = await asInstance(config)
  return await readingRedis(await redisUrlOf(config), (client) => use(tenantAdmin(client, instance)))
}
