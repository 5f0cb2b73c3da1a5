import { againWithNodeHttp } from '../../support/engines.ts'

await againWithNodeHttp(() => import('../http-connections.test.ts'))
