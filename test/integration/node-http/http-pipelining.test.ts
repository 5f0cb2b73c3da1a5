import { againWithNodeHttp } from '../../support/engines.ts'

await againWithNodeHttp(() => import('../http-pipelining.test.ts'))
