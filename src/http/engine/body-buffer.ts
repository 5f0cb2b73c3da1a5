import { ChunkList } from './chunk-list.ts'

/** Collects the body of a request in memory, up to a limit. */
export class BodyBuffer {
  readonly #maxBytes: number
  readonly #chunks = new ChunkList()
  /** A body that came as one chunk and is not copied yet: see `keep`. */
  #lent: ArrayBuffer | Uint8Array | undefined
  #bytes = 0
  #state: 'receiving' | 'complete' | 'too large' | 'failed' = 'receiving'
  #failure: unknown
  #settle: (() => void) | undefined

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
    if (last) {
      this.#state = 'complete'
      this.#settle?.()
    }
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
    const settled = new Promise<void>((resolve) => {
      this.#settle = resolve
    })
    return settled.then(() => this.#taken())
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
    this.#chunks.clear()
    this.#lent = undefined
    this.#settle?.()
  }
}
