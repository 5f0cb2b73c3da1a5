import { randomUUID } from 'node:crypto'
import { type Fault, IpidError } from './errors.ts'
import { atExit, type Exiting } from './exit.ts'
import { type Answer, jsonOf, type Transport } from './transport.ts'
import type { EventResult, VisitorEvent } from './types.ts'

/** Limits of a request to `/v1/ingest`. */
export const REQUEST_LIMITS = { eventsMax: 100, bodyMaxBytes: 1_048_576 } as const
const HEAD = '{"events":['
const TAIL = ']}'
/** The most bytes of the events of a request, with the commas between them. */
const EVENTS_MAX_BYTES = REQUEST_LIMITS.bodyMaxBytes - HEAD.length - TAIL.length

/** An event that was not delivered, and why. */
export interface FailedEvent {
  /** With the id and the time that it was sent with: as an argument of `track`, it is the same event. */
  readonly event: VisitorEvent
  readonly error: IpidError
}

export interface QueueOptions {
  readonly batchEvents: number
  readonly batchBytes: number
  readonly batchMs: number
  readonly queueEvents: number
  readonly queueBytes: number
  readonly requestsMax: number
  readonly retryMs: number
  readonly exitMs: number
  readonly onDelivered: (results: readonly EventResult[]) => void
  readonly onFailed: (failed: readonly FailedEvent[]) => void
}

/** Events of a queue since it was made. */
export interface QueueCounts {
  /** Answered by the service. */
  readonly delivered: number
  /** Reported as failed. */
  readonly failed: number
  /** In the queue or on their way. */
  readonly queued: number
}

/** An event as it is sent. It is made once, so that a repeat is a repeat, and that the caller may change the object. */
interface Made {
  readonly json: string
  readonly bytes: number
}

/** An event from `track` until its end. */
interface Waiting extends Made {
  readonly queuedAtMs: number
  /** All events between two calls of `flush`. */
  readonly group: Group
  readonly settle: Settle | undefined
  isEnded: boolean
  /** Whether the service may have taken it although no answer says so. */
  mayBeStored: boolean
}

/** A call of `deliver` that waits for room. */
interface Waiter extends Made {
  readonly settle: Settle
}

type Settle = (end: EventResult | IpidError) => void

/** Events that a `flush` waits for. */
class Group {
  open = 0
  #resolve = () => {}
  readonly done = new Promise<void>((resolve) => {
    this.#resolve = resolve
  })

  end(count: number): void {
    this.open -= count
    if (this.open === 0) this.#resolve()
  }
}

/**
 * Sends events in batches. Every event ends once: delivered, or failed with an error. A failed request is repeated with the same ids,
 * so a repeat counts once.
 *
 * While one batch waits for its next attempt, no other one is sent either: attempts are counted for the queue, not for a batch. When an
 * event reaches its deadline during such a pause, one attempt is made before the end of the pause. If that fails too, events whose
 * deadline comes before the end of the pause fail without a request. An answer that concerns every event, such as that of an unknown key,
 * fails the whole queue.
 */
export class EventQueue implements Exiting {
  readonly #transport: Transport
  readonly #options: QueueOptions
  /** Ends the requests of events that were abandoned. */
  #abort = new AbortController()
  #waiting: Waiting[] = []
  readonly #onTheWay = new Set<Waiting>()
  #waitingBytes = 0
  #heldBytes = 0
  #group = new Group()
  readonly #groups = new Set<Group>()
  #requests = 0
  /** Of `performance.now`, as all times of the queue: the wall clock may jump. */
  #pausedUntilMs = 0
  /** The last error that paused the queue. */
  #pausedBy: IpidError | undefined
  /** The attempt before the end of the pause. */
  #early: 'none' | 'running' | 'failed' = 'none'
  /** Each ends the sleep of a batch. */
  readonly #sleepers = new Set<() => void>()
  /** Rounds of attempts that failed since the service answered. */
  #attempts = 0
  #timer: NodeJS.Timeout | undefined
  #isClosed = false
  /** In the order of their calls. */
  readonly #waiters = new Set<Waiter>()
  #delivered = 0
  #failed = 0
  readonly #leaveExit: () => void

