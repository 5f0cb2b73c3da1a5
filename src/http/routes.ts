import type { BatchJobs } from '../core/batch.ts'
import type { Clock } from '../core/clock.ts'
import type { Enricher } from '../core/enrichment.ts'
import type { Intake } from '../core/intake.ts'
import { buildOpenApi } from './openapi.ts'
import type { Route } from './route.ts'
import { healthzRoute } from './routes/healthz.ts'
import { ingestRoute } from './routes/ingest.ts'
import { batchJobRoute, uploadRoute } from './routes/ingest-batch.ts'
import { openapiRoute } from './routes/openapi.ts'
import { type Readiness, readyzRoute } from './routes/readyz.ts'

/** What the routes are made of. */
export interface RouteParts {
  readonly intake: Intake
  readonly enricher: Enricher
  readonly readiness: Readiness
  readonly clock: Clock
  readonly jobs: BatchJobs
}

/** Every operation of the API. A new one is a file in `routes/` and a line here. */
export function createRoutes(parts: RouteParts): Route[] {
  const routes: Route[] = [
    ingestRoute(parts),
    uploadRoute(parts.jobs),
    batchJobRoute(parts.jobs),
    healthzRoute(),
    readyzRoute(parts.readiness),
  ]
  routes.push(openapiRoute(() => buildOpenApi(routes)))
  return routes
}
