import type { EventStreams } from '../event-streams.ts'
import type { LiveHub } from '../live-hub.ts'
import { type DashboardRoute, route } from '../route.ts'

export interface LiveDependencies {
  readonly streams: EventStreams
  readonly live: LiveHub
}

/** `GET /api/tenants/:tenant/live`: arriving events, as server-sent events `frame`, see `LiveReport`. */
export function liveRoute({ streams, live }: LiveDependencies): DashboardRoute {
  return route({
    method: 'GET',
    path: '/api/tenants/:tenant/live',
    handle: ({ session, tenant }) => streams.respond(session, live.of(tenant), { tenant }),
  })
}
