import type { RedisClient } from './connect.ts'

/**
 * Waits for a lost connection to come back, for example after a restart of Redis, so that requests wait a moment and are not refused.
 * Once a connection has been down for longer, requests do not wait any more.
 */
export class Reconnection {
  readonly #client: RedisClient
  readonly #waitMs: number
  #waiting: Promise<void> | undefined

  /** @param waitMs the longest wait, counted from the first request that finds no connection, milliseconds */
  constructor(client: RedisClient, waitMs: number) {
    this.#client = client
    this.#waitMs = waitMs
  }

  /** Undefined while there is a connection. Resolves when it is back, or the time is over. */
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
