import { againWithNodeHttp } from '../../support/engines.ts'

await againWithNodeHttp(() => import('../http-tenants.test.ts'))
