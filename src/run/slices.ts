/** Work that yields often, at most every 0.5 ms or so, so that it can be interrupted. */
export type SlicedWork<T> = Generator<undefined, T, undefined>

/** How long a turn of the event loop works on slices, milliseconds. Everything else that is ready runs between two turns. */
const SLICE_MS = 2

interface Job {
  /** Works for one slice. Returns whether the job is over. */
  goOn(): boolean
}

/**
 * Runs long work on the event loop in slices, one slice a turn, so that short work of others never waits for it. Owners take turns, and
 * the jobs of an owner run one after the other: an owner with much work slows down only itself.
 */
export class Slices {
  /** Jobs by owner. The owner that is served next is first. */
  readonly #jobs = new Map<string, Job[]>()
  #isTurnTaken = false

  /**
   * Does the work. Returns its result without a promise when it is done within its first slice.
   * @param assertWanted throws when the result is not needed any more; the work then ends with that error
   */
  run<T>(owner: string, work: SlicedWork<T>, assertWanted: () => void = () => {}): T | Promise<T> {
    if (!this.#isTurnTaken) {
      this.#takeTurn()
      const first = goOn(work)
      if (first.done === true) return first.value
    }
    return new Promise((resolve, reject) => {
      this.#add(owner, {
        goOn() {
          try {
            assertWanted()
            const result = goOn(work)
            if (result.done === true) resolve(result.value)
            return result.done === true
          } catch (error) {
            work.return(undefined as T)
            reject(error)
            return true
          }
        },
      })
    })
  }

  #add(owner: string, job: Job): void {
    const jobs = this.#jobs.get(owner)
    if (jobs === undefined) this.#jobs.set(owner, [job])
    else jobs.push(job)
  }

  #takeTurn(): void {
    this.#isTurnTaken = true
    setImmediate(() => this.#turn())
  }

  #turn(): void {
    const [next] = this.#jobs
    if (next === undefined) {
      this.#isTurnTaken = false
      return
    }
    this.#takeTurn()
    const [owner, jobs] = next
    this.#jobs.delete(owner)
    if (jobs[0]!.goOn()) jobs.shift()
    if (jobs.length > 0) this.#jobs.set(owner, jobs)
  }
}

/** Does sliced work at once, for work that is known to be short. */
export function atOnce<T>(work: SlicedWork<T>): T {
  for (;;) {
    const { done, value } = work.next()
    if (done === true) return value
  }
}

function goOn<T>(work: SlicedWork<T>): IteratorResult<undefined, T> {
  const endMs = performance.now() + SLICE_MS
  for (;;) {
    const result = work.next()
    if (result.done === true || performance.now() >= endMs) return result
  }
}
