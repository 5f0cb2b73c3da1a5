import { HOME, type HomeAnswer } from '../../../../schemas/dashboard/home.ts'
import { type ClickHouseHome, weekOf } from '../../../companies/home.ts'
import { companiesToLookAt } from '../../../companies/to-look-at.ts'
import { type DashboardRoute, json, route } from '../route.ts'
import type { AccuracyDependencies } from './accuracy.ts'
import { type OverviewDependencies, planUsage, trafficWarning } from './overview.ts'

export interface HomeDependencies extends OverviewDependencies, AccuracyDependencies {
  readonly home: ClickHouseHome
}

/** `GET /api/tenants/:tenant/home`: the summary of this week. */
export function homeRoute(parts: HomeDependencies): DashboardRoute {
  return route({
    method: 'GET',
    path: '/api/tenants/:tenant/home',
    endsWithCaller: true,
    async handle({ tenant }) {
      const { accuracy, companies, home, overview, senders, clock } = parts
      const nowMs = clock.now()
      const [{ zone: _, ...week }, outcomes, { now, before }, version, warning, used] = await Promise.all([
        home.week(tenant.id, nowMs),
        overview.outcomes(tenant.id, weekOf(nowMs)),
        accuracy.named(tenant.id, HOME.weekDays),
        companies.version(tenant.id),
        trafficWarning(senders, tenant),
        planUsage(parts, tenant),
      ])
      const answer: HomeAnswer = {
        ...week,
        to_look_at: companiesToLookAt(week).map(({ company, why }) => ({ company_id: company.company_id, why })),
        outcomes: [...outcomes],
        named: { now, before },
        has_events: version !== '0',
        warning,
        usage: used,
      }
      return json(answer)
    },
  })
}
