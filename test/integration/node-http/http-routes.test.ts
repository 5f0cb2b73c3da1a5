import { againWithNodeHttp } from '../../support/engines.ts'

await againWithNodeHttp(() => import('../http-routes.test.ts'))
