import type { DashboardRoute } from './route.ts'
import { type CompanyParts, companyRoutes } from './routes/companies.ts'
import { type DeadLetterParts, deadLetterRoutes } from './routes/dead-letters.ts'
import { type LiveParts, liveRoute } from './routes/live.ts'
import { type OverviewParts, overviewRoute } from './routes/overview.ts'
import { type SessionParts, sessionRoute } from './routes/session.ts'
import { type SettingsParts, settingsRoutes } from './routes/settings.ts'
import { type SystemParts, systemRoutes } from './routes/system.ts'
import { type UploadParts, uploadRoutes } from './routes/uploads.ts'

/** What the calls are made of. */
interface DashboardParts extends SessionParts, CompanyParts, OverviewParts, LiveParts, SystemParts, DeadLetterParts {
  readonly settings: SettingsParts
  readonly uploads: UploadParts
}

/** Every call of the dashboard. A new one is a file in `routes/` and a line here. */
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
