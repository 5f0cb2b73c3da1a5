import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { PipelineStatus } from '../core/pipeline/status.ts'

/** What a process has done for the pipeline. */
export interface WorkMetrics {
  /** Events that a step settled, by what became of them. */
  settled(group: string, outcomes: ReadonlyMap<string, number>): void
  /** Rows that a sink stored with one insert. */
  inserted(group: string, rows: number, durationMs: number): void
  /** An insert, or what belongs to it, failed; it is tried again. */
  insertFailed(group: string): void
}

/** Is told as well. */
export type WorkListener = Pick<WorkMetrics, 'inserted' | 'insertFailed'>

export function createWorkMetrics(registry: Registry, recent?: WorkListener): WorkMetrics {
  const events = new Counter({
    name: 'ipid_pipeline_events_total',
    help: 'Events that a step settled, by what became of them',
    labelNames: ['group', 'outcome'],
    registers: [registry],
  })
  const rows = new Counter({
    name: 'ipid_inserted_rows_total',
    help: 'Rows that a sink stored',
    labelNames: ['group'],
    registers: [registry],
  })
  const seconds = new Histogram({
    name: 'ipid_insert_seconds',
    help: 'Time from the start of an insert to its acknowledgement in Redis',
    labelNames: ['group'],
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [registry],
  })
  const failures = new Counter({
    name: 'ipid_insert_failures_total',
    help: 'Inserts that failed and are tried again',
    labelNames: ['group'],
    registers: [registry],
  })
  return {
    settled(group, outcomes) {
      for (const [outcome, count] of outcomes) events.inc({ group, outcome }, count)
    },
    inserted(group, count, durationMs) {
      rows.inc({ group }, count)
      seconds.observe({ group }, durationMs / 1_000)
      recent?.inserted(group, count, durationMs)
    },
    insertFailed(group) {
      failures.inc({ group })
      recent?.insertFailed(group)
    },
  }
}

/**
 * What waits in Redis, read when somebody asks for the metrics. Every process that shows it shows the same, so the
 * largest counts when processes are put together.
 */
export function createBacklogMetrics(registry: Registry, read: () => Promise<PipelineStatus>): void {
  const labelNames = ['stream', 'lane', 'group', 'partition'] as const
  const gauge = (name: string, help: string) =>
    new Gauge({ name, help, labelNames, aggregator: 'max', registers: [registry] })
  const lag = gauge('ipid_stream_lag_entries', 'Entries not yet delivered to the group')
  const pending = gauge('ipid_stream_pending_entries', 'Entries delivered and not yet acknowledged')
  const oldest = gauge('ipid_stream_oldest_seconds', 'Age of the oldest entry that waits')
  const deadLetters = new Gauge({
    name: 'ipid_dead_letters',
    help: 'Events that cannot be processed and wait for a decision',
    aggregator: 'max',
    registers: [registry],
  })
  new Gauge({
    name: 'ipid_stream_waiting_events',
    help: 'Events in entries that are not acknowledged yet',
    labelNames,
    aggregator: 'max',
    registers: [registry],
    async collect() {
      // Without Redis there is nothing to show; that it is away shows elsewhere.
      const status = await read().catch(() => undefined)
      if (status === undefined) return
      for (const { stream, lane, group, partition, ...values } of status.streams) {
        const labels = { stream, lane, group, partition: String(partition) }
        this.set(labels, values.waiting_events)
        lag.set(labels, values.lag_entries)
        pending.set(labels, values.pending_entries)
        oldest.set(labels, values.oldest_ms / 1_000)
      }
      deadLetters.set(status.dead_letters)
    },
  })
}
