import type { Pipeline } from '../src/pipeline/declaration/pipeline.ts'
import { archive } from '../src/pipeline/sinks/archive/destination.ts'
import { clickhouse, clickhouseOutcomes } from '../src/pipeline/sinks/clickhouse/destination.ts'
import { uploads } from '../src/pipeline/sources/batch/uploads.ts'
import { requests } from '../src/pipeline/sources/live/requests.ts'
import { dedup } from '../src/pipeline/stages/dedup.ts'
import { enrich } from '../src/pipeline/stages/enrich.ts'
import { filterNoise } from '../src/pipeline/stages/filter-noise.ts'

const DAY_MS = 86_400_000

/** The way of an event, from a request or an upload to the tables that analysts query. pipelines/README.md says how to change it. */
export const ingest: Pipeline = {
  sources: [
    // The response shows what is known of each address, so live events are enriched before the stream.
    { from: requests, to: 'intake', raw: 'archive' },
    // Lines stay raw: enriching them is for the step, which scales with its workers; a tenant has one feeder.
    { from: uploads, to: 'intake', raw: 'archive' },
  ],

  // Every stream has a lane for live events, which go first, and one for batches. Dedup comes last: noise, often most of
  // the traffic, then costs no entry of the window, and what was filtered once is judged anew when it comes again.
  steps: [{ group: 'process', from: 'intake', stages: [enrich, filterNoise, dedup], to: 'enriched' }],

  sinks: [
    { group: 'clickhouse', from: 'enriched', into: clickhouse, completesJobs: true },
    // A few rows a second, and an insert costs as much as thousands of them.
    { group: 'outcomes', from: 'outcomes', into: clickhouseOutcomes, lingerMs: 5_000 },
    // Events as they came, of tenants with an archive only, repeats and what is filtered included.
    { group: 'archive', from: 'archive', into: archive, takes: 'payloads' },
  ],

  // What is not stored is counted, together with what becomes of it: by sources, steps and sinks.
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
