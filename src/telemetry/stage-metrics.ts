import { Counter, type Registry } from 'prom-client'

/** Events into a stage, out of it, and dropped there by reason; the rest are dead. */
export interface PassedEvents {
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