  constructor(transport: Transport, options: QueueOptions) {
    this.#transport = transport
    this.#options = options
    this.#leaveExit = atExit(this)
  }

  get counts(): QueueCounts {
    return { delivered: this.#delivered, failed: this.#failed, queued: this.#held }
  }

  get #held(): number {
    return this.#waiting.length + this.#onTheWay.size
  }

  /** @returns false when the event has failed already: `onFailed` was called */
  add(event: VisitorEvent): boolean {
    const made = this.#make(event)
    if (made instanceof IpidError) return this.#refuse(event, made)
    if (!this.#fits(made.bytes)) {
      return this.#refuse(JSON.parse(made.json), new IpidError('client_queue_full', 'the queue of this client is full'))
    }
    this.#take(made)
    return true
  }

  /** Waits for room, then for the answer. @throws IpidError */
  async deliver(event: VisitorEvent): Promise<EventResult> {
    const made = this.#make(event)
    if (made instanceof IpidError) throw made
    const ended = new Promise<EventResult>((resolve, reject) => {
      const settle: Settle = (end) => (end instanceof IpidError ? reject(end) : resolve(end))
      if (this.#waiters.size === 0 && this.#fits(made.bytes)) this.#take(made, settle)
      else this.#waiters.add({ ...made, settle })
    })
    return await awake(() => ended)
  }

  /** Resolves when every event that was added before has ended. */
  async flush(): Promise<void> {
    if (this.#group.open > 0) this.#group = new Group()
    this.#pump()
    await awake(() => Promise.all([...this.#groups].map(({ done }) => done)))
  }

  /** Takes no further events. After `withinMs` those that are left fail. */
  async close(withinMs: number): Promise<void> {
    this.#isClosed = true
    for (const { settle } of this.#waiters) settle(CLOSED())
    this.#waiters.clear()
    await this.drain(withinMs)
    this.#leaveExit()
  }

  /** `flush` with a limit: after it, all events fail. */
  async drain(withinMs: number = this.#options.exitMs): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(resolve, Math.min(withinMs, TIMER_MAX_MS), true)
    })
    const isLate = await Promise.race([this.flush().then(() => false), late])
    clearTimeout(timer)
    if (isLate) this.abandon()
  }

  /** Fails all events now. */
  abandon(): void {
    if (this.#held === 0) return
    const detail = 'the time at the end was not enough'
    const error = (mayBeStored: boolean) => new IpidError('not_delivered_in_time', detail, { mayBeStored })
    const onTheWay = [...this.#onTheWay]
    const waiting = this.#waiting.splice(0)
    this.#waitingBytes = 0
    this.#abort.abort()
    this.#abort = new AbortController()
    this.#wakeSleepers()
    this.#fail(onTheWay, () => error(true))
    this.#fail(waiting, () => error(false))
  }

  #make(event: VisitorEvent): Made | IpidError {
    if (this.#isClosed) return CLOSED()
    let json: string | undefined
    try {
      if (typeof event !== 'object' || event === null || Array.isArray(event)) throw new TypeError('not an object')
      const { event_id: id, timestamp, ...rest } = event
      json = JSON.stringify({ event_id: id ?? randomUUID(), timestamp: timestamp ?? new Date(), ...rest })
    } catch (error) {
      return new IpidError('not_json', `the event cannot be written as JSON: ${(error as Error).message}`)
    }
    const bytes = Buffer.byteLength(json)
    if (bytes > EVENTS_MAX_BYTES) {
      return new IpidError('event_too_large', `the event has ${bytes} bytes, and a request takes ${EVENTS_MAX_BYTES}`)
    }
    return { json, bytes }
  }

  #fits(bytes: number): boolean {
    const { queueEvents, queueBytes } = this.#options
    const held = this.#held
    return held === 0 || (held < queueEvents && this.#heldBytes + bytes <= queueBytes)
  }

  #take(made: Made, settle?: Settle): void {
    const event = {
      ...made,
      settle,
      group: this.#group,
      queuedAtMs: performance.now(),
      isEnded: false,
      mayBeStored: false,
    }
    this.#waiting.push(event)
    this.#waitingBytes += event.bytes
    this.#heldBytes += event.bytes
    event.group.open++
    this.#groups.add(event.group)
    this.#pump()
  }

  #refuse(event: VisitorEvent, error: IpidError): false {
    this.#failed++
    this.#report(() => this.#options.onFailed([{ event, error }]))
    return false
  }

  /** Begins requests, and sets the timer for the next one. */
  #pump(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const { batchEvents, batchBytes, batchMs, requestsMax } = this.#options
    while (this.#waiting.length > 0 && this.#requests < requestsMax) {
      const nowMs = performance.now()
      const [oldest] = this.#waiting
      if (nowMs < this.#pausedUntilMs) {
        const wakeMs = Math.min(this.#pausedUntilMs, this.#deadlineMsOf(oldest!))
        if (nowMs < wakeMs) return void this.#pumpIn(wakeMs - nowMs)
        // Its end calls this method.
        if (this.#early === 'running') return
        if (this.#early === 'failed') this.#failExpired()
        else void this.#deliver(this.#nextBatch())
        continue
      }
      const isFull = this.#waiting.length >= batchEvents || this.#waitingBytes >= batchBytes
      const isFlushed = oldest!.group !== this.#group || this.#isClosed
      const leftMs = oldest!.queuedAtMs + batchMs - nowMs
      if (!isFull && !isFlushed && leftMs > 0) return void this.#pumpIn(leftMs)
      void this.#deliver(this.#nextBatch())
    }
  }

  /** The timer keeps no process alive: at its end `drain` does. */
  #pumpIn(ms: number): void {
    this.#timer = setTimeout(() => this.#pump(), Math.max(1, Math.min(ms, TIMER_MAX_MS))).unref()
  }

  #nextBatch(): Waiting[] {
    const { batchEvents, batchBytes } = this.#options
    let count = 0
    let bytes = 0
    for (const event of this.#waiting) {
      if (count === batchEvents || (count > 0 && bytes + event.bytes + 1 > batchBytes)) break
      count++
      bytes += event.bytes + 1
    }
    return this.#withdraw(count)
  }

  /**
   * Sends a batch until each of its events has ended. Events that the service names as wrong fail, and the others are sent again; when
   * it refuses the body without a name, halves are sent. After a temporary error only the events fail whose time is over.
   */
  async #deliver(batch: readonly Waiting[]): Promise<void> {
    this.#requests++
    const { signal } = this.#abort
    const parts: (readonly Waiting[])[] = [batch]
    for (let part = parts.pop(); part !== undefined && !signal.aborted; part = parts.pop()) {
      try {
        const results = await this.#send(part, signal)
        this.#succeed(part, results)
      } catch (error) {
        const failure = error as IpidError
        const faults = faultsOf(failure, part.length)
        if (faults.size > 0) {
          const isNamed = (_: Waiting, i: number) => faults.has(i)
          const named = part.filter(isNamed)
          const errors = [...faults.values()]
          this.#fail(named, (i) => failure.with({ errors: errors[i]! }))
          const others = part.filter((event, i) => !isNamed(event, i))
          if (others.length > 0) parts.push(others)
        } else if (part.length > 1 && isOfBody(failure)) {
          const half = Math.ceil(part.length / 2)
          parts.push(part.slice(half), part.slice(0, half))
        } else if (failure.isTemporary) {
          const nowMs = performance.now()
          const isExpired = (event: Waiting) => this.#deadlineMsOf(event) <= nowMs
          const others = part.filter((event) => !isExpired(event))
          this.#fail(part.filter(isExpired), () => failure)
          if (others.length > 0) parts.push(others)
        } else if (isOfQueue(failure)) {
          this.#fail([...part, ...parts.splice(0).flat(), ...this.#withdraw(this.#waiting.length)], () => failure)
        } else {
          this.#fail(part, () => failure)
        }
      }
    }
    this.#requests--
    this.#pump()
  }

  /** The results of a batch, after all attempts that it needs. @throws IpidError a temporary one when the first event has expired */
  async #send(part: readonly Waiting[], signal: AbortSignal): Promise<readonly EventResult[]> {
    const body = HEAD + part.map(({ json }) => json).join(',') + TAIL
    const request = {
      method: 'POST',
      path: '/v1/ingest',
      headers: { 'content-type': 'application/json' },
      body: () => body,
      repeats: 'always',
    } as const
    const deadlineMs = this.#deadlineMsOf(part[0]!)
    for (;;) {
      await this.#untilResumed(deadlineMs, signal)
      const startedMs = performance.now()
      const isEarly = startedMs < this.#pausedUntilMs
      if (isEarly && (signal.aborted || this.#early === 'failed')) throw this.#pausedBy!.with({ mayBeStored: false })
      this.#early = isEarly ? 'running' : 'none'
      const round = this.#attempts
      try {
        const results = resultsOf(await this.#transport.once(request, signal), part)
        this.#attempts = 0
        if (isEarly) this.#pausedUntilMs = 0
        return results
      } catch (error) {
        if (!(error instanceof IpidError)) throw error
        for (const event of part) event.mayBeStored ||= error.mayBeStored
        if (!error.isTemporary) {
          this.#attempts = 0
          if (isEarly) this.#pausedUntilMs = 0
        }
        if (!error.isTemporary || signal.aborted) throw error
        const endedMs = performance.now()
        // Requests that were on their way together are one round.
        if (this.#attempts === round) this.#attempts++
        this.#pausedUntilMs = Math.max(this.#pausedUntilMs, endedMs + this.#transport.waitMs(error, round))
        this.#pausedBy = error
        if (startedMs >= deadlineMs) throw error
      } finally {
        if (isEarly) {
          this.#early = performance.now() < this.#pausedUntilMs ? 'failed' : 'none'
          this.#wakeSleepers()
          this.#pump()
        }
      }
    }
  }

  /** Waits for the end of the pause, but at most until the deadline and the end of an early attempt. */
  async #untilResumed(deadlineMs: number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const nowMs = performance.now()
      const leftMs = Math.min(this.#pausedUntilMs, deadlineMs) - nowMs
      if (leftMs > 0) await this.#sleep(leftMs)
      else if (nowMs < this.#pausedUntilMs && this.#early === 'running') await this.#sleep(TIMER_MAX_MS)
      else return
    }
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer)
        this.#sleepers.delete(wake)
        resolve()
      }
      const timer = setTimeout(wake, Math.max(1, Math.min(ms, TIMER_MAX_MS))).unref()
      this.#sleepers.add(wake)
    })
  }

  #wakeSleepers(): void {
    for (const wake of this.#sleepers) wake()
  }

  #deadlineMsOf(event: Waiting): number {
    return event.queuedAtMs + this.#options.retryMs
  }

  /** Fails the events of the queue whose time is over, without a request. */
  #failExpired(): void {
    const nowMs = performance.now()
    const firstOpen = this.#waiting.findIndex((event) => nowMs < this.#deadlineMsOf(event))
    const expired = this.#withdraw(firstOpen === -1 ? this.#waiting.length : firstOpen)
    this.#fail(expired, () => this.#pausedBy!.with({ mayBeStored: false }))
  }

