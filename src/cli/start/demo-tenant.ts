import type { Config } from '../../config/config.ts'
import { tenantAdmin, withRedis } from '../../terminal/stores.ts'

const DEMO = 'demo'

/** The key of the tenant `demo`, only at the start that created it. */
export interface DemoKey {
  readonly tenant_id: string
  readonly api_key: string
}

/**
 * Creates the tenant `demo` with a key, unless it has or had a key, or is being deleted. After a crash, the next start
 * continues.
 * @returns the key if this call created it
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
