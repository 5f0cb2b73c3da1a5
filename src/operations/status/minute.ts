import type { Clock } from '../../run/clock.ts'

const SLOT_MS = 5_000
const SLOTS = 12

/** Sums of the last minute by name. Slots of 5 s: a value counts for 55 to 60 s. */
export class MinuteSums {
  readonly #clock: Clock
  readonly #slots = Array.from({ length: SLOTS }, () => ({ number: -1, sums: new Map<string, number>() }))

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add(name: string, amount: number): void {
    const { sums } = this.#slot()
    sums.set(name, (sums.get(name) ?? 0) + amount)
  }

  /** Keeps the largest value instead of a sum. */
  top(name: string, value: number): void {
    const { sums } = this.#slot()
    sums.set(name, Math.max(sums.get(name) ?? 0, value))
  }

  sum(name: string): number {
    return this.#values(name).reduce((total, value) => total + value, 0)
  }

  max(name: string): number {
    return Math.max(0, ...this.#values(name))
  }

  #slot(): { sums: Map<string, number> } {
    const number = Math.floor(this.#clock.now() / SLOT_MS)
    const slot = this.#slots[number % SLOTS]!
    if (slot.number !== number) {
      slot.number = number
      slot.sums.clear()
    }
    return slot
  }

  #values(name: string): number[] {
    const newest = Math.floor(this.#clock.now() / SLOT_MS)
    return this.#slots.flatMap(({ number, sums }) => {
      const value = sums.get(name)
      return value === undefined || number <= newest - SLOTS || number > newest ? [] : [value]
    })
  }
}
