import { Registry } from 'prom-client'
import { createRoutes } from '../../src/http/api/routes.ts'
import { createHttpServer } from '../../src/http/api/server.ts'
import type { EngineChoice } from '../../src/http/engine/choose.ts'
import { noCompanies, noImports, noLimit, noReceipts, noSegments, oneKey, testSources } from './http.ts'
import { freeQuota, noBulkJobs, TestLookups } from './lookups.ts'
import { silent } from './pipeline.ts'

/*
 * A server as a separate process, with the engine named by its argument. It reports its port to its parent and, on request,
 * its memory and its number of answered requests.
 */

const metrics = new Registry()
const server = createHttpServer({
  host: '127.0.0.1',
  port: 0,
  engine: process.argv[2] as EngineChoice,
  routes: createRoutes({
    sources: testSources(),
    readiness: { problems: async () => [] },
    lookups: new TestLookups(),
    quota: freeQuota(),
    bulkJobs: noBulkJobs,
    receipts: noReceipts,
    companies: noCompanies,
    imports: noImports,
    segments: noSegments,
  }),
  authenticator: oneKey,
  limiter: noLimit,
  log: silent,
  metrics,
})
await server.start()
process.on('message', async () => {
  const { values } = await metrics.getSingleMetric('ipid_http_requests_total')!.get()
  process.send!({ rssBytes: process.memoryUsage.rss(), answered: values.reduce((sum, { value }) => sum + value, 0) })
})
process.on('disconnect', () => process.exit(0))
process.send!(server.port)
