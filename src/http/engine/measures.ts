import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { LIMITS, type Limit } from './http-error.ts'

/** Histogram bounds, seconds. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

const SECONDS_METRIC = { name: 'ipid_http_request_seconds', help: 'Time from the header section to the answer' }

/** The label by which requests are counted. */
export interface MeasuredEndpoint {
  /** Its name in logs and metrics. */
  readonly path: string
}

/** Counts of a route: of all endpoints with its path. */
interface Counts {
  readonly path: string
  readonly byStatus: Map<number, number>
  /** Requests by the smallest bound that they stayed within; the last number counts those above all bounds. */
  readonly byBound: number[]
  seconds: number
}

/**
 * Metrics of requests, kept as plain numbers. Counters of the library would cost a microsecond per request, and are read
 * only a few times per minute.
 */
export class Measures {
  readonly #refused: Counter<'limit'>
  readonly #byPath = new Map<string, Counts>()
  readonly #byEndpoint = new Map<MeasuredEndpoint, Counts>()

  constructor(registry: Registry, inFlight: () => number) {
    const registers = [registry]
    const routes = () => this.#byPath.values()
    new Counter({
      name: 'ipid_http_requests_total',
      help: 'Requests that were answered',
      labelNames: ['route', 'status'],
      registers,
      collect() {
        this.reset()
        for (const { path, byStatus } of routes()) {
          for (const [status, requests] of byStatus) this.inc({ route: path, status: String(status) }, requests)
        }
      },
    })
    this.#refused = new Counter({
      name: 'ipid_http_refused_total',
      help: 'Requests that were answered with 429, by the limit that was reached',
      labelNames: ['limit'],
      registers,
    })
    for (const limit of LIMITS) this.#refused.inc({ limit }, 0)
    new SecondsHistogram(registry, routes)
    new Gauge({
      name: 'ipid_http_requests_in_flight',
      help: 'Requests in progress',
      registers,
      collect() {
        this.set(inFlight())
      },
    })
  }

  refused(limit: Limit): void {
    this.#refused.inc({ limit })
  }

  responded(endpoint: MeasuredEndpoint, status: number, seconds: number): void {
    const counts = this.#byEndpoint.get(endpoint) ?? this.#countsOf(endpoint)
    const { byStatus, byBound } = counts
    byStatus.set(status, (byStatus.get(status) ?? 0) + 1)
    let bound = 0
    while (bound < SECONDS.length && seconds > SECONDS[bound]!) bound++
    byBound[bound]!++
    counts.seconds += seconds
  }

  #countsOf(endpoint: MeasuredEndpoint): Counts {
    const { path } = endpoint
    const byBound = new Array<number>(SECONDS.length + 1).fill(0)
    const counts = this.#byPath.get(path) ?? { path, byStatus: new Map(), byBound, seconds: 0 }
    this.#byPath.set(path, counts)
    this.#byEndpoint.set(endpoint, counts)
    return counts
  }
}

type HistogramData = ReturnType<Histogram<'route'>['get']>

/** Reports the counts as a histogram of the library. */
class SecondsHistogram extends Histogram<'route'> {
  readonly #routes: () => Iterable<Counts>

  constructor(registry: Registry, routes: () => Iterable<Counts>) {
    super({ ...SECONDS_METRIC, labelNames: ['route'], buckets: SECONDS, registers: [registry] })
    this.#routes = routes
  }

  override async get(): HistogramData {
    const values = [...this.#routes()].flatMap(valuesOf)
    // The declared type of the library differs from its result.
    return { ...SECONDS_METRIC, type: 'histogram', values, aggregator: 'sum' } as unknown as Awaited<HistogramData>
  }

  /** The library calls this to write text. */
  getForPromString(): HistogramData {
    return this.get()
  }
}

function valuesOf({ path: route, byBound, seconds }: Counts): Awaited<HistogramData>['values'] {
  const { name } = SECONDS_METRIC
  let requests = 0
  const buckets = byBound.map((more, i) => {
    requests += more
    return { labels: { le: SECONDS[i] ?? '+Inf', route }, value: requests, metricName: `${name}_bucket` }
  })
  return [
    ...buckets,
    { labels: { route }, value: seconds, metricName: `${name}_sum` },
    { labels: { route }, value: requests, metricName: `${name}_count` },
  ]
}
