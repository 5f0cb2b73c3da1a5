import { againWithNodeHttp } from '../../support/engines.ts'

await againWithNodeHttp(() => import('../lookup-http.test.ts'))
