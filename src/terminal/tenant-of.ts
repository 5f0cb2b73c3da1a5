import type { Config } from '../config/config.ts'
import type { Tenant } from '../tenants/tenancy.ts'

/** A tenant of the running instance. @throws InputError when it has none of that name */
export async function tenantOf(config: Config, name: string): Promise<Tenant> {
  const { withTenants } = await import('./stores.ts')
  return await withTenants(config, (admin) => admin.getTenant(name))
}
