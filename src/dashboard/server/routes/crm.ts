import { ConnectCrmBody } from '../../../../schemas/dashboard/crm.ts'
import type { CrmAdmin } from '../../../crm/admin.ts'
import { type DashboardRoute, json, route } from '../route.ts'
import { authorOf } from '../sessions.ts'

export interface CrmDependencies {
  readonly crm: CrmAdmin
}

const PATH = '/api/tenants/:tenant/crm'

/** The CRM of a tenant (src/crm/README.md), for admins. */
export function crmRoutes({ crm }: CrmDependencies): DashboardRoute[] {
  return [
    route({
      method: 'GET',
      path: PATH,
      access: 'admin',
      handle: async ({ tenant }) => json(await crm.shown(tenant.id)),
    }),
    route({
      method: 'POST',
      path: `${PATH}/connect`,
      access: 'admin',
      body: ConnectCrmBody,
      async handle({ tenant, session, body }) {
        await crm.connect(tenant.id, { ...body, by: authorOf(session) })
        return json(await crm.shown(tenant.id))
      },
    }),
    route({
      method: 'POST',
      path: `${PATH}/sync`,
      access: 'admin',
      async handle({ tenant }) {
        await crm.sync(tenant.id)
        return json(await crm.shown(tenant.id))
      },
    }),
    route({
      method: 'POST',
      path: `${PATH}/disconnect`,
      access: 'admin',
      async handle({ tenant }) {
        await crm.disconnect(tenant.id)
        return json(await crm.shown(tenant.id))
      },
    }),
  ]
}
