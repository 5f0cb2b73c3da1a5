import {
  type OverviewAnswer,
  OverviewQuery,
  type PlanUsage,
  type TrafficWarning,
} from '../../../../schemas/dashboard/overview.ts'
import { type Plans, planOf } from '../../../../schemas/plans.ts'
import type { ClickHouseCompanies } from '../../../companies/companies.ts'
import { utcDay } from '../../../pipeline/event/outcomes.ts'
import type { Clock } from '../../../run/clock.ts'
import { UTC } from '../../../run/time-zone.ts'
import type { SharedLimit } from '../../../tenants/limits/limits.ts'
import { warningOf } from '../../../tenants/sources/proxied-senders.ts'
import type { Tenant } from '../../../tenants/tenancy.ts'
import type { ClickHouseOverview, Days } from '../../queries/overview.ts'
import type { ClickHouseSources } from '../../queries/sources.ts'
import { type DashboardRoute, json, route } from '../route.ts'

export interface OverviewDependencies {
  readonly companies: ClickHouseCompanies
  readonly overview: ClickHouseOverview
  readonly senders: Pick<ClickHouseSources, 'proxied'>
  readonly limits: Readonly<Record<'lookups' | 'requests', Pick<SharedLimit, 'read'>>>
  readonly plans: Plans
  readonly clock: Clock
}

const DAY_MS = 86_400_000
const DAYS = 30
const TOP = 10

/**
 * `GET /api/tenants/:tenant/overview`: received events, their outcomes, and the use of the plan. By UTC day in every zone: events that are not
 * kept are counted by UTC day only.
 */
export function overviewRoute(parts: OverviewDependencies): DashboardRoute {
  return route({
    method: 'GET',
    path: '/api/tenants/:tenant/overview',
    endsWithCaller: true,
    query: OverviewQuery,
    async handle({ tenant, query }) {
      const { overview, companies, senders, clock } = parts
      const nowMs = clock.now()
      const days: Days = { from: utcDay(nowMs - ((query.days ?? DAYS) - 1) * DAY_MS), to: utcDay(nowMs) }
      const [outcomes, byEvent, top, warning, used] = await Promise.all([
        overview.outcomes(tenant.id, days),
        overview.eventDays(tenant.id, days),
        companies.page(tenant.id, { ...days, sort: 'events', direction: 'desc', limit: TOP }, UTC),
        trafficWarning(senders, tenant),
        planUsage(parts, tenant),
      ])
      const answer: OverviewAnswer = {
        ...days,
        outcomes: [...outcomes],
        event_days: [...byEvent.days],
        companies_seen: byEvent.companies,
        companies_new: byEvent.newCompanies,
        top: top.rows,
        warning,
        usage: used,
      }
      return json(answer)
    },
  })
}

/** The warning that nearly all events of a sender come from infrastructure; null when they do not. */
export async function trafficWarning(
  senders: OverviewDependencies['senders'],
  tenant: Tenant,
): Promise<TrafficWarning> {
  return warningOf(await senders.proxied(tenant.id)) ?? null
}

/** Use of the plan of a tenant, now. */
export async function planUsage(
  { overview, limits, plans, clock }: Omit<OverviewDependencies, 'companies' | 'senders'>,
  tenant: Tenant,
): Promise<PlanUsage> {
  const plan = planOf(plans, tenant)
  const month = utcDay(clock.now()).slice(0, 7)
  const [lookups, requests, tracked] = await Promise.all([
    limits.lookups.read({ tenant, plan }),
    limits.requests.read({ tenant, plan }),
    overview.tracked(tenant.id, month, plan.monthly_accounts),
  ])
  return {
    plan: tenant.plan,
    lookups: { used: lookups.used, limit: lookups.limit, resets_at: new Date(lookups.resetAt).toISOString() },
    accounts: {
      used: tracked.tracked_accounts,
      limit: plan.monthly_accounts,
      month,
      passed_at: tracked.passed_at,
    },
    rate: { per_second: plan.rate, burst: requests.limit, left: requests.left },
  }
}
