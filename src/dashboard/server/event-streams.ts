import { HttpError, tooMany } from '../../http/engine/http-error.ts'
import type { HttpResponse } from '../../http/engine/response.ts'
import { Loop } from '../../run/loop.ts'
import { type Tenant, tenantKey } from '../../tenants/tenancy.ts'
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
  /** How often it is asked who still may see what, milliseconds: another process may have ended a session. */
  readonly askEveryMs: number
}

/** Whether a session still is what it was, and may see a tenant. Rejects when nobody can say now: it is asked again. */
type StillAllowed = (session: Session, tenant: Tenant | undefined) => Promise<boolean>

interface OpenOptions {
  /** Whose events they are; a stream ends when the session may see the tenant no more. */
  readonly tenant?: Tenant
  /** Events that are held for a slow reader; of more the oldest are left out. Default 4. */
  readonly heldMax?: number
}

/** The engine ends an answer of which nothing came for 30 s. */
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
  readonly #isAllowed: StillAllowed
  readonly #open = new Map<OpenStream, Reader>()
  readonly #bySession = new Map<string, Set<OpenStream>>()
  #asking: Loop | undefined
  #ended = false

  constructor(limits: Partial<EventStreamLimits> = {}, isAllowed: StillAllowed = async () => true) {
    this.#limits = { ...LIMITS, ...limits }
    this.#isAllowed = isAllowed
  }

  /** How many are read now. */
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
    // A proxy that gathers answers would hold events back.
    return { status: 200, type: 'text/event-stream', headers: { 'x-accel-buffering': 'no' }, body, flush: true }
  }

  /** Ends those of a session: somebody signed out. */
  endOf(session: Session): void {
    for (const stream of this.#bySession.get(session.id) ?? []) stream.end()
  }

  /** Ends all of them at once. */
  end(): void {
    this.#ended = true
    for (const stream of this.#open.keys()) stream.end()
  }

  #assertRoom({ id }: Session): void {
    if (this.#ended) throw new HttpError(503, 'the dashboard is stopping', { headers: { 'retry-after': '2' } })
    const { perSessionMax, totalMax } = this.#limits
    if ((this.#bySession.get(id)?.size ?? 0) >= perSessionMax) {
      throw tooMany(`more than ${perSessionMax} pages of this session show what goes on: close some`, 5, 'requests')
    }
    if (this.#open.size >= totalMax) throw tooMany(`more than ${totalMax} pages show what goes on`, 5, 'requests')
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
      name: 'who still may see what',
      round: async () => {
        await this.#endRefused()
        return this.#limits.askEveryMs
      },
      // Nobody can say: every stream ends by its age.
      failed: () => {},
      delay: ASK_DELAY,
      unref: true,
    })
    return this.#asking
  }

  /** Asks once for all streams of a session that show the same. */
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
  /** @throws HttpError when there is no room any more */
  opened(): void
  ended(): void
}

/** Who reads a stream. */
interface Reader {
  readonly session: Session
  readonly tenant: Tenant | undefined
}

/** An iterator of its own making: that of a generator is not told of the reader's end while it waits. */
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
    this.#owner.opened()
    this.#state = 'open'
    this.#oldAge = setTimeout(() => this.end(), this.#limits.ageMaxMs).unref()
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
