import { buildOpenApi } from '../../src/http/api/openapi.ts'
import { createRoutes } from '../../src/http/api/routes.ts'
import { noCompanies, noImports, noReceipts, noSegments, testSources } from './http.ts'
import { freeQuota, noBulkJobs, TestLookups } from './lookups.ts'

/** The OpenAPI documents as `GET /openapi.json` and `GET /docs/openapi-tools.json` answer them. */
export function openApiDocuments(): Readonly<Record<'api' | 'tools', Record<string, unknown>>> {
  const routes = createRoutes({
    sources: testSources(),
    readiness: { problems: async () => [] },
    lookups: new TestLookups(),
    quota: freeQuota(),
    bulkJobs: noBulkJobs,
    receipts: noReceipts,
    companies: noCompanies,
    imports: noImports,
    segments: noSegments,
  })
  const read = (part: 'api' | 'tools') => JSON.parse(JSON.stringify(buildOpenApi(routes, part)))
  return { api: read('api'), tools: read('tools') }
}
