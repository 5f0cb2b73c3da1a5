import type { FolderUpdates } from '../data-updates.ts'
import type { EventStreams } from '../event-streams.ts'
import { type DashboardRoute, json, route } from '../route.ts'
import type { SharedFeed } from '../shared-feed.ts'

export interface SystemDependencies {
  readonly streams: EventStreams
  readonly system: SharedFeed
  readonly updates: FolderUpdates
}

/**
 * `GET /api/system/live`: status of the system, as server-sent events `status`, see `SystemAnswer`.
 * `POST /api/system/data-update`: requests newer enrichment data, see `DataUpdate`.
 */
export function systemRoutes({ streams, system, updates }: SystemDependencies): DashboardRoute[] {
  return [
    route({
      method: 'GET',
      path: '/api/system/live',
      access: 'operator',
      // A slow reader needs only the newest status.
      handle: ({ session }) => streams.respond(session, (sender) => system.join(sender), { heldMax: 1 }),
    }),
    route({
      method: 'POST',
      path: '/api/system/data-update',
      access: 'operator',
      // It changes files, and syncs them itself.
      changes: false,
      handle: async () => json(await updates.ask()),
    }),
  ]
}
