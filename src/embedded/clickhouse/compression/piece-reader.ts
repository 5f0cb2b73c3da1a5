import { setImmediate } from 'node:timers/promises'
import type { MemoryShare } from '../memory-budget.ts'

/** Pieces between two pauses: about 5 ms of the smallest ones. */
const PIECES_PER_PAUSE = 256

/** Reads pieces of given sizes from chunks of any size, and pauses now and then for other work. */
export class PieceReader {
  readonly #chunks: AsyncIterator<Buffer>
  readonly #memory: MemoryShare
  #waiting: Buffer[] = []
  #bytes = 0
  #pieces = 0

  constructor(chunks: AsyncIterable<Buffer>, memory: MemoryShare) {
    this.#chunks = chunks[Symbol.asyncIterator]()
    this.#memory = memory
  }

  /**
   * @param extraBytes memory that the caller needs besides the piece
   * @returns undefined at the end of the input; `isCutOff` tells whether it ended within the piece
   * @throws Exception when the memory budget is exceeded
   */
  async take(bytes: number, extraBytes = 0): Promise<Buffer | undefined> {
    // A chunk may hold thousands of pieces. Reading them would block the event loop.
    if (++this.#pieces % PIECES_PER_PAUSE === 0) await setImmediate()
    this.#memory.set(this.#bytes + extraBytes)
    while (this.#bytes < bytes) {
      const next = await this.#chunks.next()
      if (next.done) return undefined
      this.#memory.set(this.#bytes + next.value.length + extraBytes)
      this.#waiting.push(next.value)
      this.#bytes += next.value.length
    }
    const all = this.#waiting.length === 1 ? this.#waiting[0]! : Buffer.concat(this.#waiting, this.#bytes)
    this.#waiting = all.length > bytes ? [all.subarray(bytes)] : []
    this.#bytes = all.length - bytes
    return all.subarray(0, bytes)
  }

  /** Whether there are unread bytes. */
  get isCutOff(): boolean {
    return this.#bytes > 0
  }

  /** Closes the source and frees the memory. */
  async leave(): Promise<void> {
    this.#memory.set(0)
    await this.#chunks.return?.()
  }
}
