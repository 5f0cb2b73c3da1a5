/** uWebSockets.js's buffer of one turn: only of larger writes it tells whether the kernel took them. */
const CORK_BYTES = 16_384
/** Bytes that are kept for `takeByte` until the end. */
const RESERVE_BYTES = 32
/** The least that is written at once behind the beginning. */
const WRITE_MIN_BYTES = CORK_BYTES + RESERVE_BYTES + 1

/**
 * Cuts the body of a response into writes. The beginning goes out as it comes: the kernel has room for it, since the
 * client has read whatever went before. Behind it every write is larger than that buffer, but for a few bytes at
 * the end.
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

  /** The next write when no more will be added; undefined when nothing is left. */
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
