import { ingest } from '../../pipelines/ingest.ts'
import { createRoles as create, type RoleModule } from '../../src/app.ts'
import type { Pipeline } from '../../src/pipeline/declaration/pipeline.ts'
import { ndjsonFolder } from './ndjson-destination.ts'
import { visitors } from './visitor-source.ts'

/** `pipelines/ingest.ts` with one more source and sink, a line each. */
export const pipeline: Pipeline = {
  ...ingest,
  // Fewer than a job of the test has: a slow sink must not hold up the feeder.
  limits: { ...ingest.limits, batchWaitingEventsMax: 5_000 },
  sources: [...ingest.sources, { from: visitors, to: 'intake', raw: 'archive' }],
  sinks: [...ingest.sinks, { group: 'copy', from: 'enriched', into: ndjsonFolder }],
}

export const createRoles: RoleModule['createRoles'] = (config, roles, telemetry) =>
  create(config, roles, telemetry, pipeline)
