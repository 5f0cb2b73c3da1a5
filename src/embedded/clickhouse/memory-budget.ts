import { Code, Exception } from './exception.ts'

/** Bytes of requests that may be in memory at a time. */
export class MemoryBudget {
  readonly #bytesMax: number
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** Begins a share, of no bytes yet. */
  open(): MemoryShare {
    let held = 0
    return {
      set: (bytes) => {
        if (bytes > held && this.#bytes + bytes - held > this.#bytesMax) {
          const message = 'Too many bytes of requests wait in memory; try again later. (MEMORY_LIMIT_EXCEEDED)'
          throw new Exception(Code.MemoryLimitExceeded, message)
        }
        this.#bytes += bytes - held
        held = bytes
      },
    }
  }
}

/** What one holder has in memory. */
export interface MemoryShare {
  /**
   * Tells the size of all that the holder has; 0 gives the share back.
   * @throws Exception when there is no room for more; the share stays as it was
   */
  set(bytes: number): void
}
