import {
  type CreatedKeyAnswer,
  CreateKeyBody,
  KEYS_PAGE,
  type KeysAnswer,
  KeysQuery,
  type ListedKey,
  RevokeKeyBody,
} from '../../../../schemas/dashboard/keys.ts'
import { isTestKey } from '../../../../schemas/key-text.ts'
import type { TenantAdmin } from '../../../tenants/admin.ts'
import type { ApiKey } from '../../../tenants/tenancy.ts'
import { type DashboardRoute, json, route } from '../route.ts'
import { makerOf } from '../sessions.ts'

export interface KeyDependencies {
  readonly admin: Pick<TenantAdmin, 'pageKeys' | 'getKey' | 'createKey' | 'revokeKey'>
}

/** `/api/tenants/:tenant/keys`: manages the keys of a tenant. Keys of other tenants are unknown. */
export function keyRoutes({ admin }: KeyDependencies): DashboardRoute[] {
  return [
    route({
      method: 'GET',
      path: '/api/tenants/:tenant/keys',
      access: 'admin',
      query: KeysQuery,
      async handle({ tenant, query }) {
        const { before, limit = KEYS_PAGE.keys } = query
        const { keys, total, next = null } = await admin.pageKeys(tenant.id, before, limit)
        const answer: KeysAnswer = { keys: keys.map(listed), total, next }
        return json(answer)
      },
    }),
    // Cheap: a page polls this every second while it waits for the first use of a key.
    route({
      method: 'GET',
      path: '/api/tenants/:tenant/keys/:prefix',
      access: 'admin',
      handle: async ({ tenant, parameters }) => json(listed(await admin.getKey(tenant.id, parameters.prefix!))),
    }),
    route({
      method: 'POST',
      path: '/api/tenants/:tenant/keys',
      access: 'admin',
      body: CreateKeyBody,
      async handle({ tenant, session, body }) {
        const { key, prefix, created_at, test = false } = await admin.createKey(tenant.id, makerOf(session), body.test)
        const answer: CreatedKeyAnswer = { key, prefix, test, created_at }
        return json(answer)
      },
    }),
    route({
      method: 'POST',
      path: '/api/tenants/:tenant/keys/revoke',
      access: 'admin',
      body: RevokeKeyBody,
      handle: async ({ tenant, body }) => json(listed(await admin.revokeKey(body.prefix, tenant.id))),
    }),
  ]
}

export function listed({ prefix, createdAt, lastUsed, revokedAt, madeBy }: ApiKey): ListedKey {
  const made = { created_at: createdAt, made_by: madeBy?.name ?? null }
  return { prefix, test: isTestKey(prefix), ...made, last_used: lastUsed ?? null, revoked_at: revokedAt ?? null }
}
