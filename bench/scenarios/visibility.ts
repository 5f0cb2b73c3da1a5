import { setTimeout as sleep } from 'node:timers/promises'
import type { Product } from '../run/product.ts'

const LOOK_EVERY_MS = 200
const WITHIN_MS = 60_000
/** Polls cover this many seconds, so that ClickHouse skips older parts. The final wait covers the whole run. */
const RECENT_S = 4
const ALL_S = 120
/** One of this many requests is polled for. Polling for all would take CPU from the product. */
const EVERY = 10

/** Measures when the first event of a request can be queried, by polls 200 ms apart. */
export class VisibilityWatch {
  readonly #product: Product
  readonly #tag: string
  readonly #seenAtMs = new Map<number, number>()
  #isOver = false
  #seconds = RECENT_S
  readonly #looking: Promise<void>

  constructor(product: Product, tag: string) {
    this.#product = product
    this.#tag = tag
    this.#looking = this.#look()
    this.#looking.catch(() => {})
  }

  /**
   * Waits until all events can be queried.
   * @param answeredAtMs time of each response, by number of its request
   * @returns milliseconds from response to row, ascending
   */
  async end(answeredAtMs: readonly number[]): Promise<number[]> {
    const wanted = answeredAtMs.map((at, number) => [number, at] as const).filter(([number]) => number % EVERY === 0)
    const deadlineMs = performance.now() + WITHIN_MS
    this.#seconds = ALL_S
    while (wanted.some(([number]) => !this.#seenAtMs.has(number)) && performance.now() < deadlineMs) {
      await Promise.race([this.#looking, sleep(LOOK_EVERY_MS)])
    }
    this.#isOver = true
    await this.#looking
    return wanted
      .map(([number, at]) => Math.max(0, (this.#seenAtMs.get(number) ?? Number.POSITIVE_INFINITY) - at))
      .sort((a, b) => a - b)
  }

  async #look(): Promise<void> {
    while (!this.#isOver) {
      await sleep(LOOK_EVERY_MS)
      const found = await this.#product.query(
        `SELECT event_id FROM events WHERE received_at > now64(3) - ${this.#seconds} AND event_id LIKE '${this.#tag}-%0-0'`,
      )
      const nowMs = Date.now()
      for (const id of found.split('\n')) {
        const number = Number(id.split('-').at(-2))
        if (!this.#seenAtMs.has(number)) this.#seenAtMs.set(number, nowMs)
      }
    }
  }
}

/** @param share 0 to 1 of ascending values */
export function quantile(ascending: readonly number[], share: number): number {
  return ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))] ?? Number.NaN
}
