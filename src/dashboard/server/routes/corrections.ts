import {
  CorrectionsBody,
  CorrectionsQuery,
  CorrectionsStateQuery,
  UndoBody,
} from '../../../../schemas/dashboard/corrections.ts'
import { isAtLeast } from '../../../../schemas/dashboard/roles.ts'
import type { CompanyCorrections } from '../../../companies/corrections/corrections.ts'
import { type DashboardRoute, json, route } from '../route.ts'
import { authorOf } from '../sessions.ts'

export interface CorrectionDependencies {
  readonly corrections: CompanyCorrections
}

const PATH = '/api/tenants/:tenant/corrections'

/** Corrections of companies by people (src/companies/corrections/README.md). */
export function correctionRoutes({ corrections }: CorrectionDependencies): DashboardRoute[] {
  return [
    route({
      method: 'GET',
      path: PATH,
      query: CorrectionsQuery,
      async handle({ tenant, query: { company } }) {
        const [changes, hidings] = await Promise.all([
          corrections.history(tenant.id, company),
          corrections.hidings(tenant.id, company),
        ])
        return json({ changes, hidings })
      },
    }),
    route({
      method: 'GET',
      path: `${PATH}/state`,
      query: CorrectionsStateQuery,
      handle: async ({ tenant, query }) => json({ companies: await corrections.list(tenant.id, query.company) }),
    }),
    route({
      method: 'POST',
      path: PATH,
      body: CorrectionsBody,
      async handle({ tenant, session, body: { companies, change_id: changeId, ...wanted } }) {
        return json(await corrections.correct(tenant.id, { companies, wanted, by: authorOf(session), changeId }))
      },
    }),
    route({
      method: 'POST',
      path: `${PATH}/undo`,
      body: UndoBody,
      handle: async ({ tenant, session, body }) =>
        json(
          await corrections.undo(tenant.id, {
            changeId: body.change_id,
            by: authorOf(session),
            isAdmin: isAtLeast(session.role, 'admin'),
          }),
        ),
    }),
  ]
}
