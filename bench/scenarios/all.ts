import type { Scenario } from '../run/scenario.ts'
import { BATCH, BATCH_LIVE, BATCH_NO_IDS } from './batch.ts'
import { CATCH_UP } from './catch-up.ts'
import { DEDUP } from './dedup.ts'
import { HALF_LOAD } from './half-load.ts'
import { IDLE } from './idle.ts'
import { INGEST } from './ingest.ts'
import { LOOKUPS } from './lookup.ts'
import { STORED, TENANTS } from './much-stored.ts'

/** All scenarios, in the order of execution. */
export const SCENARIOS: readonly Scenario[] = [
  ...INGEST,
  HALF_LOAD,
  BATCH,
  BATCH_NO_IDS,
  BATCH_LIVE,
  ...LOOKUPS,
  DEDUP,
  CATCH_UP,
  IDLE,
  STORED,
  TENANTS,
]
