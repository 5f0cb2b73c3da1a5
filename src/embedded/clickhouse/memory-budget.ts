import { Code, Exception } from './exception.ts'

/** Limits the bytes of requests in memory. */
export class MemoryBudget {
  readonly #bytesMax: number
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** Opens a share of 0 bytes. */
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

/** The memory of one holder. */
export interface MemoryShare {
  /**
   * Sets the size of the share; 0 frees it.
   * @throws Exception when the budget is exceeded; the share stays unchanged
   */
  set(bytes: number): void
}
