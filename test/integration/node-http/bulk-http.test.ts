import { againWithNodeHttp } from '../../support/engines.ts'

await againWithNodeHttp(() => import('../bulk-http.test.ts'))
