import {
  CloseStepsBody,
  ConnectBody,
  type FirstSteps,
  type SampleAnswer,
  SampleBody,
} from '../../../../schemas/dashboard/first-steps.ts'
import type { LiveEvent } from '../../../../schemas/live-event.ts'
import type { RedisAlerts } from '../../../alerts/redis/alert-store.ts'
import type { ClickHouseCompanies } from '../../../companies/companies.ts'
import { reservedRanges } from '../../../enrichment/addresses/reserved.ts'
import type { Exchange } from '../../../http/engine/exchange.ts'
import { parseAddress } from '../../../pipeline/event/address.ts'
import { BackpressureError, UnavailableError } from '../../../run/errors.ts'
import type { TenantAdmin } from '../../../tenants/admin.ts'
import { PAGE_KIND } from '../../../tenants/key.ts'
import { sourceReport } from '../../../tenants/sources/report.ts'
import { setupOf } from '../../../tenants/sources/setup.ts'
import type { Tenant } from '../../../tenants/tenancy.ts'
import { clientAddress, networkOf } from '../attempts.ts'
import type { PageViewWatch } from '../page-view-watch.ts'
import type { People } from '../people.ts'
import { type DashboardRoute, json, route } from '../route.ts'
import { makerOf, type Sessions } from '../sessions.ts'
import { baseOf, type SourceDependencies } from './sources.ts'

/** Made-up visits, in a tenant of their own that every workspace may show. */
export interface SampleVisits {
  /** Lets the people of a tenant see them. Makes them, or those of the days since. Resolves with the tenant that holds them. */
  show(tenantId: string): Promise<string>
  /** Takes them away. When no tenant shows them, they are removed. */
  hide(tenantId: string): Promise<string>
}

export interface FirstStepsDependencies
  extends Pick<SourceDependencies, 'sources' | 'counts' | 'clock' | 'publicApiUrl'> {
  readonly admin: Pick<TenantAdmin, 'listSources' | 'createSource' | 'setSource' | 'setTenant'>
  readonly alerts: Pick<RedisAlerts, 'list'>
  readonly people: Pick<People, 'list'>
  readonly sessions: Pick<Sessions, 'list'>
  readonly companies: Pick<ClickHouseCompanies, 'version'>
  readonly pageViews: Pick<PageViewWatch, 'last'>
  readonly sample: SampleVisits
}

const PATH = '/api/tenants/:tenant/first-steps'
const OWN = 'own '

/** The first steps of a workspace, and sample data. */
export function firstStepRoutes(parts: FirstStepsDependencies): DashboardRoute[] {
  const { admin, sample } = parts
  return [
    route({
      method: 'GET',
      path: PATH,
      access: 'admin',
      handle: async ({ tenant, exchange }) => json(await stepsOf(parts, tenant, exchange)),
    }),
    route({
      method: 'POST',
      path: `${PATH}/connect`,
      access: 'admin',
      body: ConnectBody,
      async handle({ tenant, exchange, session, body }) {
        const base = baseOf(body.base)
        const changed = await admin.setTenant(tenant.id, { api_url: base })
        const website = await websiteOf(parts, tenant)
        if (website === undefined) {
          const facts = { kind: PAGE_KIND, name: 'Website', address: 'auto', base } as const
          await admin.createSource(tenant.id, facts, { keys: 'browser', madeBy: makerOf(session) })
        } else await admin.setSource(website.prefix, { base }, tenant.id)
        return json(await stepsOf(parts, changed, exchange))
      },
    }),
    route({
      method: 'POST',
      path: `${PATH}/close`,
      access: 'admin',
      body: CloseStepsBody,
      async handle({ tenant, body }) {
        await admin.setTenant(tenant.id, { first_steps_closed: body.is_closed })
        return json({})
      },
    }),
    route({
      method: 'POST',
      path: '/api/tenants/:tenant/sample',
      access: 'admin',
      body: SampleBody,
      async handle({ tenant, body }) {
        const held = body.is_shown ? await sample.show(tenant.id) : await sample.hide(tenant.id)
        return json({ tenant: held } satisfies SampleAnswer)
      },
    }),
  ]
}

/** The newest active script tag. */
async function websiteOf({ admin }: Pick<FirstStepsDependencies, 'admin'>, { id }: Tenant) {
  const all = await admin.listSources(id)
  return all.findLast(({ source, revokedAt }) => source.kind === PAGE_KIND && revokedAt === undefined)
}

async function stepsOf(parts: FirstStepsDependencies, tenant: Tenant, exchange: Exchange): Promise<FirstSteps> {
  const { alerts, people, sessions, companies, pageViews, publicApiUrl } = parts
  const [website, ownAlerts, known, signIns, version] = await Promise.all([
    websiteOf(parts, tenant),
    alerts.list(tenant.id),
    people.list(tenant),
    sessions.list(tenant.id),
    companies.version(tenant.id).catch(unlessDown('0')),
  ])
  const seen = pageViews.last(tenant)
  return {
    is_closed: tenant.firstStepsClosed === true,
    api_url: tenant.apiUrl ?? publicApiUrl ?? null,
    website: website === undefined ? null : await websiteFacts(parts, tenant, website),
    has_events: version !== '0',
    seen: seen ?? null,
    own_address: ownAddress(seen, exchange),
    own_rules: (tenant.rules ?? []).filter((rule) => rule.startsWith(OWN)).map((rule) => rule.slice(OWN.length)),
    alerts: ownAlerts.length,
    people: known.length + signIns.filter(({ kind, grant }) => kind === 'link' && grant.personId === undefined).length,
  }
}

async function websiteFacts(
  { sources, counts, clock, publicApiUrl }: FirstStepsDependencies,
  { id, apiUrl }: Tenant,
  website: NonNullable<Awaited<ReturnType<typeof websiteOf>>>,
): Promise<FirstSteps['website']> {
  const tool = sources.find(({ name }) => name === PAGE_KIND)?.tool
  const base = website.source.base ?? apiUrl ?? publicApiUrl
  if (tool === undefined || base === undefined) return null
  const found = await counts.counts(id).catch(unlessDown(undefined))
  const { today, last_event, filtered_all } = sourceReport(website, tool, found, clock.now())
  return {
    setup: setupOf(tool, website, base),
    has_events: (today?.received ?? 0) > 0 || last_event !== null || website.lastUsed !== undefined,
    filtered_all,
  }
}

/** The steps do not need the tables. */
function unlessDown<T>(otherwise: T) {
  return (error: unknown): T => {
    if (error instanceof UnavailableError || error instanceof BackpressureError) return otherwise
    throw error
  }
}

/** The address of a visit of the caller to their own site is the better one: a page may be opened through a tunnel. */
function ownAddress(seen: LiveEvent | undefined, exchange: Exchange): string | null {
  const candidates = [
    parseAddress(seen?.ip ?? ''),
    clientAddress(exchange.peerAddress(), exchange.request.head.forwardedFor),
  ]
  const own = candidates.find((address) => address !== undefined && reservedRanges().find(address) === undefined)
  return own === undefined ? null : networkOf(own)
}
