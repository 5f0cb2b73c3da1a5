import {
  type CreatedKeyAnswer,
  type KeysAnswer,
  type ListedKey,
  RevokeKeyBody,
} from '../../../../schemas/dashboard/keys.ts'
import { HttpError } from '../../../http/engine/http-error.ts'
import type { TenantAdmin } from '../../../tenants/admin.ts'
import type { ApiKey } from '../../../tenants/tenancy.ts'
import { type DashboardRoute, json, route } from '../route.ts'

export interface KeyParts {
  readonly admin: Pick<TenantAdmin, 'listKeys' | 'getKey' | 'createKey' | 'revokeKey'>
}

/** Of a tenant, revoked ones too, which are kept: who makes them in a loop is not to fill the store of all tenants. */
const KEYS_MAX = 1_000

/** `/api/tenants/:tenant/keys`: the keys of a tenant, by whoever sees it. A key of another tenant is unknown. */
export function keyRoutes({ admin }: KeyParts): DashboardRoute[] {
  return [
    route({
      method: 'GET',
      path: '/api/tenants/:tenant/keys',
      async handle({ tenant }) {
        const answer: KeysAnswer = { keys: (await admin.listKeys(tenant.id)).map(listed) }
        return json(answer)
      },
    }),
    // A page that waits for the first use of a key asks every second: three look-ups in Redis.
    route({
      method: 'GET',
      path: '/api/tenants/:tenant/keys/:prefix',
      handle: async ({ tenant, parameters }) => json(listed(await admin.getKey(tenant.id, parameters.prefix!))),
    }),
    route({
      method: 'POST',
      path: '/api/tenants/:tenant/keys',
      async handle({ tenant }) {
        if ((await admin.listKeys(tenant.id)).length >= KEYS_MAX) {
          const command = `./ipid key create ${tenant.id}`
          throw new HttpError(409, `${tenant.id} has ${KEYS_MAX} keys: further ones are made with "${command}"`)
        }
        const { key, prefix, created_at } = await admin.createKey(tenant.id)
        const answer: CreatedKeyAnswer = { key, prefix, created_at }
        return json(answer)
      },
    }),
    route({
      method: 'POST',
      path: '/api/tenants/:tenant/keys/revoke',
      body: RevokeKeyBody,
      handle: async ({ tenant, body }) => json(listed(await admin.revokeKey(body.prefix, tenant.id))),
    }),
  ]
}

function listed({ prefix, createdAt, lastUsed, revokedAt }: ApiKey): ListedKey {
  return { prefix, created_at: createdAt, last_used: lastUsed ?? null, revoked_at: revokedAt ?? null }
}
