import { ingest } from '../../../pipelines/ingest.ts'
import { SETTINGS_MAX } from '../../config/settings.ts'
import { INTAKE_MEMORY_SHARE_MAX } from '../../pipeline/declaration/pipeline.ts'
import type { Limits } from './plan.ts'

/** The limits of this version, and the memory in docker-compose.yml. */
export function limitsOfProduct(): Limits {
  const { waitingEventsMax, dedupWindowMs } = ingest.limits
  return {
    ...{ waitingEventsMax, dedupWindowMs, memoryShareMax: INTAKE_MEMORY_SHARE_MAX, settingsMax: SETTINGS_MAX },
    ...{ composeRedisBytes: 2 ** 30, composeClickhouseBytes: 4 * 2 ** 30 },
  }
}
