import { InputError } from '../../core/run/errors.ts'
import type { TenantRemoval } from '../../erasure/ports.ts'
import type { RedisClient } from '../connect.ts'
import { RedisSessionStore } from '../dashboard/sessions.ts'
import { keys } from '../keys.ts'
import { loadScript } from '../scripts.ts'
import { keysLike } from './nodes.ts'

const changeTenantScript = loadScript('changeTenant-1')
const removeKeysScript = loadScript('removeKeys-5')

/** What Redis holds of a tenant itself. Its record goes last: it says that the rest is to go. */
export class RedisTenantRemoval implements TenantRemoval {
  readonly #client: RedisClient

  constructor(client: RedisClient) {
    this.#client = client
  }

  async mark(tenantId: string): Promise<void> {
    const args = [tenantId, JSON.stringify({ deleting: true }), keys.tenantChanges()]
    const json = await changeTenantScript.run(this.#client, [keys.tenants()], args)
    if (json === null) throw new InputError(`unknown tenant ${JSON.stringify(tenantId)}`)
  }

  async removeKeys(tenantId: string): Promise<number> {
    const names = [keys.apiKeys(), keys.apiKeyPrefixes(), keys.apiKeyUses(), keys.apiKeysOf(tenantId), keys.tenants()]
    const removed = await removeKeysScript.run(this.#client, names, [tenantId, keys.tenantChanges()])
    for await (const key of keysLike(this.#client, keys.countsPattern(tenantId))) await this.#client.del(key)
    await new RedisSessionStore(this.#client).removeAll(tenantId)
    return Number(removed)
  }

  async removeRecord(tenantId: string): Promise<void> {
    await this.#client.hdel(keys.tenants(), tenantId)
  }
}
