import type { Pipeline } from '../src/pipeline/declaration/pipeline.ts'
import { archive } from '../src/pipeline/sinks/archive/destination.ts'
import { clickhouse, clickhouseOutcomes } from '../src/pipeline/sinks/clickhouse/destination.ts'
import { uploads } from '../src/pipeline/sources/batch/uploads.ts'
import { requests } from '../src/pipeline/sources/live/requests.ts'
import { dedup } from '../src/pipeline/stages/dedup.ts'
import { enrich } from '../src/pipeline/stages/enrich.ts'
import { filterNoise } from '../src/pipeline/stages/filter-noise.ts'

const DAY_MS = 86_400_000

/** The pipeline from a request or an upload to the tables that analysts query. pipelines/README.md says how to change it. */
export const ingest: Pipeline = {
  sources: [
    // Live events are enriched before the stream, because the response shows the result.
    { from: requests, to: 'intake', raw: 'archive' },
    // Batch lines are enriched by the step, which scales with its workers. A tenant has only one feeder.
    { from: uploads, to: 'intake', raw: 'archive' },
  ],

  // Every stream has a lane for live events, which go first, and one for batches. Dedup comes last, so that noise, often most of
  // the traffic, takes no entry of the window. A filtered event that is sent again is also judged anew.
  steps: [{ group: 'process', from: 'intake', stages: [enrich, filterNoise, dedup], to: 'enriched' }],

  sinks: [
    { group: 'clickhouse', from: 'enriched', into: clickhouse, completesJobs: true },
    // It has only a few rows per second, and an insert costs as much as thousands of rows.
    { group: 'outcomes', from: 'outcomes', into: clickhouseOutcomes, lingerMs: 5_000 },
    // Payloads of tenants with an archive, including repeats and filtered events.
    { group: 'archive', from: 'archive', into: archive, takes: 'payloads' },
  ],

  // Sources, steps and sinks count events that are not stored.
  outcomes: 'outcomes',

  limits: {
    blockEventsMax: 1_000,
    blockBytesMax: 262_144,
    uncommittedEventsMax: 100_000,
    waitingEventsMax: 2_000_000,
    batchWaitingEventsMax: 250_000,
    batchWaitingPayloadsMax: 250_000,
    partEventsMax: 100_000,
    readEntriesMax: { live: 16, batch: 2 },
    deliveriesMax: 5,
    dedupWindowMs: 7 * DAY_MS,
  },
}
