import { setImmediate } from 'node:timers/promises'

/** Milliseconds of work after which requests get their turn. */
const SLICE_MS = 5

/** Long work in slices, so that a process that serves answers in between. */
export class TimeSlice {
  #startedMs = performance.now()

  /** Asked often: it looks at the clock. */
  get isOver(): boolean {
    return performance.now() - this.#startedMs > SLICE_MS
  }

  /** Lets other work go on. */
  async next(): Promise<void> {
    await setImmediate()
    this.#startedMs = performance.now()
  }
}
