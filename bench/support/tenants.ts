import { once } from 'node:events'
import { DEFAULT_PLANS } from '../../schemas/plans.ts'
import { systemClock } from '../../src/run/clock.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { TenantAdmin } from '../../src/tenants/admin.ts'
import { RedisTenantStore } from '../../src/tenants/redis/tenant-store.ts'
import type { Product } from '../run/product.ts'

/** Runs `use` with the tenants of a product. */
export async function withTenants<T>(product: Product, use: (admin: TenantAdmin) => Promise<T>): Promise<T> {
  const client = connectRedis(product.redisUrl, { name: 'bench', kind: 'loop' })
  try {
    if (client.status !== 'ready') await once(client, 'ready')
    const plans = new Map(Object.entries(DEFAULT_PLANS))
    return await use(new TenantAdmin({ store: new RedisTenantStore(client), plans, clock: systemClock }))
  } finally {
    client.disconnect()
  }
}
