import type { RedisClient } from './connect.ts'

/**
 * Hears of changes that are told on a channel. Owns the connection on which it does, which has to be of kind `loop`: it then
 * subscribes again by itself.
 */
export class Announcements {
  readonly #client: RedisClient
  readonly #channel: string
  #onChange: () => void = () => {}

  constructor(client: RedisClient, channel: string) {
    this.#client = client
    this.#channel = channel
  }

  /** Calls `onChange` for each announcement, and whenever some may have been missed. To be called once. */
  watch(onChange: () => void): void {
    this.#onChange = onChange
    this.#client.on('message', onChange)
    this.#client.on('ready', () => void this.#subscribe())
    void this.#subscribe()
  }

  close(): void {
    this.#client.disconnect()
  }

  /** What was announced before the subscription stands is missed, hence the call. A failure is tried again when ready. */
  #subscribe(): Promise<void> {
    return this.#client.subscribe(this.#channel).then(
      () => this.#onChange(),
      () => {},
    )
  }
}
