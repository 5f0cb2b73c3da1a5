import type { RedisClient } from './connect.ts'

/** Listens for changes on a channel. Owns its connection, which must be of kind `loop`, and subscribes again after a reconnect. */
export class Announcements {
  readonly #client: RedisClient
  readonly #channel: string
  #onChange: () => void = () => {}

  constructor(client: RedisClient, channel: string) {
    this.#client = client
    this.#channel = channel
  }

  /** Calls `onChange` for each announcement, and whenever announcements may have been missed. Call it once. */
  watch(onChange: () => void): void {
    this.#onChange = onChange
    this.#client.on('message', onChange)
    this.#client.on('ready', () => void this.#subscribe())
    void this.#subscribe()
  }

  close(): void {
    this.#client.disconnect()
  }

  /** Calls `onChange` afterwards, because earlier announcements were missed. After a failure, `ready` tries again. */
  #subscribe(): Promise<void> {
    return this.#client.subscribe(this.#channel).then(
      () => this.#onChange(),
      () => {},
    )
  }
}
