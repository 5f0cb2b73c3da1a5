import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { Slices } from '../../run/slices.ts'
import { TenantSlots } from '../../run/tenant-slots.ts'
import { BodyBudget, type BodyOwner } from './body-budget.ts'
import type { ArrivedRequest } from './engine.ts'
import { type HttpError, type Limit, tooMany } from './http-error.ts'
import type { HttpLimits } from './limits.ts'
import { type MeasuredEndpoint, Measures } from './measures.ts'

/** How often requests that take too long are checked for. */
const SWEEP_EVERY_MS = 500
const WARN_EVERY_MS = 1_000
/** Bodies that are decoded in other threads at a time. Those threads also write Redis' file to the disk. */
const DECODING = {
  ofTenant: 1,
  all: 2,
  waitingOfTenant: 1_000,
  waitMaxMs: 20_000,
  refusal: 'too many compressed bodies are waiting',
  retrySeconds: 1,
  limit: 'requests',
} as const
/** Part of the requests in progress that is freed at once when they are too many, so that not every new one looks for old ones. */
const FREED_SHARE = 1 / 64
/** Pause of the search for a stranger's request after none was found. */
const SEARCH_EVERY_MS = 50
/** A turn with more requests than this is crowded. */
const TURN_REQUESTS = 500

/** A request in flight, as the server sees it. */
export interface InFlight {
  readonly requestId: string
  readonly endpoint: MeasuredEndpoint
  /** `performance.now()` when its header section arrived. */
  readonly startedMs: number
  /** Bytes of its body that count as held in memory, and their owner. */
  readonly heldBytes: number
  readonly owner: BodyOwner
  /** Whether its body is still arriving, and its key is not known. */
  readonly isArrivingStranger: boolean
  /** Only for `Traffic`: its position among those in flight; -1: not among them. */
  position: number
  /** Begins the response unless it has begun, because its turn ends. */
  begin(): void
  /** Ends the request and its connection, without an answer. */
  cutOff(): void
  /** Ends the request if it takes too long. @param nowMs `performance.now()` */
  sweep(nowMs: number): void
}

/** The client of a request: the address that its unknown keys and its bodies count against. */
export type ClientOf = (request: { readonly request: ArrivedRequest; peerAddress(): string }) => string

export interface TrafficOptions {
  /** Called for each response with its status. */
  readonly onResponse?: ((status: number) => void) | undefined
  /** Default: the other end of the connection. */
  readonly clientOf?: ClientOf | undefined
}

/** All requests of one server that are in flight: their limits, deadlines, counts. */
export class Traffic {
  readonly limits: HttpLimits
  readonly #log: Logger
  readonly #onResponse: (status: number) => void
  readonly clientOf: ClientOf
  /**
   * In any order. Not a `Set`: adding and removing makes V8 chain its tables, and old tables keep all later requests alive
   * until a full garbage collection.
   */
  readonly #inFlight: InFlight[] = []
  readonly #measures: Measures
  readonly #budget: BodyBudget
  /** Runs long work of requests, see `Slices`. */
  readonly slices = new Slices()
  /** For work of requests in other threads. */
  readonly decoding = new TenantSlots(DECODING)
  #warnedMs = Number.NEGATIVE_INFINITY
  #unwarned = 0
  /** `performance.now()` before which no stranger is looked for. */
  #searchesMs = Number.NEGATIVE_INFINITY
  #draining = false
  #turnRequests = 0
  /** Requests of this turn whose body may arrive in this turn. */
  #beginning: InFlight[] = []
  #isStarted = false
  /** Set while requests are in flight. */
  #sweeper: NodeJS.Timeout | undefined
  #idle: (() => void) | undefined

  constructor(
    limits: HttpLimits,
    log: Logger,
    metrics: Registry,
    { onResponse = () => {}, clientOf = (request) => request.peerAddress() }: TrafficOptions = {},
  ) {
    this.limits = limits
    this.#budget = new BodyBudget(limits.bodiesMaxBytes)
    this.#log = log
    this.#onResponse = onResponse
    this.clientOf = clientOf
    this.#measures = new Measures(metrics, () => this.#inFlight.length)
  }

  /** Whether every response ends its connection, because the server stops. */
  get draining(): boolean {
    return this.#draining
  }

  /**
   * Whether this turn has reached its limit of requests: the next one is answered in a later turn. A connection sends its next
   * request only after a response, so no request waits for long.
   */
  get crowded(): boolean {
    return this.#turnRequests > TURN_REQUESTS
  }

  start(): void {
    this.#draining = false
    this.#isStarted = true
    if (this.#inFlight.length > 0) this.#sweepOn()
  }

  stop(): void {
    this.#isStarted = false
    this.#endSweeps()
  }

  /** Resolves when nothing is in flight, or after `withinMs`, with the number of requests left. */
  async drain(withinMs: number): Promise<number> {
    this.#draining = true
    if (this.#inFlight.length > 0) {
      await new Promise<void>((resolve) => {
        const deadline = setTimeout(resolve, withinMs)
        this.#idle = () => {
          clearTimeout(deadline)
          resolve()
        }
      })
    }
    return this.#inFlight.length
  }

