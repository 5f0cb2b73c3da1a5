import { COMPANY_LIMITS } from '../../../../schemas/companies.ts'
import { ActivityQuery, VisitsQuery } from '../../../../schemas/dashboard/visits.ts'
import type { ClickHouseVisits } from '../../../companies/visits.ts'
import { type DashboardRoute, json, route } from '../route.ts'

export interface VisitDependencies {
  readonly visits: ClickHouseVisits
}

const PATH = '/api/tenants/:tenant/companies/of/:company'

/** What a company did. */
export function visitRoutes({ visits }: VisitDependencies): DashboardRoute[] {
  return [
    route({
      method: 'GET',
      path: `${PATH}/visits`,
      endsWithCaller: true,
      query: VisitsQuery,
      handle: async ({ tenant, parameters, query }) =>
        json(await visits.events(tenant.id, parameters.company!, query.before)),
    }),
    route({
      method: 'GET',
      path: `${PATH}/activity`,
      endsWithCaller: true,
      query: ActivityQuery,
      handle: async ({ tenant, parameters, query }) =>
        json(await visits.activity(tenant.id, parameters.company!, query.days ?? COMPANY_LIMITS.companyDays)),
    }),
  ]
}
