import { COMPANY_LIMITS } from '../../../../schemas/companies.ts'
import { ActivityEventsQuery, ActivityQuery } from '../../../../schemas/dashboard/activity.ts'
import type { ClickHouseActivity } from '../../../companies/activity.ts'
import { type DashboardRoute, json, route } from '../route.ts'

export interface ActivityDependencies {
  readonly activity: ClickHouseActivity
}

const PATH = '/api/tenants/:tenant/companies/of/:company'

/** The sessions and events of a company. */
export function activityRoutes({ activity }: ActivityDependencies): DashboardRoute[] {
  return [
    route({
      method: 'GET',
      path: `${PATH}/activity/events`,
      endsWithCaller: true,
      query: ActivityEventsQuery,
      handle: async ({ tenant, parameters, query }) =>
        json(await activity.events(tenant.id, parameters.company!, query.before)),
    }),
    route({
      method: 'GET',
      path: `${PATH}/activity`,
      endsWithCaller: true,
      query: ActivityQuery,
      handle: async ({ tenant, parameters, query }) =>
        json(await activity.activity(tenant.id, parameters.company!, query.days ?? COMPANY_LIMITS.companyDays)),
    }),
  ]
}
