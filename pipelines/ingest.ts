import type { Pipeline } from '../src/core/pipeline/pipeline.ts'

/**
 * The way of an event. A boundary between two stages is one more segment: it reads what the one before it writes.
 */
export const ingest: Pipeline = {
  intake: 'intake',
  segments: [
    { group: 'process', from: 'intake', stages: ['dedup', 'enrich', 'filter-noise'], to: 'enriched' },
    { group: 'clickhouse', from: 'enriched', sink: 'clickhouse' },
  ],
}
