import type { ClickHouseCompanies } from '../../companies/companies.ts'
import type { CompanyImports } from '../../companies/imports/imports.ts'
import type { Segments } from '../../companies/segments/segments.ts'
import type { BulkJobs } from '../../lookup/bulk.ts'
import type { LookupService } from '../../lookup/lookup.ts'
import type { EventReceipts } from '../../operations/receipts/receipts.ts'
import type { Limiter } from '../../tenants/limits/limits.ts'
import type { Route } from '../route/route.ts'
import { buildOpenApi } from './openapi.ts'
import { bulkRoute } from './routes/bulk.ts'
import { bulkJobRoute } from './routes/bulk-job.ts'
import { companiesRoute, companyRoute } from './routes/companies.ts'
import { companyImportRoute } from './routes/company-import.ts'
import { docsRoutes } from './routes/docs.ts'
import { eventRoute } from './routes/event.ts'
import { healthzRoute } from './routes/healthz.ts'
import { lookupRoutes } from './routes/lookup.ts'
import { openapiRoutes } from './routes/openapi.ts'
import { type Readiness, readyzRoute } from './routes/readyz.ts'
import { unknownNetworksRoute } from './routes/unknown-networks.ts'
import { assertRoutesApart } from './source-routes.ts'

/** The dependencies of the routes. */
export interface RouteParts {
  /** The routes of sources, see `openSources`. */
  readonly sources: readonly Route[]
  readonly readiness: Readiness
  readonly lookups: LookupService
  readonly quota: Limiter
  readonly bulkJobs: BulkJobs
  readonly receipts: EventReceipts
  readonly companies: Pick<ClickHouseCompanies, 'part' | 'company' | 'origins' | 'unknownNetworks'>
  readonly imports: Pick<CompanyImports, 'import'>
  readonly segments: Pick<Segments, 'list'>
}

/**
 * Every operation of the API. To add one, write a file in `routes/` and a line here; a source adds its own.
 * @throws StartupError when a source has the route of another operation
 */
export function createRoutes(parts: RouteParts): Route[] {
  const lookups = [...lookupRoutes(parts), bulkRoute(parts), bulkJobRoute(parts.bulkJobs)]
  const others = [
    eventRoute(parts.receipts),
    companiesRoute(parts.companies, parts.segments),
    companyRoute(parts.companies),
    unknownNetworksRoute(parts.companies),
    companyImportRoute(parts.imports),
  ]
  const health = [healthzRoute(), readyzRoute(parts.readiness)]
  const openapi = [...openapiRoutes((part) => buildOpenApi(routes, part)), ...docsRoutes()]
  assertRoutesApart(parts.sources, [...lookups, ...others, ...health, ...openapi])
  const routes: Route[] = [...lookups, ...parts.sources, ...others, ...health, ...openapi]
  return routes
}
