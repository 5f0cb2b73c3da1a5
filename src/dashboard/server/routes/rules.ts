import {
  DeleteHiddenBody,
  type RulesAnswer,
  RulesBody,
  type RulesBody as RulesChange,
} from '../../../../schemas/dashboard/rules.ts'
import { isHiding } from '../../../../schemas/tenant-rules.ts'
import { HIDDEN_ONLY, reenrichmentOf } from '../../../operations/reenrich/jobs/job.ts'
import { InputError } from '../../../run/errors.ts'
import type { TenantAdmin } from '../../../tenants/admin.ts'
import type { Tenant } from '../../../tenants/tenancy.ts'
import type { ClickHouseRuleTrials } from '../../queries/rule-trials.ts'
import { type DashboardRoute, json, route } from '../route.ts'
import { authorOf } from '../sessions.ts'
import type { ReenrichmentDependencies } from './reenrichments.ts'

export interface RuleDependencies extends ReenrichmentDependencies {
  readonly admin: Pick<TenantAdmin, 'changeRules' | 'setTenant'>
  /** The rule in canonical spelling, or why it is invalid. */
  readonly readRule: (kind: string, subject: string) => { readonly text: string } | string
  readonly trials: Pick<ClickHouseRuleTrials, 'run' | 'hidden'>
}

/** Days of a trial that names none: since yesterday. */
const TRIED_DAYS = 2

/** `/api/tenants/:tenant/rules` (schemas/README.md, Rules of a tenant). */
export function ruleRoutes({ admin, readRule, trials, reenrichments, clock }: RuleDependencies): DashboardRoute[] {
  const added = ({ add = [] }: RulesChange): string[] =>
    [add].flat().map(({ kind, subject }) => {
      const rule = readRule(kind, subject)
      if (typeof rule === 'string') throw new InputError(rule)
      return rule.text
    })
  const rulesOf = async ({ id, rules = [], unclassified = 'account' }: Tenant, job: RulesAnswer['job'] = null) =>
    json({ rules: [...rules], unclassified, hidden: await trials.hidden(id), job } satisfies RulesAnswer)
  return [
    route({ method: 'GET', path: '/api/tenants/:tenant/rules', handle: ({ tenant }) => rulesOf(tenant) }),
    route({
      method: 'POST',
      path: '/api/tenants/:tenant/rules',
      body: RulesBody,
      async handle({ tenant, session, body }) {
        const { remove, unclassified, past } = body
        const add = added(body)
        if (past !== undefined) {
          if (Object.keys(body).length === 1) throw new InputError('past: needs a change of rules beside it')
          await reenrichments.assertSupported()
        }
        let changed = tenant
        if (add.length > 0 || remove !== undefined) {
          changed = await admin.changeRules(tenant.id, { add, remove: remove === undefined ? [] : [remove] })
        }
        if (unclassified !== undefined) changed = await admin.setTenant(tenant.id, { unclassified })
        const mayShow = (remove !== undefined && isHiding(remove)) || tenant.unclassified === 'filtered'
        if (past === undefined && !(mayShow && reenrichments.isSupported)) return await rulesOf(changed)
        // After a crash here the rule exists, and a person can apply it in the settings. Events that a removed rule hid are shown again anyway.
        const job = await reenrichments.request(tenant.id, {
          rules: remove === undefined ? add : [...add, remove],
          unclassified: unclassified !== undefined,
          days: past === undefined ? HIDDEN_ONLY : past.days,
          requestedBy: authorOf(session),
          requestedAtMs: clock.now(),
        })
        return await rulesOf(changed, reenrichmentOf(job, clock.now()))
      },
    }),
    route({
      method: 'POST',
      path: '/api/tenants/:tenant/rules/delete-hidden',
      access: 'admin',
      body: DeleteHiddenBody,
      async handle({ tenant, session, body: { rule } }) {
        if (!tenant.rules?.includes(rule)) throw new InputError(`tenant ${tenant.id} has no rule "${rule}"`)
        await reenrichments.assertSupported()
        const job = await reenrichments.request(tenant.id, {
          ...{ rules: [rule], deletes: [rule], unclassified: false, days: HIDDEN_ONLY },
          ...{ requestedBy: authorOf(session), requestedAtMs: clock.now() },
        })
        return json(reenrichmentOf(job, clock.now()))
      },
    }),
    route({
      method: 'POST',
      path: '/api/tenants/:tenant/rules/try',
      changes: false,
      body: RulesBody,
      async handle({ tenant, body }) {
        const { remove, unclassified, past = { days: TRIED_DAYS } } = body
        const { rules = [] } = tenant
        if (remove !== undefined && !rules.includes(remove)) {
          throw new InputError(`tenant ${tenant.id} has no rule "${remove}"`)
        }
        const add = added(body)
        const before = { rules: rules.filter((rule) => !add.includes(rule)), unclassified: tenant.unclassified }
        const after = {
          rules: [...before.rules.filter((rule) => rule !== remove), ...add],
          unclassified: unclassified ?? tenant.unclassified,
        }
        const changed = remove === undefined ? add : [...add, remove]
        return json(await trials.run(tenant, { before, after, changed, days: past.days }))
      },
    }),
  ]
}
