import { setTimeout as sleep } from 'node:timers/promises'
import type { Service } from './service.ts'

/** Does something again and again, with a pause behind each round. A stop ends the pause, and waits for the round. */
export class Repeater implements Service {
  readonly name: string
  readonly #pauseMs: number
  readonly #round: () => Promise<void>
  readonly #stopping = new AbortController()
  #loop: Promise<void> = Promise.resolve()

  /** @param round never rejects: what may fail is its own affair */
  constructor(name: string, pauseMs: number, round: () => Promise<void>) {
    this.name = name
    this.#pauseMs = pauseMs
    this.#round = round
  }

  async start(): Promise<void> {
    this.#loop = this.#run()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#loop
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      await this.#round()
      await sleep(this.#pauseMs, undefined, { signal }).catch(() => {})
    }
  }
}