  /**
   * Registers a request. When too many are in flight, the oldest ones of strangers make room for it. Returns the refusal when none can.
   * @param mayBegin whether to begin the response at the end of this turn
   */
  entered(request: InFlight, mayBegin: boolean): HttpError | undefined {
    request.position = this.#inFlight.push(request) - 1
    if (this.#sweeper === undefined && this.#isStarted) this.#sweepOn()
    if (this.#turnRequests++ === 0) setImmediate(() => this.#endTurn())
    if (mayBegin) this.#beginning.push(request)
    const { inFlightMax } = this.limits
    if (this.#inFlight.length <= inFlightMax) return undefined
    const wanted = inFlightMax * (1 - FREED_SHARE)
    this.#makeRoom(
      request,
      'requests',
      () => true,
      () => this.#inFlight.length <= wanted,
    )
    if (this.#inFlight.length <= inFlightMax) return undefined
    return tooMany(`more than ${this.limits.inFlightMax} requests are in progress`, 1, 'requests')
  }

  /**
   * Counts bytes of a body in memory, see `BodyBudget`. When those of strangers are too many, their oldest requests make room. Returns the
   * refusal when none can.
   * @param bytes negative: they are given back
   */
  hold(request: InFlight, bytes: number): HttpError | undefined {
    const { owner } = request
    if (bytes === 0 || this.#budget.take(owner, bytes)) return undefined
    if (owner.tenantId === undefined) {
      const { client } = owner
      const isOwn = this.#budget.isLarge(client)
      const mayGo = (other: InFlight) => other.heldBytes > 0 && (!isOwn || other.owner.client === client)
      if (this.#makeRoom(request, 'bytes', mayGo, () => this.#budget.hasRoom(client))) return undefined
    }
    const whose = owner.tenantId === undefined ? ' with unknown keys' : ' of this tenant'
    return tooMany(`too many bytes of requests${whose} are being received`, 1, 'bytes')
  }

  /**
   * Cuts off requests of strangers whose body is still arriving, the oldest first. A stranger can make bodies arrive slowly, and a customer
   * is a stranger until the key is found, which is at the start of most bodies. Returns whether there is enough room.
   * @param request makes room itself when it is older
   */
  #makeRoom(request: InFlight, limit: Limit, mayGo: (other: InFlight) => boolean, isEnough: () => boolean): boolean {
    const nowMs = performance.now()
    if (nowMs < this.#searchesMs) return false
    const isOlder = (other: InFlight) => other !== request && other.startedMs <= request.startedMs
    const strangers = this.#inFlight
      .filter((other) => other.isArrivingStranger && isOlder(other) && mayGo(other))
      .sort((a, b) => a.startedMs - b.startedMs)
    if (strangers.length === 0) this.#searchesMs = nowMs + SEARCH_EVERY_MS
    for (const stranger of strangers) {
      stranger.cutOff()
      this.refused(limit)
      if (isEnough()) return true
    }
    return false
  }

  /** Counts a response whose head goes out now. @param nowMs `performance.now()` */
  responded(request: InFlight, status: number, nowMs: number): void {
    this.#onResponse(status)
    this.#measures.responded(request.endpoint, status, (nowMs - request.startedMs) / 1_000)
  }

  /** Counts a request that is answered with 429. */
  refused(limit: Limit): void {
    this.#measures.refused(limit)
  }

  /** Forgets a request: its response is sent, or its connection is gone. */
  left(request: InFlight): void {
    const { position } = request
    if (position < 0) return
    const last = this.#inFlight.pop()!
    if (last !== request) {
      this.#inFlight[position] = last
      last.position = position
    }
    request.position = -1
    this.hold(request, -request.heldBytes)
    if (this.#inFlight.length === 0) this.#idle?.()
  }

  logFailure(request: InFlight, error: unknown, unexpected: boolean): void {
    const facts = { err: error, request_id: request.requestId, path: request.endpoint.path }
    if (unexpected) {
      this.#log.error(facts, 'request failed unexpectedly')
      return
    }
    // Log one of many equal failures, for example while a store is down.
    const nowMs = performance.now()
    if (nowMs - this.#warnedMs < WARN_EVERY_MS) {
      this.#unwarned++
      return
    }
    this.#log.warn({ ...facts, like_it_before: this.#unwarned }, 'cannot serve a request')
    this.#warnedMs = nowMs
    this.#unwarned = 0
  }

  #endTurn(): void {
    const beginning = this.#beginning
    this.#beginning = []
    this.#turnRequests = 0
    for (const request of beginning) request.begin()
  }

  #sweepOn(): void {
    this.#sweeper ??= setInterval(() => this.#sweep(), SWEEP_EVERY_MS).unref()
  }

  #endSweeps(): void {
    clearInterval(this.#sweeper)
    this.#sweeper = undefined
  }

  #sweep(): void {
    if (this.#inFlight.length === 0) this.#endSweeps()
    const nowMs = performance.now()
    // From the end, because a swept request is replaced by the last one.
    for (let i = this.#inFlight.length - 1; i >= 0; i--) this.#inFlight[i]?.sweep(nowMs)
  }
}
