import { againWithNodeHttp } from '../../support/engines.ts'

await againWithNodeHttp(() => import('../event-http.test.ts'))
