/** Samples of the last so many milliseconds count. */
const WINDOW_MS = 10_000
const MEASURED_MS = 500

/** How fast something goes on, by what was seen of it lately. */
export class Rate {
  #samples: { readonly atMs: number; readonly value: number }[] = []

  /** @param value never less than before */
  add(value: number, atMs = performance.now()): void {
    this.#samples.push({ atMs, value })
    // The first one stays that lies before the window.
    while (this.#samples.length > 2 && this.#samples[1]!.atMs < atMs - WINDOW_MS) this.#samples.shift()
  }

  /** Undefined as long as nothing can be said. */
  get perSecond(): number | undefined {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)]
    if (first === undefined || last === undefined || last.atMs - first.atMs < MEASURED_MS) return undefined
    return ((last.value - first.value) / (last.atMs - first.atMs)) * 1_000
  }
}

/** "4 s", "3 min", "2 h"; undefined when nothing can be said. */
export function timeLeft(rest: number, perSecond: number | undefined): string | undefined {
  if (perSecond === undefined || perSecond <= 0) return undefined
  const seconds = Math.ceil(rest / perSecond)
  if (seconds < 90) return `${seconds} s left`
  if (seconds < 5_400) return `${Math.round(seconds / 60)} min left`
  return `${Math.round(seconds / 3_600)} h left`
}
