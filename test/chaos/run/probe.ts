import { setTimeout as sleep } from 'node:timers/promises'
import { bodyOf } from './events.ts'
import type { Ledger } from './ledger.ts'
import { post } from './load.ts'

const EVERY_MS = 50
/** Maximum of open requests while nothing is answered. */
const OPEN_MAX = 40

/** Tests again and again whether a request is answered with 200: its own live events, one each, sent once. */
export class Probe {
  readonly #urls: () => readonly string[]
  readonly #ledger: Ledger
  #stopped = false
  #sent = 0
  #open = 0
  /** Answered with 200, in the order of their answers. */
  readonly #good: { readonly sentMs: number; readonly answeredMs: number }[] = []

  constructor(urls: () => readonly string[], ledger: Ledger) {
    this.#urls = urls
    this.#ledger = ledger
  }

  async run(): Promise<void> {
    while (!this.#stopped) {
      if (this.#open < OPEN_MAX) void this.#ask()
      await sleep(EVERY_MS)
    }
    while (this.#open > 0) await sleep(EVERY_MS)
  }

  stop(): void {
    this.#stopped = true
  }

  /** Milliseconds from a moment to the first 200 for a request sent after it; undefined when none came in time. */
  async nextGood(fromMs: number, withinMs: number): Promise<number | undefined> {
    for (;;) {
      const found = this.#good.find(({ sentMs }) => sentMs >= fromMs)
      if (found !== undefined) return found.answeredMs - fromMs
      if (performance.now() - fromMs > withinMs) return undefined
      await sleep(10)
    }
  }

  async #ask(): Promise<void> {
    const key = `probe-${20 * this.#sent++}`
    const group = { keys: [key], answered: false }
    this.#ledger.groups.push(group)
    this.#ledger.attempt(group.keys)
    this.#open++
    const sentMs = performance.now()
    const answer = await post(
      `${this.#urls()[0]}/v1/ingest`,
      { 'x-api-key': this.#ledger.apiKey },
      JSON.stringify({ events: [bodyOf(key, true)] }),
    )
    this.#open--
    if (answer instanceof Error || answer.status !== 200) return
    group.answered = true
    this.#ledger.answered(group.keys)
    this.#good.push({ sentMs, answeredMs: performance.now() })
    if (this.#good.length > 2 * OPEN_MAX) this.#good.shift()
  }
}
