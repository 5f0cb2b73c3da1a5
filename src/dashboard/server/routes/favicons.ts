import type { ClickHouseCompanies } from '../../../companies/companies.ts'
import { HttpError } from '../../../http/engine/http-error.ts'
import type { Favicons } from '../../favicons/favicons.ts'
import { type DashboardRoute, route } from '../route.ts'

export interface FaviconDependencies {
  readonly companies: ClickHouseCompanies
  /** Undefined: DASHBOARD_FAVICONS is off, and there is no call. */
  readonly favicons?: Favicons | undefined
}

/** Browsers ask again after these seconds. */
const ICON_SECONDS = 86_400
const NO_ICON_SECONDS = 3_600

/**
 * `GET /api/tenants/:tenant/companies/of/:company/icon`: the favicon of a company, or 204. The caller names a company and not a domain, so it
 * cannot make this server contact a site of its choice.
 */
export function faviconRoutes({ companies, favicons }: FaviconDependencies): DashboardRoute[] {
  if (favicons === undefined) return []
  return [
    route({
      method: 'GET',
      path: '/api/tenants/:tenant/companies/of/:company/icon',
      // A foreign file: opened as a page, it may do nothing.
      contentSecurityPolicy: "default-src 'none'; sandbox; frame-ancestors 'none'",
      async handle({ tenant, parameters }) {
        // Companies of made-up visits are not looked up.
        if (tenant.sampleUntil !== undefined) return none()
        const domain = await companies.domain(tenant.id, parameters.company!)
        if (domain === undefined) throw new HttpError('unknown_company', 'there is no such company')
        const icon = await favicons.of(tenant.id, domain)
        if (icon === undefined) return none()
        return { status: 200, body: icon.bytes, type: icon.type, headers: kept(ICON_SECONDS) }
      },
    }),
  ]
}

function none() {
  return { status: 204, body: '', headers: kept(NO_ICON_SECONDS) }
}

function kept(seconds: number): Readonly<Record<string, string>> {
  return { 'cache-control': `private, max-age=${seconds}` }
}
