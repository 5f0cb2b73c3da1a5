import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
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
 * so a repeat counts once. While one batch waits for its next attempt, no other one is sent either.
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
  #pausedUntilMs = 0
  #timer: NodeJS.Timeout | undefined
  #isClosed = false
  /** Resolves when an event ended. */
  #room = resolvers()
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
    return await awake(async () => {
      while (!this.#fits(made.bytes)) {
        if (this.#isClosed) throw CLOSED()
        await this.#room.promise
      }
      if (this.#isClosed) throw CLOSED()
      return await new Promise<EventResult>((resolve, reject) => {
        this.#take(made, (end) => (end instanceof IpidError ? reject(end) : resolve(end)))
      })
    })
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
    const event = { ...made, settle, group: this.#group, queuedAtMs: Date.now(), isEnded: false }
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
      const nowMs = Date.now()
      if (nowMs < this.#pausedUntilMs) return void this.#pumpIn(this.#pausedUntilMs - nowMs)
      const [oldest] = this.#waiting
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
    const batch = this.#waiting.splice(0, count)
    for (const event of batch) {
      this.#waitingBytes -= event.bytes
      this.#onTheWay.add(event)
    }
    return batch
  }

  /**
   * Sends a batch until each of its events has ended. Events that the service names as wrong fail, and the others are sent again; when
   * it refuses the body without a name, halves are sent.
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
        } else {
          this.#fail(part, () => failure)
        }
      }
    }
    this.#requests--
    this.#pump()
  }

  /** The results of a batch, after as many attempts as it takes. @throws IpidError */
  async #send(part: readonly Waiting[], signal: AbortSignal): Promise<readonly EventResult[]> {
    const body = HEAD + part.map(({ json }) => json).join(',') + TAIL
    const request = {
      method: 'POST',
      path: '/v1/ingest',
      headers: { 'content-type': 'application/json' },
      body: () => body,
    } as const
    const deadlineMs = part[0]!.queuedAtMs + this.#options.retryMs
    let mayBeStored = false
    for (let attempt = 0; ; attempt++) {
      await this.#untilResumed(signal)
      try {
        return resultsOf(await this.#transport.once(request, signal), part)
      } catch (error) {
        if (!(error instanceof IpidError)) throw error
        mayBeStored ||= error.mayBeStored
        const resumeMs = Date.now() + this.#transport.waitMs(error, attempt)
        if (!error.isTemporary || signal.aborted || resumeMs > deadlineMs) throw error.with({ mayBeStored })
        this.#pausedUntilMs = Math.max(this.#pausedUntilMs, resumeMs)
      }
    }
  }

  async #untilResumed(signal: AbortSignal): Promise<void> {
    for (;;) {
      const leftMs = this.#pausedUntilMs - Date.now()
      if (leftMs <= 0 || signal.aborted) return
      await sleep(Math.min(leftMs, TIMER_MAX_MS), undefined, { signal, ref: false }).catch(() => {})
    }
  }

  #succeed(events: readonly Waiting[], results: readonly EventResult[]): void {
    const ended = this.#end(events)
    if (ended.length === 0) return
    this.#delivered += ended.length
    this.#report(() => this.#options.onDelivered(results))
    for (const [i, { settle }] of events.entries()) settle?.(results[i]!)
  }

  #fail(events: readonly Waiting[], errorAt: (i: number) => IpidError): void {
    const errors = new Map(events.map((event, i) => [event, errorAt(i)]))
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
    if (ended.length > 0) {
      this.#room.resolve()
      this.#room = resolvers()
    }
    return ended
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

/** Runs work during which the process stays alive, although the timers of the queue keep none alive. */
async function awake<T>(work: () => Promise<T>): Promise<T> {
  const timer = setInterval(() => {}, 2 ** 30)
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}

function resolvers(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
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
