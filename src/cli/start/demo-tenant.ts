import type { Config } from '../../config/config.ts'
import { tenantAdmin, withRedis } from '../../terminal/stores.ts'

const DEMO = 'demo'

/** The key of the tenant `demo`, at the one start that makes it. */
export interface DemoKey {
  readonly tenant_id: string
  readonly api_key: string
}

/**
 * Makes sure that there is a tenant `demo` that has, or had, a key, unless it is being deleted. Killed in between, the next
 * start goes on.
 * @returns the key, when this call made it
 */
export async function createDemoTenant(redisUrl: string, config: Pick<Config, 'plans'>): Promise<DemoKey | undefined> {
  return await withRedis(redisUrl, async (client) => {
    const admin = tenantAdmin(client, config)
    const tenants = await admin.listTenants()
    const demo = tenants.find(({ id }) => id === DEMO) ?? (await admin.createTenant(DEMO, { plan: 'custom' }))
    if (demo.deleting) return undefined
    if ((await admin.listKeys(DEMO)).length > 0) return undefined
    const { key } = await admin.createKey(DEMO)
    return { tenant_id: DEMO, api_key: key }
  })
}
