import {
  type IntentPageMatchesAnswer,
  type IntentPagesAnswer,
  IntentPagesWanted,
} from '../../../../schemas/dashboard/intent-pages.ts'
import type { CompanyCorrections } from '../../../companies/corrections/corrections.ts'
import type { ClickHouseIntentPages } from '../../../companies/intent-pages.ts'
import { type DashboardRoute, json, route } from '../route.ts'
import { authorOf } from '../sessions.ts'

export interface IntentPageDependencies {
  readonly corrections: CompanyCorrections
  readonly intentPages: ClickHouseIntentPages
}

const PATH = '/api/tenants/:tenant/intent-pages'

/** The pages that show an intent to buy, which heat looks for. */
export function intentPageRoutes({ corrections, intentPages }: IntentPageDependencies): DashboardRoute[] {
  return [
    route({
      method: 'GET',
      path: PATH,
      async handle({ tenant: { id } }) {
        const [found, changes] = await Promise.all([
          corrections.intentPages(id),
          corrections.settingHistory(id, 'intent_pages'),
        ])
        const answer: IntentPagesAnswer = { ...found, changes }
        return json(answer)
      },
    }),
    route({
      method: 'GET',
      path: `${PATH}/matches`,
      endsWithCaller: true,
      async handle({ tenant: { id } }) {
        const { pages } = await corrections.intentPages(id)
        const answer: IntentPageMatchesAnswer = { matches: await intentPages.matches(id, pages) }
        return json(answer)
      },
    }),
    route({
      method: 'POST',
      path: PATH,
      body: IntentPagesWanted,
      handle: async ({ tenant, session, body }) =>
        json(await corrections.setIntentPages(tenant.id, { wanted: body, by: authorOf(session) })),
    }),
  ]
}
