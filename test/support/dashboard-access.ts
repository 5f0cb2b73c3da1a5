import { Type } from 'typebox'
import { json, route } from '../../src/dashboard/server/route.ts'
import { sessionRoute } from '../../src/dashboard/server/routes/session.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { RedisTenantStore } from '../../src/tenants/redis/tenant-store.ts'
import type { Tenant } from '../../src/tenants/tenancy.ts'
import { atProcessEnd } from './end.mjs'
import { startTestRedis } from './redis.ts'

/* A Redis with two tenants, and calls for everything that needs a session. */

export const redis = connectRedis((await startTestRedis({ after: atProcessEnd })).url, { name: 'test', kind: 'loop' })
atProcessEnd(() => redis.disconnect())
export const tenants = new RedisTenantStore(redis)

export function tenant(id: string, createdAt = '2026-01-01T00:00:00.000Z'): Tenant {
  return { id, plan: 'starter', archive: false, addresses: 'full', createdAt }
}
for (const id of ['acme', 'other']) await tenants.createTenant(tenant(id))

const Change = Type.Object({ name: Type.String({ maxLength: 5 }) }, { additionalProperties: false })
const Filter = Type.Object(
  { limit: Type.Optional(Type.Integer({ maximum: 10 })), kinds: Type.Optional(Type.Array(Type.String())) },
  { additionalProperties: false },
)
/** Different calls. */
export const ROUTES = [
  sessionRoute({ tenants, version: '1.2.3', apiUrl: null }),
  route({
    method: 'GET',
    path: '/api/tenants/:tenant/thing/:id',
    query: Filter,
    handle: ({ tenant, parameters, query }) => json([tenant.id, parameters.id, query]),
  }),
  route({ method: 'POST', path: '/api/tenants/:tenant/change', body: Change, handle: ({ body }) => json(body) }),
  route({ method: 'GET', path: '/api/system', access: 'operator', handle: () => json('all') }),
]
export const member = { role: 'admin', tenant: { id: 'acme', createdAt: '2026-01-01T00:00:00.000Z' } } as const
