import { AccuracyQuery } from '../../../../schemas/dashboard/accuracy.ts'
import type { ClickHouseAccuracy } from '../../queries/accuracy.ts'
import { type DashboardRoute, json, route } from '../route.ts'

export interface AccuracyDependencies {
  readonly accuracy: Pick<ClickHouseAccuracy, 'named' | 'corrections' | 'quality' | 'proposals'>
}

const DAYS = 30
const PROPOSAL_DAYS = 90

/** `/api/tenants/:tenant/accuracy` (src/operations/accuracy/README.md). A proposal is accepted as a rule. */
export function accuracyRoutes({ accuracy }: AccuracyDependencies): DashboardRoute[] {
  return [
    route({
      method: 'GET',
      path: '/api/tenants/:tenant/accuracy',
      endsWithCaller: true,
      query: AccuracyQuery,
      handle: async ({ tenant, query }) => json(await accuracy.quality(tenant, query.days ?? DAYS)),
    }),
    route({
      method: 'GET',
      path: '/api/tenants/:tenant/accuracy/named',
      endsWithCaller: true,
      query: AccuracyQuery,
      handle: async ({ tenant, query }) => json(await accuracy.named(tenant.id, query.days ?? DAYS)),
    }),
    route({
      method: 'GET',
      path: '/api/tenants/:tenant/accuracy/corrections',
      endsWithCaller: true,
      query: AccuracyQuery,
      handle: async ({ tenant, query }) => json(await accuracy.corrections(tenant, query.days ?? DAYS)),
    }),
    route({
      method: 'GET',
      path: '/api/tenants/:tenant/accuracy/proposals',
      endsWithCaller: true,
      query: AccuracyQuery,
      handle: async ({ tenant, query }) => json(await accuracy.proposals(tenant, query.days ?? PROPOSAL_DAYS)),
    }),
  ]
}
