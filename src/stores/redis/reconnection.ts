import type { RedisClient } from './connect.ts'

/**
 * Waits for a connection that is being made again, as behind a restart of Redis, so that those who ask meanwhile are kept
 * waiting and not refused. One that is away for longer refuses at once.
 */
export class Reconnection {
  readonly #client: RedisClient
  readonly #waitMs: number
  #waiting: Promise<void> | undefined

  /** @param waitMs how long it may be away, from when that is noticed, milliseconds */
  constructor(client: RedisClient, waitMs: number) {
    this.#client = client
    this.#waitMs = waitMs
  }

  /** Undefined while there is a connection. Resolves when there is one again, or the time is over. */
  wait(): Promise<void> | undefined {
    if (this.#client.status === 'ready') return undefined
    this.#waiting ??= this.#untilReady()
    return this.#waiting
  }

  async #untilReady(): Promise<void> {
    await new Promise<void>((resolve) => {
      const late = setTimeout(resolve, this.#waitMs)
      this.#client.once('ready', () => {
        clearTimeout(late)
        this.#waiting = undefined
        resolve()
      })
    })
  }
}
