import { ChunkList } from './chunk-list.ts'

/** The parts of the connection that a stream needs. Both methods may be called in any state. */
export interface Flow {
  pause(): void
  resume(): void
}

/** A flow that does nothing once the connection may not be used any more. */
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

/** The connection is paused above this many unread bytes, and resumed below half of it. */
const HIGH_WATER_BYTES = 1_048_576

/** The body of a request as it arrives, with backpressure. Iterate it once. */
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

  /** Whether the sender waits for us to resume reading. */
  get paused(): boolean {
    return this.#paused
  }

  get heldBytes(): number {
    return this.#chunks.bytes
  }

  /** Takes a chunk and copies it, because its memory is reused when the caller returns. */
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

  /** Ends the iteration with an error, even when everything was read already. Unread bytes are dropped. */
  fail(error: unknown): void {
    this.#failure ??= error
    this.#chunks.clear()
    this.release()
    this.#wake()
  }

  /** Drops the rest: resumes reading, so that the bytes can be discarded. */
  release(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#flow.resume()
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Buffer> {
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure
      const chunk = this.#chunks.shift()
      if (chunk !== undefined) {
        if (this.#chunks.bytes < HIGH_WATER_BYTES / 2) this.release()
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
