import { againWithNodeHttp } from '../../support/engines.ts'

await againWithNodeHttp(() => import('../batch-http.test.ts'))
