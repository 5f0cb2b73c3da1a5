import type { DataUpdate } from '../../../../schemas/dashboard/system.ts'
import type { EventStreams } from '../event-streams.ts'
import { type DashboardRoute, json, route } from '../route.ts'
import type { SharedFeed } from '../shared-feed.ts'

export interface SystemParts {
  readonly streams: EventStreams
  readonly system: SharedFeed
  readonly updates: DataUpdates
}

/** Lets newer enrichment data come. */
export interface DataUpdates {
  /** How it stands; null when there is nothing to fetch. @param hosts of all processes */
  read(hosts: readonly string[]): Promise<DataUpdate | null>
  /**
   * Asks for an update, unless one is under way.
   * @throws HttpError 409 with the reason when it cannot be done from here; InputError with what is wrong in `sources.json`
   */
  ask(): Promise<DataUpdate>
}

/**
 * `GET /api/system/live`: the operator's picture, as server-sent events `status`, see `SystemAnswer`.
 * `POST /api/system/data-update`: newer enrichment data are to come, see `DataUpdate`.
 */
export function systemRoutes({ streams, system, updates }: SystemParts): DashboardRoute[] {
  return [
    route({
      method: 'GET',
      path: '/api/system/live',
      access: 'operator',
      // Of what is not read in time only the newest is worth something.
      handle: ({ session }) => streams.respond(session, (sender) => system.join(sender), { heldMax: 1 }),
    }),
    route({
      method: 'POST',
      path: '/api/system/data-update',
      access: 'operator',
      // It changes files, which it flushes itself.
      changes: false,
      handle: async () => json(await updates.ask()),
    }),
  ]
}
