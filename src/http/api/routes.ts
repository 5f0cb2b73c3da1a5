import type { BulkJobs } from '../../lookup/bulk.ts'
import type { LookupService } from '../../lookup/lookup.ts'
import type { EventReceipts } from '../../operations/receipts/receipts.ts'
import type { BatchJobs } from '../../pipeline/declaration/batch-jobs.ts'
import type { Intake } from '../../pipeline/declaration/intake.ts'
import type { LiveSource } from '../../pipeline/declaration/source.ts'
import type { Enricher } from '../../pipeline/event/enrichment.ts'
import type { Hostnames } from '../../pipeline/event/hostnames.ts'
import { batchJobsRoute, cancelBatchJobRoute } from '../../pipeline/sources/batch/job-routes.ts'
import { batchJobRoute, uploadRoute } from '../../pipeline/sources/batch/uploads.ts'
import { ingestRoute } from '../../pipeline/sources/live/requests.ts'
import type { EventTail } from '../../pipeline/sources/live/tail.ts'
import type { Clock } from '../../run/clock.ts'
import type { DailyQuota } from '../../tenants/quota.ts'
import type { TenantEnricher } from '../../tenants/tenancy.ts'
import type { Route } from '../route/route.ts'
import { buildOpenApi } from './openapi.ts'
import { bulkRoute } from './routes/bulk.ts'
import { bulkJobRoute } from './routes/bulk-job.ts'
import { eventRoute } from './routes/event.ts'
import { healthzRoute } from './routes/healthz.ts'
import { lookupRoute } from './routes/lookup.ts'
import { openapiRoute } from './routes/openapi.ts'
import { type Readiness, readyzRoute } from './routes/readyz.ts'

/** What the routes are made of. */
export interface RouteParts {
  /** What the pipeline declares for live requests. */
  readonly accept: LiveSource['accept']
  readonly intake: Intake
  readonly enricher: Enricher
  /** Undefined: tenants have no rules. */
  readonly tenantEnricher?: TenantEnricher | undefined
  /** Undefined: events are enriched without reverse DNS. */
  readonly hostnames?: Hostnames | undefined
  readonly readiness: Readiness
  readonly clock: Clock
  readonly jobs: BatchJobs
  readonly lookups: LookupService
  readonly quota: DailyQuota
  readonly bulkJobs: BulkJobs
  readonly receipts: EventReceipts
  /** Undefined: nobody can look on. */
  readonly tail?: Pick<EventTail, 'of'> | undefined
}

/** Every operation of the API. A new one is a file in `routes/` and a line here. */
export function createRoutes(parts: RouteParts): Route[] {
  const routes: Route[] = [
    lookupRoute(parts),
    bulkRoute(parts),
    bulkJobRoute(parts.bulkJobs),
    ingestRoute(parts),
    uploadRoute(parts.jobs),
    batchJobRoute(parts.jobs),
    batchJobsRoute(parts.jobs),
    cancelBatchJobRoute(parts.jobs),
    eventRoute(parts.receipts),
    healthzRoute(),
    readyzRoute(parts.readiness),
  ]
  routes.push(openapiRoute(() => buildOpenApi(routes)))
  return routes
}
