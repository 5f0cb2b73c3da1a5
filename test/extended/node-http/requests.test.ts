import { againWithNodeHttp } from '../../support/engines.ts'

await againWithNodeHttp(() => import('./requests.ts'))
