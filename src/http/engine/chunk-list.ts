/** Chunks of at least this size are kept separately; smaller ones share a buffer. */
const LARGE_BYTES = 16_384
const SHARED_BYTES = 65_536
/** A small body that came in one chunk uses Node.js' buffer pool. */
const POOLED_BYTES = 2_048

/**
 * Bytes in order of arrival. Copies each chunk, because its memory is reused afterwards. Small chunks share buffers, so
 * that a body that arrives byte by byte takes little more memory than its bytes.
 */
export class ChunkList {
  #full: Buffer[] = []
  #shared: Buffer | undefined
  #used = 0
  #taken = 0
  #bytes = 0

  /** Number of bytes held. */
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

  /** Removes and returns the first bytes; undefined when nothing is left. */
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

  /** The bytes in pieces, without removing them. */
  pieces(): readonly Uint8Array[] {
    if (this.#shared === undefined || this.#taken === this.#used) return this.#full
    return [...this.#full, this.#shared.subarray(this.#taken, this.#used)]
  }

  clear(): void {
    this.#full = []
    this.#shared = undefined
    this.#used = 0
    this.#taken = 0
    this.#bytes = 0
  }

  /** Turns the used part of the shared buffer into a chunk, and continues with the rest of the buffer. */
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
