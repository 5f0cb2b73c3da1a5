import type { TenantRecord } from '../../../../schemas/tenant.ts'
import type { RedisClient } from '../../../stores/redis/connect.ts'
import { keys } from '../../../stores/redis/keys.ts'
import type { DamagedPart, DamageStatus } from '../system-status.ts'

/** Remembers damaged parts in Redis, for later status reports. */
export class RedisDamageRecords {
  readonly #client: RedisClient

  constructor(client: RedisClient) {
    this.#client = client
  }

  async read(): Promise<DamagedPart[]> {
    const parts = Object.values(await this.#client.hgetall(keys.damagedParts()))
    return parts.map((json) => JSON.parse(json) as DamagedPart).sort((a, b) => (fieldOf(a) < fieldOf(b) ? -1 : 1))
  }

  async add(part: DamagedPart): Promise<void> {
    await this.#client.hset(keys.damagedParts(), fieldOf(part), JSON.stringify(part))
  }

  async remove(part: DamagedPart): Promise<void> {
    await this.#client.hdel(keys.damagedParts(), fieldOf(part))
  }
}

const TENANTS_MAX = 20

/** Parts with missing rows, and tenants whose archive may have them. */
export async function readDamage(client: RedisClient): Promise<DamageStatus> {
  const found = await new RedisDamageRecords(client).read()
  const parts = found.filter(({ missing }) => missing)
  if (parts.length === 0) return { parts, archived_tenants: [] }
  const tenants = Object.entries(await client.hgetall(keys.tenants()))
  const archived = tenants.filter(([, json]) => (JSON.parse(json) as TenantRecord).archive).map(([id]) => id)
  return { parts, archived_tenants: archived.sort().slice(0, TENANTS_MAX) }
}

function fieldOf({ table, name }: DamagedPart): string {
  return `${table}/${name}`
}
