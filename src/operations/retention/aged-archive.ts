import { parsePartKey } from '../../pipeline/sinks/archive/layout.ts'
import type { ObjectStore } from '../../stores/objects/object-store.ts'
import { type RetentionPolicy, retentionFloor } from './policy.ts'
import type { AgedStore } from './ports.ts'

/** The archive, for retention. */
export class AgedArchive implements AgedStore {
  readonly name = 'archive'
  readonly #store: ObjectStore
  readonly #tenants: () => Promise<readonly string[]>

  /** @param tenants tenants that may have events in the archive */
  constructor(store: ObjectStore, tenants: () => Promise<readonly string[]>) {
    this.#store = store
    this.#tenants = tenants
  }

  async removeAged(policy: RetentionPolicy, nowMs: number): Promise<number> {
    let objects = 0
    for (const tenant of await this.#tenants()) {
      const floor = retentionFloor(policy, tenant, nowMs)
      if (floor === undefined) continue
      // Removes events before their index, which lists them.
      for (const prefix of ['', 'index/']) objects += await this.#removeBefore(`${prefix}tenant=${tenant}/`, floor)
    }
    return objects
  }

  close(): Promise<void> {
    return this.#store.close()
  }

  /** Days are in order, so the first page tells whether there is anything to remove. */
  async #removeBefore(prefix: string, floor: string): Promise<number> {
    let objects = 0
    for await (const { key } of this.#store.list(prefix)) {
      const location = parsePartKey(key)
      if (location === undefined) continue
      if (location.day >= floor) break
      await this.#store.delete(key)
      objects++
    }
    return objects
  }
}
