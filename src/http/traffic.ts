import type { Logger } from 'pino'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { type HttpError, tooMany } from './errors.ts'
import type { Exchange } from './exchange.ts'
import type { HttpLimits } from './limits.ts'
import type { Route } from './route.ts'

/** How often requests that take too long are looked for. */
const SWEEP_EVERY_MS = 500
const WARN_EVERY_MS = 1_000

/** Histogram bounds, seconds. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** All requests of one server that are in flight: their limits, deadlines, counts. */
export class Traffic {
  readonly limits: HttpLimits
  readonly #log: Logger
  readonly #exchanges = new Set<Exchange>()
  readonly #measures: Measures
  #heldBytes = 0
  #warnedMs = Number.NEGATIVE_INFINITY
  #unwarned = 0
  #draining = false
  #sweeper: NodeJS.Timeout | undefined
  #idle: (() => void) | undefined

  constructor(limits: HttpLimits, log: Logger, metrics: Registry) {
    this.limits = limits
    this.#log = log
    this.#measures = new Measures(metrics, () => this.#exchanges.size)
  }

  /** Whether every answer ends its connection. */
  get draining(): boolean {
    return this.#draining
  }

  start(): void {
    this.#draining = false
    this.#sweeper ??= setInterval(() => this.#sweep(), SWEEP_EVERY_MS).unref()
  }

  stop(): void {
    clearInterval(this.#sweeper)
    this.#sweeper = undefined
  }

  /** Resolves when nothing is in flight, or after `withinMs`, with what is left. */
  async drain(withinMs: number): Promise<number> {
    this.#draining = true
    if (this.#exchanges.size > 0) {
      await new Promise<void>((resolve) => {
        const deadline = setTimeout(resolve, withinMs)
        this.#idle = () => {
          clearTimeout(deadline)
          resolve()
        }
      })
    }
    return this.#exchanges.size
  }

  /** Takes note of a request. Returns why it is refused when there are too many. */
  entered(exchange: Exchange): HttpError | undefined {
    this.#exchanges.add(exchange)
    if (this.#exchanges.size <= this.limits.inFlightMax) return undefined
    return tooMany(`more than ${this.limits.inFlightMax} requests are in progress`, 1)
  }

  /** Counts bytes of bodies in memory. Returns why the request is refused when they are too many. */
  hold(bytes: number): HttpError | undefined {
    this.#heldBytes += bytes
    if (this.#heldBytes <= this.limits.bodiesMaxBytes) return undefined
    return tooMany(`more than ${this.limits.bodiesMaxBytes} bytes are being received`, 1)
  }

  answered(exchange: Exchange, status: number): void {
    this.#measures.answered(exchange.arrival.route, status, (performance.now() - exchange.startedMs) / 1_000)
  }

  left(exchange: Exchange): void {
    if (!this.#exchanges.delete(exchange)) return
    this.#heldBytes -= exchange.heldBytes
    if (this.#exchanges.size === 0) this.#idle?.()
  }

  logFailure(exchange: Exchange, error: unknown, unexpected: boolean): void {
    const facts = { err: error, request_id: exchange.requestId, path: exchange.arrival.route.path }
    if (unexpected) {
      this.#log.error(facts, 'request failed unexpectedly')
      return
    }
    // When a store is away every request fails alike.
    const nowMs = performance.now()
    if (nowMs - this.#warnedMs < WARN_EVERY_MS) {
      this.#unwarned++
      return
    }
    this.#log.warn({ ...facts, like_it_before: this.#unwarned }, 'request could not be served')
    this.#warnedMs = nowMs
    this.#unwarned = 0
  }

  #sweep(): void {
    const nowMs = performance.now()
    for (const exchange of this.#exchanges) exchange.sweep(nowMs)
  }
}

/** Metrics, with the children of each label set looked up once. */
class Measures {
  readonly #requests: Counter<'route' | 'status'>
  readonly #seconds: Histogram<'route'>
  readonly #byRoute = new Map<
    Route,
    { seconds: Histogram.Internal<'route'>; statuses: Map<number, Counter.Internal> }
  >()

  constructor(registry: Registry, inFlight: () => number) {
    const registers = [registry]
    this.#requests = new Counter({
      name: 'ipid_http_requests_total',
      help: 'Requests that were answered',
      labelNames: ['route', 'status'],
      registers,
    })
    this.#seconds = new Histogram({
      name: 'ipid_http_request_seconds',
      help: 'Time from the header section to the answer',
      labelNames: ['route'],
      buckets: SECONDS,
      registers,
    })
    new Gauge({
      name: 'ipid_http_requests_in_flight',
      help: 'Requests that are being received or worked on',
      registers,
      collect() {
        this.set(inFlight())
      },
    })
  }

  answered(route: Route, status: number, seconds: number): void {
    let its = this.#byRoute.get(route)
    if (!its) {
      its = { seconds: this.#seconds.labels(route.path), statuses: new Map() }
      this.#byRoute.set(route, its)
    }
    let counter = its.statuses.get(status)
    if (!counter) {
      counter = this.#requests.labels(route.path, String(status))
      its.statuses.set(status, counter)
    }
    counter.inc()
    its.seconds.observe(seconds)
  }
}
