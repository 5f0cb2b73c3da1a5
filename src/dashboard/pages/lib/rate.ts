import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.lib.rate

/** Only samples of this time count, milliseconds. */
const WINDOW_MS = 10_000
const MEASURED_MS = 500

/** Estimates the speed of progress from recent samples. */
export class Rate {
  #samples: { readonly atMs: number; readonly value: number }[] = []

  /** @param value must not decrease */
  add(value: number, atMs = performance.now()): void {
    this.#samples.push({ atMs, value })
    // Keep one sample from before the window.
    while (this.#samples.length > 2 && this.#samples[1]!.atMs < atMs - WINDOW_MS) this.#samples.shift()
  }

  /** Per millisecond; undefined when unknown. */
  get perSecond(): number | undefined {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)]
    if (first === undefined || last === undefined || last.atMs - first.atMs < MEASURED_MS) return undefined
    return ((last.value - first.value) / (last.atMs - first.atMs)) * 1_000
  }
}

/** "4 s", "3 min", "2 h"; undefined when unknown. */
export function timeLeft(rest: number, perSecond: number | undefined): string | undefined {
  if (perSecond === undefined || perSecond <= 0) return undefined
  const seconds = Math.ceil(rest / perSecond)
  if (seconds < 90) return texts.left(`${seconds} s`)
  if (seconds < 5_400) return texts.left(`${Math.round(seconds / 60)} min`)
  return texts.left(`${Math.round(seconds / 3_600)} h`)
}
