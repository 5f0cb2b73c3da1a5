import type { TenantRecord } from '../../../../schemas/tenant.ts'
import type { RedisClient } from '../../../stores/redis/connect.ts'
import { keys } from '../../../stores/redis/keys.ts'
import type { RetentionPolicy } from '../policy.ts'
import type { AgedStore, RetentionRecords } from '../ports.ts'

/** The last check of a store. */
interface RetentionNote {
  readonly store: string
  /** ISO 8601, UTC. */
  readonly at: string
  readonly removed: number
}

/** Retention records in Redis: the numbers of tenants, and the turns. */
export class RedisRetentionRecords implements RetentionRecords {
  readonly #client: RedisClient
  readonly #defaultDays: number | undefined

  constructor(client: RedisClient, defaultDays: number | undefined) {
    this.#client = client
    this.#defaultDays = defaultDays
  }

  async policy(): Promise<RetentionPolicy> {
    const ofTenants = new Map<string, number>()
    for (const [id, json] of Object.entries(await this.#client.hgetall(keys.tenants()))) {
      const { retention_days: days } = JSON.parse(json) as TenantRecord
      if (typeof days === 'number') ofTenants.set(id, days)
    }
    return { defaultDays: this.#defaultDays, ofTenants }
  }

  async take(store: AgedStore['name'], everyMs: number): Promise<boolean> {
    return (await this.#client.set(keys.retentionTurn(store), '', 'PX', everyMs, 'NX')) === 'OK'
  }

  async giveBack(store: AgedStore['name']): Promise<void> {
    await this.#client.del(keys.retentionTurn(store))
  }

  async note(store: AgedStore['name'], atMs: number, removed: number): Promise<void> {
    const at = new Date(atMs).toISOString()
    await this.#client.hset(keys.retention(), store, JSON.stringify({ store, at, removed } satisfies RetentionNote))
  }
}

/** By store; empty when no store was checked yet. */
export async function readRetention(client: RedisClient): Promise<RetentionNote[]> {
  const notes = Object.values(await client.hgetall(keys.retention())).map((json) => JSON.parse(json) as RetentionNote)
  return notes.sort((a, b) => (a.store < b.store ? -1 : 1))
}
