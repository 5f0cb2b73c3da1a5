import { againWithNodeHttp } from '../../support/engines.ts'

await againWithNodeHttp(() => import('../http-ingest.test.ts'))
