import type { HomeAnswer } from '../../../../schemas/dashboard/home.ts'
import type { ClickHouseHome } from '../../../companies/home.ts'
import { type DashboardRoute, json, route } from '../route.ts'
import { type OverviewDependencies, planUsage, trafficWarning } from './overview.ts'

export interface HomeDependencies extends OverviewDependencies {
  readonly home: ClickHouseHome
}

/** `GET /api/tenants/:tenant/home`: what this week brought. */
export function homeRoute(parts: HomeDependencies): DashboardRoute {
  return route({
    method: 'GET',
    path: '/api/tenants/:tenant/home',
    endsWithCaller: true,
    async handle({ tenant }) {
      const { companies, home, overview, usage } = parts
      const [week, version, warning, used] = await Promise.all([
        home.week(tenant.id),
        companies.version(tenant.id),
        trafficWarning(usage, tenant),
        planUsage(parts, tenant),
      ])
      const answer: HomeAnswer = {
        ...week,
        outcomes: [...(await overview.outcomes(tenant.id, week))],
        has_events: version !== '0',
        warning,
        usage: used,
      }
      return json(answer)
    },
  })
}
