import { Counter, Gauge, type Registry } from 'prom-client'
import type { Clock } from '../run/clock.ts'
import type { DaysNote } from './ports.ts'

interface DaysMetrics {
  /** Counts days that were built, in each table. */
  built(tables: number): void
}

/** Metrics of stored days. @param read rejects or is undefined while nothing is known: then the gauges are absent */
export function createDaysMetrics(
  registry: Registry,
  read: () => Promise<DaysNote | undefined>,
  clock: Clock,
): DaysMetrics {
  const built = new Counter({
    name: 'ipid_days_built_total',
    help: 'Builds of a day of a tenant, in each table of days',
    registers: [registry],
  })
  const gauge = (name: string, help: string, valueIn: (note: DaysNote) => number | undefined) =>
    new Gauge({
      ...{ name, help, registers: [registry], aggregator: 'max' as const },
      async collect() {
        const note = await read().catch(() => undefined)
        const value = note && valueIn(note)
        if (value === undefined) this.reset()
        else this.set(value)
      },
    })
  gauge(
    'ipid_days_stale',
    'Closed days of tenants that pages read from events until they are built',
    ({ stale }) => stale,
  )
  gauge(
    'ipid_days_stale_oldest_seconds',
    'Time since the first of these days became stale; 0: none is',
    ({ oldestSinceMs }) => (oldestSinceMs === undefined ? 0 : Math.max(0, clock.now() - oldestSinceMs) / 1_000),
  )
  return { built: (tables) => built.inc(tables) }
}
