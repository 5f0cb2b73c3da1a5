import { HttpError, tooMany } from '../../http/engine/http-error.ts'
import type { HttpResponse } from '../../http/engine/response.ts'
import { Loop } from '../../run/loop.ts'
import { type Tenant, tenantKey } from '../../tenants/tenancy.ts'
import type { Session } from './sessions.ts'

/** Takes events from a source. Never waits and never throws; ignores events after the end. */
export interface EventSender {
  /** @param text of `eventText` */
  send(text: string): void
}

/** Starts to send. Returns a function that stops it, which is called once. */
export type BeginSending = (sender: EventSender) => () => void

export interface EventStreamLimits {
  /** Sends a comment after this long without an event, milliseconds: engines and proxies close silent connections. */
  readonly heartbeatMs: number
  /** Ends a stream at this age, milliseconds. The browser opens another one, which checks the session again. */
  readonly ageMaxMs: number
  /** Concurrent streams of a session, and of all. Further ones get 429. */
  readonly perSessionMax: number
  readonly totalMax: number
  /** How often sessions are checked, milliseconds: another process may have ended one. */
  readonly askEveryMs: number
}

/** Whether a session is still valid and may see the tenant. When it rejects, it is called again later. */
type StillAllowed = (session: Session, tenant: Tenant | undefined) => Promise<boolean>

interface OpenOptions {
  /** Tenant of the events. A stream ends when the session may not see it any more. */
  readonly tenant?: Tenant
  /** Events to hold for a slow reader. Beyond that the oldest are dropped. Default 4. */
  readonly heldMax?: number
}

/** The engine closes a response after 30 s without data. */
const LIMITS: EventStreamLimits = {
  heartbeatMs: 10_000,
  ageMaxMs: 240_000,
  perSessionMax: 16,
  totalMax: 500,
  askEveryMs: 2_000,
}
const HELD_MAX = 4
const RETRY_MS = 2_000
const ASK_DELAY = { minMs: 500, maxMs: 5_000 }

/** An event in the format `text/event-stream` of the HTML standard. @param value becomes JSON */
export function eventText(name: string, value: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(value)}\n\n`
}

/**
 * Responses of server-sent events. A source starts when its reader does, and a slow reader holds a few events at most. Call
 * `end` before the server stops.
 */
export class EventStreams {
  readonly #limits: EventStreamLimits
  readonly #isAllowed: StillAllowed
  readonly #open = new Map<OpenStream, Reader>()
  readonly #bySession = new Map<string, Set<OpenStream>>()
  #asking: Loop | undefined
  #ended = false

  constructor(limits: Partial<EventStreamLimits> = {}, isAllowed: StillAllowed = async () => true) {
    this.#limits = { ...LIMITS, ...limits }
    this.#isAllowed = isAllowed
  }

  /** Number of open streams. */
  get size(): number {
    return this.#open.size
  }

  /** @throws HttpError 429 when there are too many, 503 when the server is stopping */
  respond(session: Session, begin: BeginSending, { heldMax = HELD_MAX, tenant }: OpenOptions = {}): HttpResponse {
    this.#assertRoom(session)
    const reader = { session, tenant }
    const body: AsyncIterable<string> = {
      [Symbol.asyncIterator]: () => {
        const stream = new OpenStream(begin, heldMax, this.#limits, {
          opened: () => this.#opened(stream, reader),
          ended: () => this.#left(stream, reader),
        })
        return stream
      },
    }
    // A buffering proxy would delay events.
    return { status: 200, type: 'text/event-stream', headers: { 'x-accel-buffering': 'no' }, body, flush: true }
  }

  /** Ends the streams of a session after its sign-out. */
  endOf(session: Session): void {
    for (const stream of this.#bySession.get(session.id) ?? []) stream.end()
  }

  /** Ends all of them at once. */
  end(): void {
    this.#ended = true
    for (const stream of this.#open.keys()) stream.end()
  }

  #assertRoom({ id }: Session): void {
    if (this.#ended) throw new HttpError('stopping', 'the dashboard is stopping', { headers: { 'retry-after': '2' } })
    const { perSessionMax, totalMax } = this.#limits
    if ((this.#bySession.get(id)?.size ?? 0) >= perSessionMax) {
      throw tooMany(`more than ${perSessionMax} live pages of this session are open: close some`, 5, 'requests')
    }
    if (this.#open.size >= totalMax) throw tooMany(`more than ${totalMax} live pages are open`, 5, 'requests')
  }

  /** Asks for room once more: others may have been let through at the same moment. */
  #opened(stream: OpenStream, reader: Reader): void {
    this.#assertRoom(reader.session)
    const key = reader.session.id
    this.#open.set(stream, reader)
    this.#bySession.set(key, (this.#bySession.get(key) ?? new Set()).add(stream))
    if (this.#asking === undefined) void this.#ask().start()
  }

  #left(stream: OpenStream, { session }: Reader): void {
    this.#open.delete(stream)
    const ofSession = this.#bySession.get(session.id)
    ofSession?.delete(stream)
    if (ofSession?.size === 0) this.#bySession.delete(session.id)
    if (this.#open.size > 0) return
    void this.#asking?.stop()
    this.#asking = undefined
  }

  #ask(): Loop {
    this.#asking = new Loop({
      name: 'session checks',
      round: async () => {
        await this.#endRefused()
        return this.#limits.askEveryMs
      },
      // Without an answer, a stream still ends at its maximum age.
      failed: () => {},
      delay: ASK_DELAY,
      unref: true,
    })
    return this.#asking
  }

  /** Checks once per session and tenant. */
  async #endRefused(): Promise<void> {
    const answers = new Map<string, Promise<boolean>>()
    const asked = [...this.#open].map(async ([stream, { session, tenant }]) => {
      const key = `${session.id} ${tenant === undefined ? '' : tenantKey(tenant)}`
      const answer = answers.get(key) ?? this.#isAllowed(session, tenant)
      answers.set(key, answer)
      if (!(await answer)) stream.end()
    })
    await Promise.all(asked)
  }
}

interface StreamOwner {
  /** @throws HttpError when there are too many streams */
  opened(): void
  ended(): void
}

interface Reader {
  readonly session: Session
  readonly tenant: Tenant | undefined
}

/** Not a generator: a waiting generator would not notice that its reader has left. */
class OpenStream implements AsyncIterator<string>, EventSender {
  readonly #begin: BeginSending
  readonly #heldMax: number
  readonly #limits: EventStreamLimits
  readonly #owner: StreamOwner
  #held: string[] = []
  #state: 'new' | 'open' | 'ended' = 'new'
  #stop: () => void = () => {}
  #wake: () => void = () => {}
  #oldAge: NodeJS.Timeout | undefined

  constructor(begin: BeginSending, heldMax: number, limits: EventStreamLimits, owner: StreamOwner) {
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

  /** Called one at a time. Sends all held events together. */
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
    this.#owner.opened()
    this.#state = 'open'
    this.#oldAge = setTimeout(() => this.end(), this.#limits.ageMaxMs).unref()
    const stop = this.#begin(this)
    this.#stop = stop
    // It may have ended during `begin`.
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
