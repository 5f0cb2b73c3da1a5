import { ingest } from '../../pipelines/ingest.ts'
import { createRoles as create, type RoleModule } from '../../src/app.ts'
import type { Pipeline } from '../../src/pipeline/declaration/pipeline.ts'
import { dedup } from '../../src/pipeline/stages/dedup.ts'
import { enrich } from '../../src/pipeline/stages/enrich.ts'
import { filterNoise } from '../../src/pipeline/stages/filter-noise.ts'
import { filterStaging } from './filter-staging.ts'

/** `pipelines/ingest.ts` with only the line of the step changed. */
export const pipeline: Pipeline = {
  ...ingest,
  steps: [{ group: 'process', from: 'intake', stages: [enrich, filterNoise, filterStaging, dedup], to: 'enriched' }],
}

export const createRoles: RoleModule['createRoles'] = (config, roles, telemetry) =>
  create(config, roles, telemetry, pipeline)
