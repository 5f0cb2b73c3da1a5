import { againWithNodeHttp } from '../../support/engines.ts'

await againWithNodeHttp(() => import('../http-stream.test.ts'))
