import { importSource } from '../../bootstrap/program.mjs'

await importSource('embedded/clickhouse/process.ts')
