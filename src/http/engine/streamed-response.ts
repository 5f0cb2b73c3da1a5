import type { BodyWriter, ResponseReader } from './engine.ts'
import type { HttpLimits } from './limits.ts'

type StreamLimits = Pick<HttpLimits, 'writeStallMs' | 'workMs' | 'discardMs'>

/** Called by a streamed response. Nothing is called after `abort`. */
interface StreamOwner {
  /** Everything is sent; the writer is given up. */
  done(): void
  /** The response cannot continue: cut the connection off. `failure` is undefined when the client caused it. */
  broken(failure: unknown): void
  /** The client makes no room but has time left: keep the connection open. */
  keepOpen(): void
}

/** The body of a response while it is sent. While the client makes no room, the source is not asked for more. */
export class StreamedResponse {
  readonly #source: AsyncIterator<string>
  readonly #limits: StreamLimits
  readonly #owner: StreamOwner
  #state: 'writing' | 'waiting for the source' | 'waiting for room' | 'lingering' | 'over' = 'writing'
  /** `performance.now()` when the state began, or the client last read something. */
  #sinceMs = performance.now()
  #roomMade: () => void = () => {}
  #flush = false

  constructor(source: AsyncIterator<string>, limits: StreamLimits, owner: StreamOwner) {
    this.#source = source
    this.#limits = limits
    this.#owner = owner
  }

  /**
   * Writes head and body, and ends the response. Never rejects.
   * @param open sends the head; called once
   * @param first the first piece of the source
   * @param flush see `HttpResponse`
   */
  async send(
    open: (reader: ResponseReader) => BodyWriter,
    first: IteratorResult<string>,
    flush = false,
  ): Promise<void> {
    this.#flush = flush
    try {
      const body = open({
        moved: () => {
          this.#sinceMs = performance.now()
        },
        hasRoom: () => this.#roomMade(),
      })
      for (let piece = first; !piece.done; piece = await this.#next()) {
        body.add(piece.value)
        await this.#write(body, flush)
      }
      await this.#write(body, true)
      if (this.#isOver) return
      if (!body.end()) {
        this.#enter('lingering')
        return
      }
      this.#state = 'over'
      this.#owner.done()
    } catch (error) {
      this.#break(error)
    }
  }

  /** The connection is gone: stops writing and ends the source. */
  abort(): void {
    if (this.#isOver) return
    this.#state = 'over'
    this.#roomMade()
    this.#source.return?.().catch(() => {})
  }

  /**
   * Ends a response that takes too long: a client that makes no room, or a source that gives nothing. Call it at least
   * every few seconds.
   * @param nowMs `performance.now()`
   * @param stops whether the server stops: it then waits neither for a slow client of a live stream nor for a completed
   * response
   */
  sweep(nowMs: number, stops = false): void {
    const waitedMs = nowMs - this.#sinceMs
    if (this.#state === 'waiting for room') {
      if (waitedMs > this.#limits.writeStallMs || (stops && this.#flush)) this.#break(undefined)
      else this.#owner.keepOpen()
    } else if (this.#state === 'waiting for the source' && waitedMs > this.#limits.workMs) {
      this.#break(new Error('the rest of a response took too long'))
    } else if (this.#state === 'lingering' && (stops || waitedMs > this.#limits.discardMs)) {
      this.#break(undefined)
    }
  }

  get #isOver(): boolean {
    return this.#state === 'over'
  }

  async #next(): Promise<IteratorResult<string>> {
    if (this.#isOver) return { done: true, value: undefined }
    this.#enter('waiting for the source')
    const piece = await this.#source.next()
    if (this.#isOver) return { done: true, value: undefined }
    this.#enter('writing')
    return piece
  }

  /** Writes until there is nothing to write, and gives other requests their turn in between. */
  async #write(body: BodyWriter, rest: boolean): Promise<void> {
    while (!this.#isOver) {
      const written = body.write(rest)
      if (written === 'none') return
      if (written === 'full') await this.#room()
      else await new Promise(setImmediate)
    }
  }

  /** Resolves when the client has made room, or the response is over. */
  async #room(): Promise<void> {
    this.#enter('waiting for room')
    await new Promise<void>((resolve) => {
      this.#roomMade = resolve
    })
    if (!this.#isOver) this.#enter('writing')
  }

  #enter(state: 'writing' | 'waiting for the source' | 'waiting for room' | 'lingering'): void {
    this.#state = state
    this.#sinceMs = performance.now()
  }

  #break(failure: unknown): void {
    if (this.#isOver) return
    this.abort()
    this.#owner.broken(failure)
  }
}
