import { againWithNodeHttp } from '../../support/engines.ts'

await againWithNodeHttp(() => import('../http-flood.test.ts'))
