import { HttpError, tooMany } from '../../http/engine/http-error.ts'
import type { HttpResponse } from '../../http/engine/response.ts'
import type { Session } from './sessions.ts'

/** Where a source of events puts them. Never waits and never throws; behind the end nothing is taken any more. */
export interface EventSender {
  /** @param text of `eventText`, made once for all who get it */
  send(text: string): void
}

/** Begins to send. Returns what ends it, which is called once. */
export type BeginSending = (sender: EventSender) => () => void

export interface EventStreamLimits {
  /** A comment is sent when nothing else was for so long, milliseconds: engines and proxies end what is silent. */
  readonly heartbeatMs: number
  /** So old a stream ends, milliseconds; the browser opens another, and its session is looked at again. */
  readonly ageMaxMs: number
  /** At once, of one session and of all together; more are answered 429. */
  readonly perSessionMax: number
  readonly totalMax: number
}

export interface OpenOptions {
  /** Events that are held for a slow reader; of more the oldest are left out. Default 4. */
  readonly heldMax?: number
}

/** The engine ends an answer of which nothing came for 30 s. */
const LIMITS: EventStreamLimits = { heartbeatMs: 10_000, ageMaxMs: 240_000, perSessionMax: 16, totalMax: 500 }
const HELD_MAX = 4
const RETRY_MS = 2_000

/** An event as the HTML standard's `text/event-stream` has it. @param value anything that JSON can say */
export function eventText(name: string, value: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(value)}\n\n`
}

/**
 * Answers that go on for minutes: server-sent events. Nothing is asked of a source before somebody reads, and a reader that
 * stalls holds a few events at most. They are ended before the server that has them is stopped.
 */
export class EventStreams {
  readonly #limits: EventStreamLimits
  readonly #open = new Set<OpenStream>()
  readonly #bySession = new Map<string, Set<OpenStream>>()
  #ended = false

  constructor(limits: Partial<EventStreamLimits> = {}) {
    this.#limits = { ...LIMITS, ...limits }
  }

  /** How many are read now. */
  get size(): number {
    return this.#open.size
  }

  /** @throws HttpError 429 when there are too many, 503 when the server is stopping */
  respond(session: Session, begin: BeginSending, { heldMax = HELD_MAX }: OpenOptions = {}): HttpResponse {
    if (this.#ended) throw new HttpError(503, 'the dashboard is stopping', { headers: { 'retry-after': '2' } })
    const { perSessionMax, totalMax } = this.#limits
    const key = session.csrfToken
    if ((this.#bySession.get(key)?.size ?? 0) >= perSessionMax) {
      throw tooMany(`more than ${perSessionMax} pages of this session show what goes on: close some`, 5, 'requests')
    }
    if (this.#open.size >= totalMax) throw tooMany(`more than ${totalMax} pages show what goes on`, 5, 'requests')
    const body: AsyncIterable<string> = {
      [Symbol.asyncIterator]: () => {
        const stream = new OpenStream(begin, heldMax, this.#limits, {
          opened: () => this.#opened(stream, key),
          ended: () => this.#left(stream, key),
        })
        return stream
      },
    }
    // A proxy that gathers answers would hold events back.
    return { status: 200, type: 'text/event-stream', headers: { 'x-accel-buffering': 'no' }, body, flush: true }
  }

  /** Ends those of a session: somebody signed out. */
  endOf(session: Session): void {
    for (const stream of this.#bySession.get(session.csrfToken) ?? []) stream.end()
  }

  /** Ends all of them at once. */
  end(): void {
    this.#ended = true
    for (const stream of this.#open) stream.end()
  }

  #opened(stream: OpenStream, key: string): void {
    this.#open.add(stream)
    this.#bySession.set(key, (this.#bySession.get(key) ?? new Set()).add(stream))
    if (this.#ended) stream.end()
  }

  #left(stream: OpenStream, key: string): void {
    this.#open.delete(stream)
    const ofSession = this.#bySession.get(key)
    ofSession?.delete(stream)
    if (ofSession?.size === 0) this.#bySession.delete(key)
  }
}

/** An iterator of its own making: that of a generator is not told of the reader's end while it waits. */
class OpenStream implements AsyncIterator<string>, EventSender {
  readonly #begin: BeginSending
  readonly #heldMax: number
  readonly #limits: EventStreamLimits
  readonly #owner: { opened(): void; ended(): void }
  #held: string[] = []
  #state: 'new' | 'open' | 'ended' = 'new'
  #stop: () => void = () => {}
  #wake: () => void = () => {}
  #oldAge: NodeJS.Timeout | undefined

  constructor(
    begin: BeginSending,
    heldMax: number,
    limits: EventStreamLimits,
    owner: { opened(): void; ended(): void },
  ) {
    this.#begin = begin
    this.#heldMax = heldMax
    this.#limits = limits
    this.#owner = owner
  }

  send(text: string): void {
    if (this.#state !== 'open') return
    this.#held.push(text)
    if (this.#held.length > this.#heldMax) this.#held.shift()
    this.#wake()
  }

  end(): void {
    if (this.#state !== 'open') return
    this.#state = 'ended'
    clearTimeout(this.#oldAge)
    this.#owner.ended()
    this.#stop()
    this.#wake()
  }

  /** One at a time. What came meanwhile goes out together. */
  async next(): Promise<IteratorResult<string>> {
    if (this.#state === 'new') {
      this.#start()
      return { done: false, value: `retry: ${RETRY_MS}\n\n` }
    }
    if (this.#held.length === 0 && this.#state === 'open') await this.#moreOrHeartbeat()
    if (this.#state === 'ended') return { done: true, value: undefined }
    const text = this.#held.join('')
    this.#held = []
    return { done: false, value: text === '' ? ':\n\n' : text }
  }

  async return(): Promise<IteratorResult<string>> {
    this.end()
    return { done: true, value: undefined }
  }

  #start(): void {
    this.#state = 'open'
    this.#oldAge = setTimeout(() => this.end(), this.#limits.ageMaxMs).unref()
    this.#owner.opened()
    const stop = this.#begin(this)
    this.#stop = stop
    // It may have ended while it began.
    if (this.#isEnded) stop()
  }

  get #isEnded(): boolean {
    return this.#state === 'ended'
  }

  #moreOrHeartbeat(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.#limits.heartbeatMs).unref()
      this.#wake = () => {
        clearTimeout(timer)
        this.#wake = () => {}
        resolve()
      }
    })
  }
}
