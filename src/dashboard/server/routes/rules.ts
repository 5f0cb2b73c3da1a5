import { type RulesAnswer, RulesBody, type RulesBody as RulesChange } from '../../../../schemas/dashboard/rules.ts'
import { InputError } from '../../../run/errors.ts'
import type { TenantAdmin } from '../../../tenants/admin.ts'
import type { Tenant } from '../../../tenants/tenancy.ts'
import type { ClickHouseRuleTrials } from '../../queries/rule-trials.ts'
import { type DashboardRoute, json, route } from '../route.ts'

export interface RuleDependencies {
  readonly admin: Pick<TenantAdmin, 'changeRules' | 'setTenant'>
  /** The rule in canonical spelling, or why it is invalid. */
  readonly readRule: (kind: string, subject: string) => { readonly text: string } | string
  readonly trials: Pick<ClickHouseRuleTrials, 'run'>
}

/** `/api/tenants/:tenant/rules` (schemas/README.md, Rules of a tenant). */
export function ruleRoutes({ admin, readRule, trials }: RuleDependencies): DashboardRoute[] {
  const added = ({ add }: RulesChange): string[] => {
    if (add === undefined) return []
    const rule = readRule(add.kind, add.subject)
    if (typeof rule === 'string') throw new InputError(rule)
    return [rule.text]
  }
  return [
    route({ method: 'GET', path: '/api/tenants/:tenant/rules', handle: ({ tenant }) => json(rulesOf(tenant)) }),
    route({
      method: 'POST',
      path: '/api/tenants/:tenant/rules',
      body: RulesBody,
      async handle({ tenant, body }) {
        const { remove, unclassified } = body
        const add = added(body)
        let changed = tenant
        if (add.length > 0 || remove !== undefined) {
          changed = await admin.changeRules(tenant.id, { add, remove: remove === undefined ? [] : [remove] })
        }
        if (unclassified !== undefined) changed = await admin.setTenant(tenant.id, { unclassified })
        return json(rulesOf(changed))
      },
    }),
    route({
      method: 'POST',
      path: '/api/tenants/:tenant/rules/try',
      changes: false,
      body: RulesBody,
      async handle({ tenant, body }) {
        const { remove, unclassified } = body
        const { rules = [] } = tenant
        if (remove !== undefined && !rules.includes(remove)) {
          throw new InputError(`tenant ${tenant.id} has no rule "${remove}"`)
        }
        const then = {
          rules: [...rules.filter((rule) => rule !== remove), ...added(body)],
          unclassified: unclassified ?? tenant.unclassified,
        }
        return json(await trials.run(tenant, then))
      },
    }),
  ]
}

function rulesOf({ rules = [], unclassified = 'account' }: Tenant): RulesAnswer {
  return { rules: [...rules], unclassified }
}
