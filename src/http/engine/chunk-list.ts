/** Chunks from here on are kept as they come; smaller ones share a buffer. */
const LARGE_BYTES = 16_384
const SHARED_BYTES = 65_536
/** A body that is whole with its first chunk, and as small as most are, lies in memory that Node.js has at hand. */
const POOLED_BYTES = 2_048

/**
 * Bytes in the order of their arrival. Each chunk is copied, for its memory is gone afterwards; small ones go into shared
 * buffers, so that a body that comes byte by byte takes hardly more memory than its bytes.
 */
export class ChunkList {
  #full: Buffer[] = []
  #shared: Buffer | undefined
  #used = 0
  #taken = 0
  #bytes = 0

  /** Bytes that are held. */
  get bytes(): number {
    return this.#bytes
  }

  push(chunk: ArrayBuffer | Uint8Array): void {
    const bytes = chunk instanceof Uint8Array ? chunk : new Uint8Array(chunk)
    if (bytes.length === 0) return
    this.#bytes += bytes.length
    if (bytes.length >= LARGE_BYTES || (this.#shared === undefined && this.#full.length === 0)) {
      this.#close()
      const copy =
        bytes.length <= POOLED_BYTES ? Buffer.allocUnsafe(bytes.length) : Buffer.allocUnsafeSlow(bytes.length)
      copy.set(bytes)
      this.#full.push(copy)
      return
    }
    if (this.#shared === undefined || this.#used + bytes.length > SHARED_BYTES) {
      this.#close()
      this.#shared = Buffer.allocUnsafeSlow(SHARED_BYTES)
    }
    this.#shared.set(bytes, this.#used)
    this.#used += bytes.length
  }

  /** Removes and returns what came first; undefined when nothing is left. */
  shift(): Buffer | undefined {
    if (this.#full.length === 0) this.#share()
    const chunk = this.#full.shift()
    if (chunk !== undefined) this.#bytes -= chunk.length
    return chunk
  }

  /** Removes and returns everything. */
  all(): Buffer {
    this.#close()
    const chunks = this.#full
    this.clear()
    return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
  }

  clear(): void {
    this.#full = []
    this.#shared = undefined
    this.#used = 0
    this.#taken = 0
    this.#bytes = 0
  }

  /** What the shared buffer holds so far becomes a chunk; the rest of the buffer is used on. */
  #share(): void {
    if (this.#shared === undefined || this.#taken === this.#used) return
    this.#full.push(this.#shared.subarray(this.#taken, this.#used))
    this.#taken = this.#used
  }

  #close(): void {
    this.#share()
    this.#shared = undefined
    this.#used = 0
    this.#taken = 0
  }
}
