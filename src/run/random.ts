/** Repeatable random numbers: the same seed gives the same numbers (mulberry32). */
export class Random {
  #state: number

  /** @param seed a whole number; its lowest 32 bits count */
  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** From 0 to below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** A separate sequence: its use does not change this one. */
  fork(): Random {
    return new Random(Math.floor(this.next() * 2 ** 32))
  }

  between(least: number, below: number): number {
    return least + this.next() * (below - least)
  }

  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.next() * from.length)]!
  }
}
