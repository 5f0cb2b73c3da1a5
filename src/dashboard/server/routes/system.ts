import type { EventStreams } from '../event-streams.ts'
import { type DashboardRoute, route } from '../route.ts'
import type { SharedFeed } from '../shared-feed.ts'

export interface SystemParts {
  readonly streams: EventStreams
  readonly system: SharedFeed
}

/** `GET /api/system/live`: the operator's picture, as server-sent events `status`, see `SystemAnswer`. */
export function systemRoute({ streams, system }: SystemParts): DashboardRoute {
  return route({
    method: 'GET',
    path: '/api/system/live',
    access: 'operator',
    // Of what is not read in time only the newest is worth something.
    handle: ({ session }) => streams.respond(session, (sender) => system.join(sender), { heldMax: 1 }),
  })
}
