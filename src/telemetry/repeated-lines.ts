/** A line is written once in this time, however often it is logged. */
const EVERY_MS = 60_000
const KEYS_MAX = 500

interface Repeated {
  /** Occurrences that were not written. */
  more: number
  readonly timer: NodeJS.Timeout
}

/**
 * Bounds lines that a fault repeats: the first is written as it is, and after a minute one line says how many came in between. An
 * outage of hours leaves a line a minute for each kind.
 */
export class RepeatedLines {
  readonly #known = new Map<string, Repeated>()
  readonly #everyMs: number

  constructor(everyMs = EVERY_MS) {
    this.#everyMs = everyMs
  }

  /**
   * Whether to write a line now.
   * @param sumUp writes a line for `more` that were left out
   */
  isNew(key: string, sumUp: (more: number) => void): boolean {
    const known = this.#known.get(key)
    if (known !== undefined) {
      known.more++
      return false
    }
    this.#open(key, sumUp)
    return true
  }

  #open(key: string, sumUp: (more: number) => void): void {
    if (this.#known.size >= KEYS_MAX) this.#forget(this.#known.keys().next().value!)
    const timer = setTimeout(() => {
      const more = this.#known.get(key)?.more ?? 0
      this.#known.delete(key)
      if (more === 0) return
      sumUp(more)
      this.#open(key, sumUp)
    }, this.#everyMs).unref()
    this.#known.set(key, { more: 0, timer })
  }

  #forget(key: string): void {
    clearTimeout(this.#known.get(key)?.timer)
    this.#known.delete(key)
  }
}
