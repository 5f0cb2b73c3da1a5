import { join } from 'node:path'
import { Destinations } from '../../alerts/sending/destinations.ts'
import { version } from '../../config/version.ts'
import type { ProcessContext } from '../../process/context.ts'
import { Favicons } from '../favicons/favicons.ts'
import { IconCache } from '../favicons/icon-cache.ts'

/** Undefined: DASHBOARD_FAVICONS is off. */
export function faviconsOf({ config, telemetry: { clock, log } }: ProcessContext): Favicons | undefined {
  if (config.dashboardFavicons === 'off') return undefined
  return new Favicons({
    cache: new IconCache({ dir: join(config.dataDir, 'favicons'), clock, log }),
    // WEBHOOK_PRIVATE is about the servers that a tenant names; here the data about companies name them.
    destinations: new Destinations({ allowsPrivate: false }),
    userAgent: `ipid/${version()}`,
    log,
  })
}
