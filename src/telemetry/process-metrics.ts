import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import { Counter, collectDefaultMetrics, type Gauge, type Registry } from 'prom-client'

/** Counters of the supervisor. */
interface SupervisorMetrics {
  /** Announces a child that may be restarted, so that its counter exists and `increase()` sees the first restart. */
  watched(process: string): void
  /** A child ended by itself and is restarted. */
  restarted(process: string): void
}

export function createSupervisorMetrics(registry: Registry): SupervisorMetrics {
  const restarts = new Counter({
    name: 'ipid_process_restarts_total',
    help: 'Child processes that ended by themselves and were started again',
    labelNames: ['process'],
    registers: [registry],
  })
  return {
    watched: (process) => restarts.inc({ process }, 0),
    restarted: (process) => restarts.inc({ process }),
  }
}

/** How often the event loop delay is sampled while metrics are scraped; each sample wakes up the process. */
const LOOK_EVERY_MS = 100
/** Sampling stops after this time without a scrape. */
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
 * The Node.js metrics of prom-client. It would sample the event loop delay all the time; here sampling starts with the
 * first scrape, which reports 0, and ends some minutes after the last.
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
      // The library reads them in this order.
      if (name === last) lookOn()
    }
  }
}
