import type { SessionAnswer } from '../../../../schemas/dashboard/session.ts'
import type { TenantStore } from '../../../tenants/stores.ts'
import type { Favicons } from '../../favicons/favicons.ts'
import { type DashboardRoute, json, route } from '../route.ts'

export interface SessionDependencies {
  readonly tenants: Pick<TenantStore, 'listTenants'>
  readonly version: string
  readonly apiUrl: string | null
  /** Undefined: DASHBOARD_FAVICONS is off. */
  readonly favicons?: Favicons | undefined
}

/** `GET /api/session`: role, name and visible tenants of the session. */
export function sessionRoute({ tenants, version, apiUrl, favicons }: SessionDependencies): DashboardRoute {
  return route({
    method: 'GET',
    path: '/api/session',
    async handle({ session }) {
      const all = session.role === 'operator' ? (await tenants.listTenants()).filter(({ deleting }) => !deleting) : []
      const answer: SessionAnswer = {
        role: session.role,
        name: session.name ?? null,
        tenants: session.tenant === undefined ? all.map(({ id }) => id) : [session.tenant.id],
        csrf_token: session.csrfToken,
        version,
        api_url: apiUrl,
        favicons: favicons !== undefined,
      }
      return json(answer)
    },
  })
}
