import {
  ChangePlanBody,
  CreateTenantBody,
  type ListedTenant,
  type SignedOutAnswer,
  type TenantsAnswer,
  TimeZoneBody,
} from '../../../../schemas/dashboard/tenants.ts'
import type { Plans } from '../../../../schemas/plans.ts'
import type { TenantAdmin } from '../../../tenants/admin.ts'
import type { Tenant } from '../../../tenants/tenancy.ts'
import { type DashboardRoute, json, route } from '../route.ts'
import type { Sessions } from '../sessions.ts'

export interface TenantDependencies {
  readonly admin: Pick<TenantAdmin, 'listTenants' | 'createTenant' | 'setTenant'>
  readonly plans: Plans
  readonly sessions: Pick<Sessions, 'withdraw'>
}

/** `/api/tenants`: manages tenants, for operators. Their zone is a matter of admins. */
export function tenantRoutes({ admin, plans, sessions }: TenantDependencies): DashboardRoute[] {
  return [
    route({
      method: 'GET',
      path: '/api/tenants',
      access: 'operator',
      async handle() {
        const answer: TenantsAnswer = {
          tenants: (await admin.listTenants()).map(listed),
          plans: [...plans].map(([name, limits]) => ({ name, limits })),
        }
        return json(answer)
      },
    }),
    route({
      method: 'POST',
      path: '/api/tenants',
      access: 'operator',
      body: CreateTenantBody,
      handle: async ({ body: { name, ...facts } }) => json(listed(await admin.createTenant(name, facts))),
    }),
    route({
      method: 'POST',
      path: '/api/tenants/:tenant/plan',
      access: 'operator',
      body: ChangePlanBody,
      handle: async ({ tenant, body: { plan } }) => json(listed(await admin.setTenant(tenant.id, { plan }))),
    }),
    route({
      method: 'POST',
      path: '/api/tenants/:tenant/time-zone',
      access: 'admin',
      body: TimeZoneBody,
      async handle({ tenant, body }) {
        await admin.setTenant(tenant.id, body)
        return json({})
      },
    }),
    route({
      method: 'POST',
      path: '/api/tenants/:tenant/sign-out',
      access: 'operator',
      async handle({ tenant: { id } }) {
        const answer: SignedOutAnswer = await sessions.withdraw(id)
        return json(answer)
      },
    }),
  ]
}

function listed({ id, plan, archive, addresses, createdAt, deleting = false }: Tenant): ListedTenant {
  return { id, plan, archive, addresses, created_at: createdAt, deleting }
}
