import { setImmediate } from 'node:timers/promises'

/** Milliseconds of work before the event loop gets its turn. */
const SLICE_MS = 5

/** Splits long work into slices, so that a serving process keeps answering requests. */
export class TimeSlice {
  #startedMs = performance.now()

  get isOver(): boolean {
    return performance.now() - this.#startedMs > SLICE_MS
  }

  /** Yields to other work, then starts the next slice. */
  async next(): Promise<void> {
    await setImmediate()
    this.#startedMs = performance.now()
  }
}
