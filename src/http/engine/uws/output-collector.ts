/** uWebSockets.js's buffer of one turn. Only for larger writes it reports whether the kernel took them. */
const CORK_BYTES = 16_384
/** Bytes kept for `takeByte` until the end. */
const RESERVE_BYTES = 32
/** The least that is written at once after the beginning. */
const WRITE_MIN_BYTES = CORK_BYTES + RESERVE_BYTES + 1

/**
 * Cuts the body of a response into writes. The beginning is sent as it comes: the kernel has room, since the client has
 * read the previous response. Every later write is larger than that buffer, except for a few bytes at the end.
 */
export class OutputCollector {
  #collected: Buffer[] = []
  #collectedBytes = 0
  #givenBytes = 0

  add(text: string): void {
    const bytes = Buffer.from(text)
    this.#collected.push(bytes)
    this.#collectedBytes += bytes.length
  }

  /** The next write; undefined when more must be collected first. */
  take(): Buffer | undefined {
    if (this.#collectedBytes === 0) return undefined
    if (this.#givenBytes + this.#collectedBytes <= CORK_BYTES) return this.#give(this.#collectedBytes)
    return this.#collectedBytes < 2 * WRITE_MIN_BYTES ? undefined : this.#give(WRITE_MIN_BYTES)
  }

  /** The next write when no more text follows; undefined when nothing is left. */
  takeRest(): Buffer | undefined {
    if (this.#collectedBytes === 0) return undefined
    const reserve = this.#collectedBytes > RESERVE_BYTES ? RESERVE_BYTES : 0
    return this.#give(this.#collectedBytes - reserve)
  }

  /** One byte; undefined when nothing is left. */
  takeByte(): Buffer | undefined {
    return this.#collectedBytes === 0 ? undefined : this.#give(1)
  }

  #give(bytes: number): Buffer {
    const all = this.#collected.length === 1 ? this.#collected[0]! : Buffer.concat(this.#collected)
    const left = all.subarray(bytes)
    this.#collected = left.length > 0 ? [left] : []
    this.#collectedBytes = left.length
    this.#givenBytes += bytes
    return all.subarray(0, bytes)
  }
}
