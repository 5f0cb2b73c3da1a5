import { againWithNodeHttp } from '../../support/engines.ts'

await againWithNodeHttp(() => import('../event-streams.test.ts'))
