import type { DashboardRoute } from './route.ts'
import { type CompanyParts, companyRoutes } from './routes/companies.ts'
import { type DeadLetterParts, deadLetterRoutes } from './routes/dead-letters.ts'
import { type KeyParts, keyRoutes } from './routes/keys.ts'
import { type LiveParts, liveRoute } from './routes/live.ts'
import { type LookupParts, lookupRoute } from './routes/lookup.ts'
import { type OverviewParts, overviewRoute } from './routes/overview.ts'
import { type PlanParts, planRoutes } from './routes/plan.ts'
import { type RuleParts, ruleRoutes } from './routes/rules.ts'
import { type SessionParts, sessionRoute } from './routes/session.ts'
import { type SystemParts, systemRoutes } from './routes/system.ts'
import { type TenantParts, tenantRoutes } from './routes/tenants.ts'
import { type UploadParts, uploadRoutes } from './routes/uploads.ts'

/** Dependencies of the calls of Settings, Tenants and Lookup. */
export type SettingsParts = KeyParts & PlanParts & RuleParts & TenantParts & LookupParts

interface DashboardParts extends SessionParts, CompanyParts, OverviewParts, LiveParts, SystemParts, DeadLetterParts {
  readonly settings: SettingsParts
  readonly uploads: UploadParts
}

/** All calls of the dashboard. To add one, write a file in `routes/` and add a line here. */
export function dashboardRoutes(parts: DashboardParts): DashboardRoute[] {
  return [
    sessionRoute(parts),
    overviewRoute(parts),
    ...companyRoutes(parts),
    liveRoute(parts),
    ...uploadRoutes(parts.uploads),
    ...settingsRoutes(parts.settings),
    ...systemRoutes(parts),
    ...deadLetterRoutes(parts),
  ]
}

export function settingsRoutes(parts: SettingsParts): DashboardRoute[] {
  return [...keyRoutes(parts), ...planRoutes(parts), ...ruleRoutes(parts), ...tenantRoutes(parts), lookupRoute(parts)]
}
