import type { DashboardRoute } from '../route.ts'
import { type KeyParts, keyRoutes } from './keys.ts'
import { type LookupParts, lookupRoute } from './lookup.ts'
import { type PlanParts, planRoutes } from './plan.ts'
import { type RuleParts, ruleRoutes } from './rules.ts'
import { type TenantParts, tenantRoutes } from './tenants.ts'

/** What the calls of Settings, Tenants and Lookup are made of. */
export type SettingsParts = KeyParts & PlanParts & RuleParts & TenantParts & LookupParts

export function settingsRoutes(parts: SettingsParts): DashboardRoute[] {
  return [...keyRoutes(parts), ...planRoutes(parts), ...ruleRoutes(parts), ...tenantRoutes(parts), lookupRoute(parts)]
}
