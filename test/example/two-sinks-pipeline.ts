import { ingest } from '../../pipelines/ingest.ts'
import { createRoles as create, type RoleModule } from '../../src/app.ts'
import type { Pipeline } from '../../src/pipeline/declaration/pipeline.ts'
import { ndjsonFolder } from './ndjson-destination.ts'

/** `pipelines/ingest.ts` with one line more: a copy of what ClickHouse gets, as NDJSON in the folder `EXAMPLE_DIR`. */
const pipeline: Pipeline = {
  ...ingest,
  // Fewer than a job of the test has: a sink that is behind must not hold up the feeder.
  limits: { ...ingest.limits, batchWaitingEventsMax: 5_000 },
  sinks: [...ingest.sinks, { group: 'copy', from: 'enriched', into: ndjsonFolder(process.env.EXAMPLE_DIR!) }],
}

export const createRoles: RoleModule['createRoles'] = (config, roles, telemetry) =>
  create(config, roles, telemetry, pipeline)
