import { ChunkList } from './chunk-list.ts'
import { tooLarge } from './decode.ts'

/** Collects the body of a request in memory, up to a limit. */
export class BodyBuffer {
  readonly #maxBytes: number
  readonly #chunks = new ChunkList()
  /** A body that came as one chunk and is not copied yet: see `keep`. */
  #lent: ArrayBuffer | Uint8Array | undefined
  #bytes = 0
  #state: 'receiving' | 'complete' | 'too large' | 'failed' = 'receiving'
  #failure: unknown
  /** Called when there are as many bytes as are waited for, or when no more come. */
  #settle: (() => void) | undefined
  #awaitedBytes = Number.POSITIVE_INFINITY

  /** @param maxBytes limit of the body; a larger one is dropped as a whole */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Bytes counted as held in memory; never fewer than are held. */
  get heldBytes(): number {
    return this.#bytes
  }

  /** Takes a chunk. After the last chunk, call `keep` before its memory is reused. */
  push(chunk: ArrayBuffer | Uint8Array, last: boolean): void {
    if (this.#state !== 'receiving') return
    const bytes = chunk.byteLength
    if (this.#bytes + bytes > this.#maxBytes) {
      this.#drop('too large')
      return
    }
    if (last && this.#bytes === 0) this.#lent = chunk
    else this.#chunks.push(chunk)
    this.#bytes += bytes
    if (last) this.#state = 'complete'
    if (last || this.#bytes >= this.#awaitedBytes) this.#settle?.()
  }

  /** Copies the last chunk. Does nothing when the body was taken before. */
  keep(): void {
    if (this.#lent !== undefined) this.#chunks.push(this.#lent)
    this.#lent = undefined
  }

  /** Ends the collection: `complete` rejects with this error. */
  fail(error: unknown): void {
    if (this.#state !== 'receiving') return
    this.#failure = error
    this.#drop('failed')
  }

  /**
   * The whole body: at once when it has arrived, or else as a promise. Undefined as soon as it exceeds the limit. Call it
   * once; read the result before `keep` may be called.
   */
  complete(): Buffer | undefined | Promise<Buffer | undefined> {
    if (this.#state !== 'receiving') return this.#taken()
    return this.#settled(Number.POSITIVE_INFINITY).then(() => this.#taken())
  }

  get isComplete(): boolean {
    return this.#state === 'complete'
  }

  /**
   * Waits for the first `minBytes`, or for all of a shorter body, before `complete` is called; without a promise when they have arrived.
   * @throws HttpError 413; the error of `fail`
   */
  arrived(minBytes: number): void | Promise<void> {
    if (this.#state === 'receiving' && this.#bytes < minBytes) {
      return this.#settled(minBytes).then(() => this.arrived(minBytes))
    }
    if (this.#state === 'failed') throw this.#failure
    if (this.#state === 'too large') throw tooLarge(this.#maxBytes)
  }

  /** What has arrived so far, in pieces. The last one is valid until `keep` is called. */
  pieces(): readonly Uint8Array[] {
    const lent = this.#lent
    if (lent === undefined) return this.#chunks.pieces()
    return [lent instanceof Uint8Array ? lent : new Uint8Array(lent)]
  }

  #settled(awaitedBytes: number): Promise<void> {
    this.#awaitedBytes = awaitedBytes
    return new Promise((resolve) => {
      this.#settle = resolve
    })
  }

  #taken(): Buffer | undefined {
    if (this.#state === 'failed') throw this.#failure
    if (this.#state === 'too large') return undefined
    const lent = this.#lent
    if (lent === undefined) return this.#chunks.all()
    this.#lent = undefined
    return lent instanceof Uint8Array ? Buffer.from(lent.buffer, lent.byteOffset, lent.byteLength) : Buffer.from(lent)
  }

  #drop(state: 'too large' | 'failed'): void {
    this.#state = state
    this.#bytes = 0
    this.#chunks.clear()
    this.#lent = undefined
    this.#settle?.()
  }
}
