import type { HttpResponse } from 'uWebSockets.js'
import { OutputCollector } from './output-collector.ts'

/** What becomes of a streamed answer. Neither is called after `abort`. */
export interface StreamEnds {
  /** All is sent; the response is given up. */
  done(): void
  /** It cannot go on: the connection is to be cut off. `failure` is undefined when that is the reader's fault. */
  broken(failure: unknown): void
}

/**
 * The body of an answer on its way out, no faster than it is read. Of a body that is not read the engine holds one write
 * of the collector, and its source is not asked for more.
 *
 * What the kernel does not take of a write, the engine keeps, and asks for more when the kernel has room. It says whether
 * the kernel took all only of writes that are larger than its buffer of one turn, and of those made while it asks. So
 * writes are large, and when it asks, one byte is written to learn whether it still holds something.
 */
export class StreamedAnswer {
  readonly #response: HttpResponse
  readonly #source: AsyncIterator<string>
  readonly #ends: StreamEnds
  readonly #output = new OutputCollector()
  #state: 'writing' | 'waiting for the source' | 'waiting for room' | 'over' = 'writing'
  /** `performance.now()` when the state was entered, or the reader last made room. */
  #sinceMs = performance.now()
  #roomMade: () => void = () => {}

  constructor(response: HttpResponse, source: AsyncIterator<string>, ends: StreamEnds) {
    this.#response = response
    this.#source = source
    this.#ends = ends
  }

  /**
   * Writes head and body, and ends the answer. Never rejects.
   * @param writeHead writes status and headers; called once, corked
   * @param first what the source gave first
   */
  async send(writeHead: () => void, first: IteratorResult<string>): Promise<void> {
    try {
      this.#response.onWritable(() => this.#onRoom())
      this.#response.cork(writeHead)
      for (let piece = first; !piece.done; piece = await this.#next()) {
        this.#output.add(piece.value)
        await this.#writeAll(() => this.#output.take())
      }
      await this.#writeAll(() => this.#output.takeRest())
      if (this.#isOver) return
      this.#state = 'over'
      this.#response.cork(() => this.#response.end())
      this.#ends.done()
    } catch (error) {
      this.#break(error)
    }
  }

  /** The connection is gone: the response must not be touched any more, and the source is told to stop. */
  abort(): void {
    if (this.#isOver) return
    this.#state = 'over'
    this.#roomMade()
    this.#source.return?.().catch(() => {})
  }

  /**
   * Ends what takes too long; to be called at least every few seconds.
   * @param nowMs `performance.now()`
   * @param roomMs how long a reader may make no room
   * @param sourceMs how long the source may give nothing
   */
  sweep(nowMs: number, roomMs: number, sourceMs: number): void {
    const waitedMs = nowMs - this.#sinceMs
    if (this.#state === 'waiting for room') {
      if (waitedMs > roomMs) this.#break(undefined)
      else this.#keepOpen()
    } else if (this.#state === 'waiting for the source' && waitedMs > sourceMs) {
      this.#break(new Error('the rest of an answer took too long'))
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

  /** Writes what `take` gives until it gives nothing. Other requests get their turn in between. */
  async #writeAll(take: () => Buffer | undefined): Promise<void> {
    for (let bytes = take(); bytes !== undefined && !this.#isOver; bytes = this.#isOver ? undefined : take()) {
      if (this.#write(bytes)) await new Promise(setImmediate)
      else await this.#room()
    }
  }

  /** False when the kernel did not take all; a small write counts as taken. */
  #write(bytes: Buffer): boolean {
    let taken = true
    this.#response.cork(() => {
      taken = this.#response.write(bytes)
    })
    return taken
  }

  /** Resolves when the engine holds nothing, or the answer is over. */
  async #room(): Promise<void> {
    this.#enter('waiting for room')
    await new Promise<void>((resolve) => {
      this.#roomMade = resolve
    })
    if (!this.#isOver) this.#enter('writing')
  }

  /** The kernel has room. Returns true: whatever the engine holds is written out by the next write. */
  #onRoom(): boolean {
    if (this.#isOver) return true
    const byte = this.#state === 'waiting for room' ? this.#output.takeByte() : undefined
    if (byte === undefined) this.#response.cork(() => {})
    const taken = byte === undefined || this.#response.write(byte)
    this.#sinceMs = performance.now()
    if (taken) setImmediate(this.#roomMade)
    return true
  }

  /**
   * The engine closes a connection on which there was no room for 10 s. To resume its reading, after a pause, starts
   * those anew, and leaves it watching for room while it holds something.
   */
  #keepOpen(): void {
    this.#response.pause()
    this.#response.resume()
  }

  #enter(state: 'writing' | 'waiting for the source' | 'waiting for room'): void {
    this.#state = state
    this.#sinceMs = performance.now()
  }

  #break(failure: unknown): void {
    if (this.#isOver) return
    this.abort()
    this.#ends.broken(failure)
  }
}
