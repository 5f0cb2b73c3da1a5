import { type ChannelsAnswer, ChannelsQuery } from '../../../../schemas/dashboard/channels.ts'
import {
  PAGE_LIMITS,
  type PageCompaniesAnswer,
  PageCompaniesQuery,
  type PagesAnswer,
  PagesQuery,
} from '../../../../schemas/dashboard/pages.ts'
import { assertFilter } from '../../../companies/filter.ts'
import type { ClickHousePages } from '../../../companies/pages.ts'
import type { ClickHouseChannels } from '../../../companies/touches.ts'
import { utcDay } from '../../../pipeline/event/outcomes.ts'
import { InputError } from '../../../run/errors.ts'
import { type DashboardRoute, json, route } from '../route.ts'

export interface PageDependencies {
  readonly pages: ClickHousePages
  readonly channels: ClickHouseChannels
}

const DAY_MS = 86_400_000
const PATH = '/api/tenants/:tenant/pages'

/** The pages that companies read, and where companies came from. */
export function pageRoutes({ pages, channels }: PageDependencies): DashboardRoute[] {
  return [
    route({
      method: 'GET',
      path: PATH,
      endsWithCaller: true,
      query: PagesQuery,
      async handle({ tenant, query }) {
        const { rows, total } = await pages.pages(tenant.id, query, daysOf(query))
        const answer: PagesAnswer = { rows: [...rows], total }
        return json(answer)
      },
    }),
    route({
      method: 'GET',
      path: `${PATH}/companies`,
      endsWithCaller: true,
      query: PageCompaniesQuery,
      async handle({ tenant, query: { from, to, host = '', path, ...part } }) {
        daysOf({ from, to })
        const { rows, total } = await pages.companies(tenant.id, { from, to }, { host, path }, part)
        const answer: PageCompaniesAnswer = { rows: [...rows], total }
        return json(answer)
      },
    }),
    route({
      method: 'GET',
      path: '/api/tenants/:tenant/channels',
      endsWithCaller: true,
      query: ChannelsQuery,
      async handle({ tenant, query }) {
        daysOf(query)
        const answer: ChannelsAnswer = await channels.channels(tenant.id, query)
        return json(answer)
      },
    }),
  ]
}

/** All days of a view. @throws InputError when a date does not exist, or there are too many days */
function daysOf({ from, to }: { readonly from: string; readonly to: string }): string[] {
  assertFilter({ from, to })
  const [first, last] = [Date.parse(from), Date.parse(to)]
  const count = (last - first) / DAY_MS + 1
  if (count > PAGE_LIMITS.daysMax) throw new InputError(`from: choose at most ${PAGE_LIMITS.daysMax} days`)
  return Array.from({ length: count }, (_, i) => utcDay(first + i * DAY_MS))
}
