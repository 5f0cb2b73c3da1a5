import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import { collectDefaultMetrics, type Gauge, type Registry } from 'prom-client'

/** How often the delay of the event loop is looked at while somebody asks: each look wakes the process up. */
const LOOK_EVERY_MS = 100
/** Nobody asks any more. */
const LOOK_ON_MS = 300_000
const NEVER_MS = 2 ** 31 - 1

/** By the middle of their names. */
const DELAYS: Readonly<Record<string, (delays: IntervalHistogram) => number>> = {
  min: ({ min }) => min,
  max: ({ max }) => max,
  mean: ({ mean }) => mean,
  stddev: ({ stddev }) => stddev,
  p50: (delays) => delays.percentile(50),
  p90: (delays) => delays.percentile(90),
  p99: (delays) => delays.percentile(99),
}

/**
 * The metrics of Node.js that prom-client has. It would look at the delay of the event loop all the time; here that is done from the
 * first scrape on, which says 0, until there was none for some minutes.
 */
export function collectNodeMetrics(
  registry: Registry,
  delays: IntervalHistogram = monitorEventLoopDelay({ resolution: LOOK_EVERY_MS }),
): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: NEVER_MS })
  let end: NodeJS.Timeout | undefined
  const lookOn = () => {
    delays.reset()
    delays.enable()
    clearTimeout(end)
    end = setTimeout(() => delays.disable(), LOOK_ON_MS).unref()
  }
  const last = Object.keys(DELAYS).at(-1)
  for (const [name, read] of Object.entries(DELAYS)) {
    const gauge = registry.getSingleMetric(`nodejs_eventloop_lag_${name}_seconds`) as Gauge & { collect: () => void }
    gauge.collect = () => {
      gauge.set(delays.count === 0 ? 0 : read(delays) / 1e9)
      // They are asked in their order.
      if (name === last) lookOn()
    }
  }
}