  /** Takes events out of the queue, the oldest first. */
  #withdraw(count: number): Waiting[] {
    const events = this.#waiting.splice(0, count)
    for (const event of events) {
      this.#waitingBytes -= event.bytes
      this.#onTheWay.add(event)
    }
    return events
  }

  #succeed(events: readonly Waiting[], results: readonly EventResult[]): void {
    const ended = this.#end(events)
    if (ended.length === 0) return
    this.#delivered += ended.length
    this.#report(() => this.#options.onDelivered(results))
    for (const [i, { settle }] of events.entries()) settle?.(results[i]!)
  }

  #fail(events: readonly Waiting[], errorAt: (i: number) => IpidError): void {
    const errorOf = (event: Waiting, i: number) => {
      const error = errorAt(i)
      return event.mayBeStored && !error.mayBeStored ? error.with({ mayBeStored: true }) : error
    }
    const errors = new Map(events.map((event, i) => [event, errorOf(event, i)]))
    const failed = this.#end(events)
    this.#failed += failed.length
    // The caller of `deliver` has the error.
    const unseen = failed.filter(({ settle }) => settle === undefined)
    if (unseen.length > 0) {
      const ends = unseen.map((event) => ({ event: JSON.parse(event.json) as VisitorEvent, error: errors.get(event)! }))
      this.#report(() => this.#options.onFailed(ends))
    }
    for (const event of failed) event.settle?.(errors.get(event)!)
  }

  /** Those that had not ended before. */
  #end(events: readonly Waiting[]): Waiting[] {
    const ended = events.filter(({ isEnded }) => !isEnded)
    for (const event of ended) {
      event.isEnded = true
      this.#onTheWay.delete(event)
      this.#heldBytes -= event.bytes
      event.group.end(1)
      if (event.group.open === 0) this.#groups.delete(event.group)
    }
    this.#wakeWaiters()
    return ended
  }

  /** Takes events of waiters until the queue is full. */
  #wakeWaiters(): void {
    for (const waiter of this.#waiters) {
      if (!this.#fits(waiter.bytes)) return
      this.#waiters.delete(waiter)
      this.#take(waiter, waiter.settle)
    }
  }

  /** A callback that throws stops no delivery. */
  #report(call: () => void): void {
    try {
      call()
    } catch (error) {
      process.emitWarning(`a callback of ipid-client threw: ${(error as Error)?.message}`, 'IpidWarning')
    }
  }
}

