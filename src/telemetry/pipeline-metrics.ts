import { Counter, Histogram, type Registry } from 'prom-client'

/** Counts the work of this process for the pipeline. */
export interface WorkMetrics {
  /** Events that a step settled, by outcome. */
  settled(group: string, outcomes: ReadonlyMap<string, number>): void
  /** Returns the counter of events that pass a stage. */
  stage(group: string, stage: string): (events: PassedEvents) => void
  /** Announces a sink before its first insert, so that its counters exist and `increase()` sees the first failure. */
  sink(group: string): void
  /** Rows that a sink stored with one insert. */
  inserted(group: string, rows: number, durationMs: number): void
  /** An insert, or a part of it, failed and is tried again. */
  insertFailed(group: string): void
  /** Rows that ClickHouse refuses, with a short reason; 0 rows: they are tried again. */
  refused(group: string, rows: number, kind: string): void
}

/** Notified as well. */
type WorkListener = Pick<WorkMetrics, 'inserted' | 'insertFailed' | 'refused'>

export function createWorkMetrics(registry: Registry, recent?: WorkListener): WorkMetrics {
  const events = new Counter({
    name: 'ipid_pipeline_events_total',
    help: 'Events that a step settled, by outcome',
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
  const sizes = new Histogram({
    name: 'ipid_insert_rows',
    help: 'Rows of one insert',
    labelNames: ['group'],
    buckets: [1, 10, 100, 1_000, 5_000, 10_000, 25_000, 50_000, 100_000],
    registers: [registry],
  })
  const failures = new Counter({
    name: 'ipid_insert_failures_total',
    help: 'Inserts that failed and are tried again',
    labelNames: ['group'],
    registers: [registry],
  })
  const refused = new Counter({
    name: 'ipid_refused_rows_total',
    help: 'Rows that ClickHouse refused, and that became dead letters',
    labelNames: ['group'],
    registers: [registry],
  })
  return {
    stage: createStageMetrics(registry),
    settled(group, outcomes) {
      for (const [outcome, count] of outcomes) events.inc({ group, outcome }, count)
    },
    sink(group) {
      for (const counter of [rows, failures, refused]) counter.inc({ group }, 0)
    },
    inserted(group, count, durationMs) {
      rows.inc({ group }, count)
      sizes.observe({ group }, count)
      seconds.observe({ group }, durationMs / 1_000)
      recent?.inserted(group, count, durationMs)
    },
    insertFailed(group) {
      failures.inc({ group })
      recent?.insertFailed(group)
    },
    refused(group, count, kind) {
      refused.inc({ group }, count)
      recent?.refused(group, count, kind)
    },
  }
}

/** Events into a stage, out of it, and dropped there by reason; the rest are dead. */
interface PassedEvents {
  readonly in: number
  readonly out: number
  readonly dropped: ReadonlyMap<string, number>
}

interface Sums {
  readonly labels: { readonly group: string; readonly stage: string }
  in: number
  out: number
  readonly dropped: Map<string, number>
}

/**
 * Counts events per stage. Every request uses it, so it keeps plain numbers and makes metrics only when they are read.
 * @returns the function that adds to the counts
 */
export function createStageMetrics(
  registry: Registry,
): (group: string, stage: string) => (events: PassedEvents) => void {
  const stages = new Map<string, Sums>()
  const registers = [registry]
  const labelNames = ['group', 'stage'] as const
  new Counter({
    ...{ name: 'ipid_stage_in_events_total', help: 'Events that entered a stage', labelNames, registers },
    collect() {
      this.reset()
      for (const sums of stages.values()) this.inc(sums.labels, sums.in)
    },
  })
  new Counter({
    ...{ name: 'ipid_stage_out_events_total', help: 'Events that a stage passed on', labelNames, registers },
    collect() {
      this.reset()
      for (const sums of stages.values()) this.inc(sums.labels, sums.out)
    },
  })
  new Counter({
    name: 'ipid_stage_dropped_events_total',
    help: 'Events that left the pipeline at a stage, by reason',
    labelNames: [...labelNames, 'reason'],
    registers,
    collect() {
      this.reset()
      for (const { labels, dropped } of stages.values()) {
        for (const [reason, events] of dropped) this.inc({ ...labels, reason }, events)
      }
    },
  })
  return (group, stage) => {
    const key = `${group} ${stage}`
    const sums = stages.get(key) ?? { labels: { group, stage }, in: 0, out: 0, dropped: new Map<string, number>() }
    stages.set(key, sums)
    return (events) => addTo(sums, events)
  }
}

function addTo(sums: Sums, events: PassedEvents): void {
  sums.in += events.in
  sums.out += events.out
  let dead = events.in - events.out
  for (const [reason, count] of events.dropped) {
    sums.dropped.set(reason, (sums.dropped.get(reason) ?? 0) + count)
    dead -= count
  }
  if (dead > 0) sums.dropped.set('dead', (sums.dropped.get('dead') ?? 0) + dead)
}
