import type { RedisClient } from '../../stores/redis/connect.ts'
import { keys } from '../../stores/redis/keys.ts'
import type { DaysNote, DaysRecords } from '../ports.ts'

/** Notes of the builder in Redis. */
export class RedisDaysRecords implements DaysRecords {
  readonly #client: RedisClient

  constructor(client: RedisClient) {
    this.#client = client
  }

  async read(): Promise<DaysNote | undefined> {
    const json = await this.#client.get(keys.days())
    return json === null ? undefined : (JSON.parse(json) as DaysNote)
  }

  async note(note: DaysNote): Promise<void> {
    await this.#client.set(keys.days(), JSON.stringify(note))
  }
}
