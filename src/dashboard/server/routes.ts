import type { DashboardRoute } from './route.ts'
import { type DeadLetterParts, deadLetterRoutes } from './routes/dead-letters.ts'
import { type LiveParts, liveRoute } from './routes/live.ts'
import { type SessionParts, sessionRoute } from './routes/session.ts'
import { type SystemParts, systemRoute } from './routes/system.ts'

/** What the calls are made of. */
export interface DashboardParts extends SessionParts, LiveParts, SystemParts, DeadLetterParts {}

/** Every call of the dashboard. A new one is a file in `routes/` and a line here. */
export function dashboardRoutes(parts: DashboardParts): DashboardRoute[] {
  return [sessionRoute(parts), liveRoute(parts), systemRoute(parts), ...deadLetterRoutes(parts)]
}
