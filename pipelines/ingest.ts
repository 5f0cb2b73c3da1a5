import type { Pipeline } from '../src/pipeline/declaration/pipeline.ts'
import { archive } from '../src/pipeline/sinks/archive/destination.ts'
import { clickhouse, clickhouseOutcomes } from '../src/pipeline/sinks/clickhouse/destination.ts'
import { touchedCompanies } from '../src/pipeline/sinks/touched/touched-companies.ts'
import { amplitude } from '../src/pipeline/sources/amplitude.ts'
import { amplitudeExport } from '../src/pipeline/sources/amplitude-export.ts'
import { uploads } from '../src/pipeline/sources/batch/uploads.ts'
import { http } from '../src/pipeline/sources/http.ts'
import { requests } from '../src/pipeline/sources/live/requests.ts'
import { matomo } from '../src/pipeline/sources/matomo.ts'
import { mixpanel } from '../src/pipeline/sources/mixpanel.ts'
import { posthog } from '../src/pipeline/sources/posthog.ts'
import { rudderstack } from '../src/pipeline/sources/rudderstack.ts'
import { s3 } from '../src/pipeline/sources/s3.ts'
import { segment } from '../src/pipeline/sources/segment.ts'
import { snowplow } from '../src/pipeline/sources/snowplow.ts'
import { web } from '../src/pipeline/sources/web.ts'
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
    { from: web, to: 'intake', raw: 'archive' },
    { from: segment, to: 'intake', raw: 'archive' },
    { from: rudderstack, to: 'intake', raw: 'archive' },
    { from: posthog, to: 'intake', raw: 'archive' },
    { from: amplitude, to: 'intake', raw: 'archive' },
    { from: mixpanel, to: 'intake', raw: 'archive' },
    { from: snowplow, to: 'intake', raw: 'archive' },
    { from: matomo, to: 'intake', raw: 'archive' },
    { from: http, to: 'intake', raw: 'archive' },
    { from: s3, to: 'intake', raw: 'archive' },
    { from: amplitudeExport, to: 'intake', raw: 'archive' },
  ],

  // Every stream has a lane for live events, which go first, and one for batches. Dedup comes last, so that noise, often most of
  // the traffic, takes no entry of the window. A filtered event that is sent again is also judged anew.
  steps: [{ group: 'process', from: 'intake', stages: [enrich, filterNoise, dedup], to: 'enriched' }],

  sinks: [
    // Alerts look at the companies that have new visits, within seconds of them.
    { group: 'clickhouse', from: 'enriched', into: clickhouse, completesJobs: true, observer: touchedCompanies },
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