/** A longer timer of Node.js fires at once. */
const TIMER_MAX_MS = 2 ** 31 - 1

const CLOSED = () => new IpidError('client_closed', 'the client was closed')

let awakeCalls = 0
let awakeTimer: NodeJS.Timeout | undefined

/** Runs work during which the process stays alive, although the timers of the queue keep none alive. One timer does so for all calls. */
async function awake<T>(work: () => Promise<T>): Promise<T> {
  if (awakeCalls++ === 0) awakeTimer = setInterval(() => {}, 2 ** 30)
  try {
    return await work()
  } finally {
    if (--awakeCalls === 0) clearInterval(awakeTimer)
  }
}

/** @throws IpidError when the answer is not that of these events */
function resultsOf(answer: Answer, { length }: readonly Waiting[]): readonly EventResult[] {
  const body = jsonOf<{ results?: EventResult[] } | null>(answer)
  if (Array.isArray(body?.results) && body.results.length === length) return body.results
  const { status } = answer
  throw new IpidError('unexpected_answer', 'the answer has not one result for each event', {
    status,
    mayBeStored: true,
  })
}

/** Whether the service refused the body itself, so that a part of it may be taken. */
function isOfBody({ status, code }: IpidError): boolean {
  return code !== 'unexpected_answer' && (status === 400 || status === 413 || status === 422)
}

/** Whether the answer concerns every event: the key is refused, or the quota is used. */
function isOfQueue({ status, code }: IpidError): boolean {
  return status === 401 || code === 'quota_exceeded'
}

/** The faults of the events of a request by their place in it, with paths from the event. The service names up to 20. */
function faultsOf(error: IpidError, count: number): Map<number, Fault[]> {
  const faults = new Map<number, Fault[]>()
  if (error.status !== 422) return faults
  for (const { path, message } of error.errors) {
    const [, index, rest] = /^events\[(\d{1,3})\]\.?(.*)$/s.exec(path) ?? []
    if (index === undefined || Number(index) >= count) continue
    faults.set(Number(index), [...(faults.get(Number(index)) ?? []), { path: rest!, message }])
  }
  return new Map([...faults].sort(([a], [b]) => a - b))
}
