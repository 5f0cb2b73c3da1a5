import type { DashboardRoute } from './route.ts'
import { type SessionParts, sessionRoute } from './routes/session.ts'
import { type UploadParts, uploadRoutes } from './routes/uploads.ts'

/** What the calls are made of. */
export interface DashboardParts extends SessionParts {
  readonly uploads: UploadParts
}

/** Every call of the dashboard. A new one is a file in `routes/` and a line here. */
export function dashboardRoutes(parts: DashboardParts): DashboardRoute[] {
  return [sessionRoute(parts), ...uploadRoutes(parts.uploads)]
}
