import type { HomeAnswer } from '../../../../schemas/dashboard/home.ts'
import type { ClickHouseCompanies } from '../../../companies/companies.ts'
import type { ClickHouseHome } from '../../../companies/home.ts'
import { type DashboardRoute, json, route } from '../route.ts'
import { type OverviewDependencies, planUsage } from './overview.ts'

export interface HomeDependencies extends OverviewDependencies {
  readonly companies: ClickHouseCompanies
  readonly home: ClickHouseHome
}

/** `GET /api/tenants/:tenant/home`: what this week brought. */
export function homeRoute(parts: HomeDependencies): DashboardRoute {
  return route({
    method: 'GET',
    path: '/api/tenants/:tenant/home',
    async handle({ tenant }) {
      const { companies, home, overview, usage, clock } = parts
      const [week, version, warning, used] = await Promise.all([
        home.week(tenant.id),
        companies.version(tenant.id),
        usage.warning(tenant.id),
        planUsage({ overview, usage, plans: parts.plans, clock }, tenant),
      ])
      const answer: HomeAnswer = {
        ...week,
        outcomes: [...(await overview.outcomes(tenant.id, week))],
        has_events: version !== '0',
        warning: warning === undefined ? null : { text: warning.text, network: warning.origin, share: warning.share },
        usage: used,
      }
      return json(answer)
    },
  })
}
