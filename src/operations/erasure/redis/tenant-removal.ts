import { removeAddressesOf } from '../../../alerts/redis/address-store.ts'
import { RedisAlerts } from '../../../alerts/redis/alert-store.ts'
import { correctionsWritten } from '../../../companies/corrections/lock.ts'
import { RedisCrm } from '../../../crm/redis/crm-store.ts'
import { RedisSessionStore } from '../../../dashboard/redis/sessions.ts'
import { RedisExports } from '../../../exports/redis/export-store.ts'
import { removePull } from '../../../pipeline/sources/pulls/redis/pull-store.ts'
import { InputError } from '../../../run/errors.ts'
import type { RedisClient } from '../../../stores/redis/connect.ts'
import { keys } from '../../../stores/redis/keys.ts'
import { keysLike } from '../../../stores/redis/nodes.ts'
import { loadScript } from '../../../stores/redis/scripts.ts'
import { RedisTenantStore } from '../../../tenants/redis/tenant-store.ts'
import { ReenrichJobs } from '../../reenrich/jobs/job-store.ts'
import type { TenantRemoval } from '../ports.ts'

const changeTenantScript = loadScript(import.meta.url, '../../../tenants/redis/changeTenant-1.lua')
const removeKeysScript = loadScript(import.meta.url, './removeKeys-6.lua')

/** A tenant's own records in Redis. Its main record goes last, because it says that the rest must go. */
export class RedisTenantRemoval implements TenantRemoval {
  readonly #client: RedisClient

  constructor(client: RedisClient) {
    this.#client = client
  }

  async mark(tenantId: string): Promise<void> {
    const args = [tenantId, JSON.stringify({ deleting: true }), keys.tenantChanges()]
    const json = await changeTenantScript.run(this.#client, [keys.tenants()], args)
    if (json === null) throw new InputError(`unknown tenant ${JSON.stringify(tenantId)}`)
    await correctionsWritten(this.#client)
  }

  async removeKeys(tenantId: string): Promise<number> {
    let removed = 0
    const pulled = (await new RedisTenantStore(this.#client).listSources(tenantId)).filter(({ source }) => source.pull)
    // Before the list of sources is lost, and again after it: a turn that ends meanwhile writes its state.
    for (const { prefix } of pulled) await removePull(this.#client, prefix)
    for (const list of [keys.apiKeysOf(tenantId), keys.sourceKeysOf(tenantId)]) {
      const names = [
        keys.apiKeys(),
        keys.apiKeyPrefixes(),
        keys.apiKeyUses(),
        list,
        keys.tenants(),
        keys.pulledSources(),
      ]
      removed += Number(await removeKeysScript.run(this.#client, names, [tenantId, keys.tenantChanges()]))
    }
    for (const { prefix } of pulled) await removePull(this.#client, prefix)
    for await (const key of keysLike(this.#client, keys.countsPattern(tenantId))) await this.#client.del(key)
    await new RedisAlerts(this.#client).removeAll(tenantId, Date.now())
    await removeAddressesOf(this.#client, tenantId)
    await new ReenrichJobs(this.#client).removeAll(tenantId)
    await new RedisExports(this.#client).removeAll(tenantId)
    await new RedisCrm(this.#client).remove(tenantId)
    await this.#client.del(keys.segmentsOf(tenantId))
    await new RedisSessionStore(this.#client).removeAll(tenantId)
    const ofPeople = [keys.people(tenantId), keys.signIns(tenantId)]
    await this.#client.del(...ofPeople, keys.sharedLinks(tenantId), keys.sharedLinkUses(tenantId))
    return removed
  }

  async removeRecord(tenantId: string): Promise<void> {
    await this.#client.hdel(keys.tenants(), tenantId)
  }
}
