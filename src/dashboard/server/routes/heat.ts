import { LRUCache } from 'lru-cache'
import type { HeatLevels } from '../../../../schemas/companies.ts'
import { HeatWeights, type HeatWeightsAnswer } from '../../../../schemas/dashboard/heat.ts'
import type { ClickHouseCompanies } from '../../../companies/companies.ts'
import type { CompanyCorrections } from '../../../companies/corrections/corrections.ts'
import { formatHeatWeights } from '../../../companies/heat.ts'
import { type DashboardRoute, json, route } from '../route.ts'
import { authorOf } from '../sessions.ts'

export interface HeatDependencies {
  readonly companies: ClickHouseCompanies
  readonly corrections: CompanyCorrections
}

const PATH = '/api/tenants/:tenant/heat-weights'
/** The heat of all companies takes as long as a list by heat, and its spread moves slowly. */
const LEVELS_TTL_MS = 300_000
const LEVELS_MAX = 1_000

/** How heat is spread, and what it weighs. */
export function heatRoutes({ companies, corrections }: HeatDependencies): DashboardRoute[] {
  const levels = new LRUCache<string, HeatLevels>({ max: LEVELS_MAX, ttl: LEVELS_TTL_MS })
  return [
    route({
      method: 'GET',
      path: '/api/tenants/:tenant/heat-levels',
      endsWithCaller: true,
      async handle({ tenant: { id } }) {
        // In the key, because another process or the command line may have changed them.
        const [weights, { pages }] = await Promise.all([corrections.heatWeights(id), corrections.intentPages(id)])
        const key = [id, formatHeatWeights(weights), ...pages].join('\n')
        const known = levels.get(key)
        if (known !== undefined) return json(known)
        const found = await companies.heatLevels(id, weights)
        if (found.median !== null) levels.set(key, found)
        return json(found)
      },
    }),
    route({
      method: 'GET',
      path: PATH,
      async handle({ tenant: { id } }) {
        const [weights, changes] = await Promise.all([
          corrections.heatWeights(id),
          corrections.settingHistory(id, 'heat_weights'),
        ])
        const answer: HeatWeightsAnswer = { weights, changes }
        return json(answer)
      },
    }),
    route({
      method: 'POST',
      path: `${PATH}/preview`,
      access: 'admin',
      changes: false,
      endsWithCaller: true,
      body: HeatWeights,
      handle: async ({ tenant, body }) => json(await companies.heatPreview(tenant.id, body)),
    }),
    route({
      method: 'POST',
      path: PATH,
      access: 'admin',
      body: HeatWeights,
      handle: async ({ tenant, session, body }) =>
        json(await corrections.setHeatWeights(tenant.id, { weights: body, by: authorOf(session) })),
    }),
  ]
}
