import { againWithNodeHttp } from '../../support/engines.ts'

await againWithNodeHttp(() => import('../http-streamed.test.ts'))
