import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Registry } from 'prom-client'
import { ingest } from '../../../pipelines/ingest.ts'
import { NO_JOBS } from '../../../src/operations/status/collect.ts'
import { createStoreMetrics } from '../../../src/operations/status/metrics.ts'
import type { GroupStatus } from '../../../src/pipeline/declaration/status.ts'
import { createStageMetrics } from '../../../src/telemetry/pipeline-metrics.ts'

const waiting = (partition: number, oldestMs: number): GroupStatus => ({
  ...{ stream: 'intake', lane: 'live', partition, group: 'process' },
  ...{ lag_entries: 2, pending_entries: 1, waiting_events: 30, oldest_ms: oldestMs },
})

test('the backlog is summed over partitions, zero when empty, and fresh at each scrape', async () => {
  const metrics = new Registry()
  let streams: GroupStatus[] = []
  let reads = 0
  createStoreMetrics(metrics, {
    pipeline: ingest,
    waiting: async () => {
      reads++
      return { streams, dead_letters: 7 }
    },
    batchJobs: async () => ({ ...NO_JOBS, queued: 2, lines_waiting: 600_000, oldest_ms: 5_000 }),
    bulkJobs: async () => NO_JOBS,
    redis: () => Promise.reject(new Error('down')),
    dedup: async () => ({ entries: 10, bytes: 1_000 }),
  })
  streams = [waiting(0, 1_000), waiting(1, 9_000)]
  const text = await metrics.metrics()
  assert.equal(reads, 1, 'all metrics of a scrape share one read')
  const place = 'stream="intake",lane="live",group="process"'
  for (const line of [
    `ipid_stream_lag_entries{${place}} 4`,
    `ipid_stream_pending_entries{${place}} 2`,
    `ipid_stream_waiting_events{${place}} 60`,
    `ipid_stream_oldest_seconds{${place}} 9`,
    'ipid_stream_oldest_seconds{stream="enriched",lane="batch",group="clickhouse"} 0',
    'ipid_dead_letters 7',
    'ipid_jobs{kind="batch",state="queued"} 2',
    'ipid_jobs{kind="bulk",state="running"} 0',
    'ipid_jobs_waiting_lines{kind="batch"} 600000',
    'ipid_jobs_oldest_seconds{kind="batch"} 5',
    'ipid_dedup_bytes 1000',
  ]) {
    assert.ok(text.includes(`\n${line}\n`), line)
  }
  assert.doesNotMatch(text, /^ipid_redis_memory_bytes /m, 'an unreadable value is not shown')
})

test('a store that does not answer costs a scrape only its own metrics', async () => {
  const metrics = new Registry()
  const never = new Promise<never>(() => {})
  createStoreMetrics(metrics, {
    pipeline: ingest,
    waiting: () => never,
    batchJobs: async () => ({ ...NO_JOBS, queued: 2 }),
    bulkJobs: async () => NO_JOBS,
    redis: async () => ({
      ...{
        version: '',
        used_bytes: 5,
        max_bytes: 10,
        used_share: 0.5,
        evicts: false,
        append_only: true,
        refuses_writes: null,
        clock_ahead_ms: 0,
      },
    }),
    dedup: () => never,
  })
  const text = await metrics.metrics()
  assert.match(text, /^ipid_redis_memory_bytes 5$/m)
  assert.match(text, /^ipid_jobs\{kind="batch",state="queued"\} 2$/m)
  assert.doesNotMatch(text, /^ipid_(?:stream_lag_entries|dead_letters|dedup_entries)\b/m)
})

test('a stage reports its input, its output, and why the rest was dropped', async () => {
  const metrics = new Registry()
  const stage = createStageMetrics(metrics)
  for (let i = 0; i < 2; i++) stage('process', 'dedup')({ in: 10, out: 6, dropped: new Map([['duplicates', 3]]) })
  stage('ingest', 'accept')({ in: 1, out: 1, dropped: new Map() })
  for (let scrape = 0; scrape < 2; scrape++) {
    const text = await metrics.metrics()
    for (const line of [
      'ipid_stage_in_events_total{group="process",stage="dedup"} 20',
      'ipid_stage_out_events_total{group="process",stage="dedup"} 12',
      'ipid_stage_dropped_events_total{group="process",stage="dedup",reason="duplicates"} 6',
      'ipid_stage_dropped_events_total{group="process",stage="dedup",reason="dead"} 2',
      'ipid_stage_in_events_total{group="ingest",stage="accept"} 1',
    ]) {
      assert.ok(text.includes(`\n${line}\n`), line)
    }
  }
})
