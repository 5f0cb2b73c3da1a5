import type { Mutant } from '../mutant.ts'
import { ARCHIVE } from './archive.ts'
import { BATCH } from './batch.ts'
import { ON_CLUSTER } from './cluster.ts'
import { DEDUP } from './dedup.ts'
import { FULL_DISK_WRITES } from './full-disk.ts'
import { HOP } from './hop.ts'
import { HTTP } from './http.ts'
import { INTAKE } from './intake.ts'
import { MORE_PARTITIONS } from './partitions.ts'
import { ROWS } from './rows.ts'
import { SINK } from './sink.ts'
import { SINK_SHARES } from './sink-shares.ts'
import { STREAM_KEEPING } from './streams.ts'
import { TENANTS } from './tenants.ts'

/** What `npm run mutants` breaks: for each promise of src/README.md at least one. */
export const MUTANTS: readonly Mutant[] = [
  ...[...INTAKE, ...HOP, ...DEDUP, ...SINK, ...SINK_SHARES, ...FULL_DISK_WRITES, ...STREAM_KEEPING, ...BATCH],
  ...[...TENANTS, ...HTTP, ...ROWS, ...ARCHIVE, ...MORE_PARTITIONS, ...ON_CLUSTER],
]
