import { importBuilt } from '../../bootstrap/build.mjs'

await importBuilt('clickhouse', 'embedded/clickhouse/process.ts')
