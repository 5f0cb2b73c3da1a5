import { againWithNodeHttp } from '../../support/engines.ts'

await againWithNodeHttp(() => import('../http-malformed.test.ts'))
