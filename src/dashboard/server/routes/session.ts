import type { SessionAnswer } from '../../../../schemas/dashboard/session.ts'
import { SAMPLE_TENANT } from '../../../../schemas/tenant.ts'
import type { TenantStore } from '../../../tenants/stores.ts'
import { type Tenant, zonesByTenant } from '../../../tenants/tenancy.ts'
import type { Favicons } from '../../favicons/favicons.ts'
import { visibleTenant } from '../access.ts'
import { type DashboardRoute, json, route } from '../route.ts'
import type { Session } from '../sessions.ts'

export interface SessionDependencies {
  readonly tenants: Pick<TenantStore, 'listTenants' | 'getTenant'>
  readonly version: string
  readonly apiUrl: string | null
  /** Undefined: DASHBOARD_FAVICONS is off. */
  readonly favicons?: Favicons | undefined
}

async function sampleOf(tenants: SessionDependencies['tenants'], session: Session): Promise<string | null> {
  const tenant = await visibleTenant((id) => tenants.getTenant(id), session, SAMPLE_TENANT)
  return tenant?.sampleUntil === undefined ? null : tenant.id
}

/** @param own tenants of an operator */
async function visibleZones(tenants: SessionDependencies['tenants'], { tenant }: Session, own: readonly Tenant[]) {
  const member = tenant === undefined ? undefined : await tenants.getTenant(tenant.id)
  const visible = tenant === undefined ? own : member === undefined ? [] : [member]
  return Object.fromEntries(zonesByTenant(visible))
}

/** `GET /api/session`: role, name and visible tenants of the session. */
export function sessionRoute({ tenants, version, apiUrl, favicons }: SessionDependencies): DashboardRoute {
  return route({
    method: 'GET',
    path: '/api/session',
    async handle({ session }) {
      const all = session.role === 'operator' ? (await tenants.listTenants()).filter(({ deleting }) => !deleting) : []
      const own = all.filter(({ sampleUntil }) => sampleUntil === undefined)
      const answer: SessionAnswer = {
        role: session.role,
        name: session.name ?? null,
        tenants: session.tenant === undefined ? own.map(({ id }) => id) : [session.tenant.id],
        time_zones: await visibleZones(tenants, session, own),
        sample: await sampleOf(tenants, session),
        csrf_token: session.csrfToken,
        version,
        api_url: apiUrl,
        favicons: favicons !== undefined,
      }
      return json(answer)
    },
  })
}
