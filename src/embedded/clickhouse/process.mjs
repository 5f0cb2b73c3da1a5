import { importBuilt } from '../../bootstrap/build.mjs'

await importBuilt('embedded/clickhouse/process.ts')
