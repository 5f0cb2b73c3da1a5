import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ingest } from '../../../pipelines/ingest.ts'
import { drawPipeline, waitingByGroup } from '../../../src/pipeline/commands/pipeline.ts'
import type { Lane } from '../../../src/pipeline/declaration/lane.ts'
import { sinkNamed } from '../../support/pipeline.ts'

const status = (group: string, lane: Lane, waiting: number, oldest_ms: number) => {
  return {
    stream: 's',
    lane,
    partition: 0,
    group,
    lag_entries: 1,
    pending_entries: 2,
    waiting_events: waiting,
    oldest_ms,
  }
}

test('the diagram shows sources, streams, and the backlog of each group over all lanes', () => {
  const waiting = waitingByGroup([status('process', 'live', 10, 1_500), status('process', 'batch', 5, 200)])
  const { into } = sinkNamed('clickhouse')
  const copy = { group: 'copy', from: 'enriched', into: { ...into, isOn: () => true } }
  const sinks = [sinkNamed('clickhouse'), copy, sinkNamed('outcomes'), sinkNamed('archive')]
  assert.equal(
    drawPipeline({ ...ingest, sinks }, waiting),
    `POST /v1/ingest        ▶ intake (live), as it came ▶ archive
POST /v1/ingest/batch  ▶ intake (batch), as it came ▶ archive
/s/web/…               ▶ intake (live), as it came ▶ archive
/s/segment/…           ▶ intake (live), as it came ▶ archive
/s/rudderstack/…       ▶ intake (live), as it came ▶ archive
/s/posthog/…           ▶ intake (live), as it came ▶ archive
/s/amplitude/…         ▶ intake (live), as it came ▶ archive
/s/mixpanel/…          ▶ intake (live), as it came ▶ archive
/s/snowplow/…          ▶ intake (live), as it came ▶ archive
/s/matomo/…            ▶ intake (live), as it came ▶ archive
/s/http/…              ▶ intake (live), as it came ▶ archive
s3                     ▶ intake (batch), as it came ▶ archive
amplitude-export       ▶ intake (batch), as it came ▶ archive

intake
└─ process: enrich ▶ filter-noise ▶ dedup  ▶ enriched
      lag 2, pending 4, events 15, oldest 1.5 s

enriched
├─ clickhouse: sink into clickhouse, completes batch jobs
│     not started yet
└─ copy: sink into clickhouse
      off, or not started yet

outcomes
└─ outcomes: sink into clickhouse outcomes
      not started yet

archive
└─ archive: sink into archive
      not started yet
`,
  )
})

test('the backlog is left out when no instance was asked', () => {
  assert.doesNotMatch(drawPipeline(ingest), /lag|events|started/)
})
