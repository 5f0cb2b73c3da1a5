import { ChunkList } from './chunk-list.ts'

/** Collects the body of a request in memory, up to a limit. */
export class BodyBuffer {
  readonly #maxBytes: number
  readonly #chunks = new ChunkList()
  /** A body that came as one chunk, not copied: see `keep`. */
  #lent: ArrayBuffer | Uint8Array | undefined
  #bytes = 0
  #state: 'receiving' | 'complete' | 'too large' | 'failed' = 'receiving'
  #failure: unknown
  #settle: (() => void) | undefined

  /** @param maxBytes limit of what is kept; a body over it is dropped whole */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Bytes taken into memory; never fewer than are held. */
  get heldBytes(): number {
    return this.#bytes
  }

  /** Takes what arrived. Behind the last chunk `keep` is to be called, before the memory of that is gone. */
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

  /** Copies what was not taken so far. A body that came as one chunk, and was taken before, is never copied. */
  keep(): void {
    if (this.#lent !== undefined) this.#chunks.push(this.#lent)
    this.#lent = undefined
  }

  /** Ends the collection: `complete` rejects with the error. */
  fail(error: unknown): void {
    if (this.#state !== 'receiving') return
    this.#failure = error
    this.#drop('failed')
  }

  /**
   * The whole body when it has arrived, without a promise when it has; undefined as soon as it is over the limit. To be
   * called once, and read before `keep` may be called.
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
