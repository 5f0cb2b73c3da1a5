import type { MemoryShare } from '../memory-budget.ts'

/** Takes pieces of given sizes out of chunks of any size. */
export class PieceReader {
  readonly #chunks: AsyncIterator<Buffer>
  readonly #memory: MemoryShare
  #waiting: Buffer[] = []
  #bytes = 0

  constructor(chunks: AsyncIterable<Buffer>, memory: MemoryShare) {
    this.#chunks = chunks[Symbol.asyncIterator]()
    this.#memory = memory
  }

  /**
   * @param extraBytes that the holder will need besides the piece
   * @returns undefined at the end, also when that comes within the piece: `isCutOff` tells them apart
   * @throws Exception when memory has no room for it
   */
  async take(bytes: number, extraBytes = 0): Promise<Buffer | undefined> {
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

  /** Whether bytes are left that nobody took. */
  get isCutOff(): boolean {
    return this.#bytes > 0
  }

  /** Ends the source, and gives the memory back. */
  async leave(): Promise<void> {
    this.#memory.set(0)
    await this.#chunks.return?.()
  }
}
