import { ChunkList } from './chunk-list.ts'

/** What a stream needs of the connection: both tolerate being called in any state. */
export interface Flow {
  pause(): void
  resume(): void
}

/** The flow of a connection that may be touched only for a while. */
export function flowWhile(isOpen: () => boolean, flow: Flow): Flow {
  return {
    pause() {
      if (isOpen()) flow.pause()
    },
    resume() {
      if (isOpen()) flow.resume()
    },
  }
}

/** Above this many bytes waiting to be taken, the connection is not read; it is read again below half of it. */
const HIGH_WATER_BYTES = 1_048_576

/** The body of a request as it arrives, no faster than it is taken. To be iterated once. */
export class BodyStream implements AsyncIterable<Buffer> {
  readonly #flow: Flow
  readonly #chunks = new ChunkList()
  #paused = false
  #ended = false
  #failure: unknown
  #wake: () => void = () => {}

  constructor(flow: Flow) {
    this.#flow = flow
  }

  /** Whether the sender waits for us, and not we for the sender. */
  get paused(): boolean {
    return this.#paused
  }

  get heldBytes(): number {
    return this.#chunks.bytes
  }

  /** Takes what arrived. The chunk is copied: its memory is gone when the caller returns. */
  push(chunk: ArrayBuffer | Uint8Array, last: boolean): void {
    if (this.#failure !== undefined) return
    this.#chunks.push(chunk)
    if (last) this.#ended = true
    else if (!this.#paused && this.#chunks.bytes > HIGH_WATER_BYTES) {
      this.#paused = true
      this.#flow.pause()
    }
    this.#wake()
  }

  /** Ends the iteration with an error, also when all is taken already; what was not taken is dropped. */
  fail(error: unknown): void {
    this.#failure ??= error
    this.#chunks.clear()
    this.letGo()
    this.#wake()
  }

  /** The rest is not wanted: the connection is read again, so that it can be dropped. */
  letGo(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#flow.resume()
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Buffer> {
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure
      const chunk = this.#chunks.shift()
      if (chunk !== undefined) {
        if (this.#chunks.bytes < HIGH_WATER_BYTES / 2) this.letGo()
        yield chunk
      } else if (this.#ended) {
        return
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
      }
    }
  }
}
