import { type FitAnswer, FitProfile } from '../../../../schemas/dashboard/fit.ts'
import { type DashboardRoute, json, route } from '../route.ts'
import { authorOf } from '../sessions.ts'
import type { HeatDependencies } from './heat.ts'

const PATH = '/api/tenants/:tenant/fit'

/** What a tenant says about good companies. */
export function fitRoutes({ companies, corrections }: HeatDependencies): DashboardRoute[] {
  return [
    route({
      method: 'GET',
      path: PATH,
      async handle({ tenant: { id } }) {
        const [lines, changes] = await Promise.all([corrections.fit(id), corrections.settingHistory(id, 'fit')])
        const answer: FitAnswer = { lines, changes }
        return json(answer)
      },
    }),
    route({
      method: 'POST',
      path: `${PATH}/preview`,
      access: 'admin',
      changes: false,
      endsWithCaller: true,
      body: FitProfile,
      handle: async ({ tenant, body: { lines } }) => json(await companies.fitPreview(tenant.id, lines)),
    }),
    route({
      method: 'POST',
      path: PATH,
      access: 'admin',
      body: FitProfile,
      handle: async ({ tenant, session, body: { lines } }) =>
        json(await corrections.setFit(tenant.id, { lines, by: authorOf(session) })),
    }),
  ]
}
