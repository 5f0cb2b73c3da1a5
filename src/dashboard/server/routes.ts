import type { DashboardRoute } from './route.ts'
import { type AccuracyDependencies, accuracyRoutes } from './routes/accuracy.ts'
import { type ActivityDependencies, activityRoutes } from './routes/activity.ts'
import { type AlertDependencies, alertRoutes } from './routes/alerts.ts'
import { type CompanyDependencies, companyRoutes } from './routes/companies.ts'
import { type CorrectionDependencies, correctionRoutes } from './routes/corrections.ts'
import { type CrmDependencies, crmRoutes } from './routes/crm.ts'
import { type DeadLetterDependencies, deadLetterRoutes } from './routes/dead-letters.ts'
import { type DigestDependencies, digestRoutes } from './routes/digests.ts'
import { type ExportDependencies, exportRoutes } from './routes/exports.ts'
import { type FaviconDependencies, faviconRoutes } from './routes/favicons.ts'
import { type FirstStepsDependencies, firstStepRoutes } from './routes/first-steps.ts'
import { fitRoutes } from './routes/fit.ts'
import { type HeatDependencies, heatRoutes } from './routes/heat.ts'
import { type HomeDependencies, homeRoute } from './routes/home.ts'
import { type ImportDependencies, importRoutes } from './routes/imports.ts'
import { type IntentPageDependencies, intentPageRoutes } from './routes/intent-pages.ts'
import { type KeyDependencies, keyRoutes } from './routes/keys.ts'
import { type LiveDependencies, liveRoute } from './routes/live.ts'
import { type LookupDependencies, lookupRoute } from './routes/lookup.ts'
import { type OverviewDependencies, overviewRoute } from './routes/overview.ts'
import { type PageDependencies, pageRoutes } from './routes/pages.ts'
import { type PeopleDependencies, peopleRoutes } from './routes/people.ts'
import { type PlanDependencies, planRoutes } from './routes/plan.ts'
import { reenrichmentRoutes } from './routes/reenrichments.ts'
import { type RuleDependencies, ruleRoutes } from './routes/rules.ts'
import { type SegmentDependencies, segmentRoutes } from './routes/segments.ts'
import { type SessionDependencies, sessionRoute } from './routes/session.ts'
import { type SharedLinkDependencies, sharedLinkRoutes } from './routes/shared-links.ts'
import { type SourceDependencies, sourceRoutes } from './routes/sources.ts'
import { type SystemDependencies, systemRoutes } from './routes/system.ts'
import { type TenantDependencies, tenantRoutes } from './routes/tenants.ts'
import { type UploadDependencies, uploadRoutes } from './routes/uploads.ts'

/** Dependencies of the calls of Sources, Settings, Tenants and Lookup. */
export type SettingsDependencies = KeyDependencies &
  SourceDependencies &
  PlanDependencies &
  RuleDependencies &
  PeopleDependencies &
  TenantDependencies &
  LookupDependencies

interface DashboardDependencies
  extends SessionDependencies,
    CompanyDependencies,
    FaviconDependencies,
    CorrectionDependencies,
    ImportDependencies,
    HeatDependencies,
    IntentPageDependencies,
    SegmentDependencies,
    AlertDependencies,
    DigestDependencies,
    ExportDependencies,
    CrmDependencies,
    SharedLinkDependencies,
    AccuracyDependencies,
    OverviewDependencies,
    HomeDependencies,
    PageDependencies,
    ActivityDependencies,
    LiveDependencies,
    SystemDependencies,
    DeadLetterDependencies {
  readonly settings: SettingsDependencies
  readonly firstSteps: FirstStepsDependencies
  readonly uploads: UploadDependencies
}

/** All calls of the dashboard. To add one, write a file in `routes/` and add a line here. */
export function dashboardRoutes(parts: DashboardDependencies): DashboardRoute[] {
  return [
    sessionRoute(parts),
    homeRoute(parts),
    ...firstStepRoutes(parts.firstSteps),
    overviewRoute(parts),
    ...pageRoutes(parts),
    ...activityRoutes(parts),
    ...companyRoutes(parts),
    ...faviconRoutes(parts),
    ...correctionRoutes(parts),
    ...importRoutes(parts),
    ...fitRoutes(parts),
    ...heatRoutes(parts),
    ...intentPageRoutes(parts),
    ...segmentRoutes(parts),
    ...alertRoutes(parts),
    ...digestRoutes(parts),
    ...exportRoutes(parts),
    ...crmRoutes(parts),
    ...sharedLinkRoutes(parts),
    ...accuracyRoutes(parts),
    liveRoute(parts),
    ...uploadRoutes(parts.uploads),
    ...settingsRoutes(parts.settings),
    ...systemRoutes(parts),
    ...deadLetterRoutes(parts),
  ]
}

export function settingsRoutes(parts: SettingsDependencies): DashboardRoute[] {
  return [
    ...sourceRoutes(parts),
    ...keyRoutes(parts),
    ...planRoutes(parts),
    ...ruleRoutes(parts),
    ...reenrichmentRoutes(parts),
    ...peopleRoutes(parts),
    ...tenantRoutes(parts),
    lookupRoute(parts),
  ]
}
