import type { AccountsOfMonthAnswer, PlanAnswer } from '../../../../schemas/dashboard/plan.ts'
import { type Plans, planOf } from '../../../../schemas/plans.ts'
import type { Clock } from '../../../run/clock.ts'
import type { SharedDailyQuota } from '../../../tenants/quota.ts'
import type { ClickHouseOverview } from '../../queries/overview.ts'
import { type DashboardRoute, json, route } from '../route.ts'

export interface PlanDependencies {
  readonly plans: Plans
  readonly lookupCounts: Pick<SharedDailyQuota, 'used'>
  readonly overview: Pick<ClickHouseOverview, 'tracked'>
  readonly clock: Clock
}

const DAY_MS = 86_400_000

/** `/api/tenants/:tenant/plan` and `/accounts-of-month`: limits of a tenant and their use. */
export function planRoutes({ plans, lookupCounts, overview, clock }: PlanDependencies): DashboardRoute[] {
  return [
    route({
      method: 'GET',
      path: '/api/tenants/:tenant/plan',
      async handle({ tenant }) {
        const answer: PlanAnswer = {
          plan: tenant.plan,
          exists: plans.has(tenant.plan),
          limits: planOf(plans, tenant),
          lookups_today: await lookupCounts.used(tenant.id),
          resets_at: new Date((Math.floor(clock.now() / DAY_MS) + 1) * DAY_MS).toISOString(),
        }
        return json(answer)
      },
    }),
    route({
      method: 'GET',
      path: '/api/tenants/:tenant/accounts-of-month',
      async handle({ tenant }) {
        const month = new Date(clock.now()).toISOString().slice(0, 7)
        const counts = await overview.tracked(tenant.id, month, planOf(plans, tenant).monthly_accounts)
        const answer: AccountsOfMonthAnswer = { month, ...counts }
        return json(answer)
      },
    }),
  ]
}
