import type { AccountsOfMonthAnswer, PlanAnswer } from '../../../../schemas/dashboard/plan.ts'
import { type Plans, planOf } from '../../../../schemas/plans.ts'
import type { Clock } from '../../../run/clock.ts'
import type { SharedLimit } from '../../../tenants/limits/limits.ts'
import type { ClickHouseOverview } from '../../queries/overview.ts'
import { type DashboardRoute, json, route } from '../route.ts'

export interface PlanDependencies {
  readonly plans: Plans
  readonly lookupCounts: Pick<SharedLimit, 'read'>
  readonly overview: Pick<ClickHouseOverview, 'tracked'>
  readonly clock: Clock
}

/** `/api/tenants/:tenant/plan` and `/accounts-of-month`: limits of a tenant and their use. */
export function planRoutes({ plans, lookupCounts, overview, clock }: PlanDependencies): DashboardRoute[] {
  return [
    route({
      method: 'GET',
      path: '/api/tenants/:tenant/plan',
      async handle({ tenant }) {
        const limits = planOf(plans, tenant)
        const { used, resetAt } = await lookupCounts.read({ tenant, plan: limits })
        const answer: PlanAnswer = {
          plan: tenant.plan,
          exists: plans.has(tenant.plan),
          limits,
          lookups_today: used,
          resets_at: new Date(resetAt).toISOString(),
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
