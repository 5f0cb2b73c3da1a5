import { type AlertRecord, normalAddress } from '../../../schemas/alert.ts'
import type { ApiKeyRecord } from '../../../schemas/api-key.ts'
import type { TenantCopy } from '../../../schemas/backup.ts'
import type { CrmRecord } from '../../../schemas/crm.ts'
import type { ExportRecord } from '../../../schemas/export.ts'
import type { SegmentRecord } from '../../../schemas/segment.ts'
import type { TenantRecord } from '../../../schemas/tenant.ts'
import { DAY_MS, utcDay } from '../../pipeline/event/outcomes.ts'
import type { Clock } from '../../run/clock.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { keys } from '../../stores/redis/keys.ts'
import { loadScript } from '../../stores/redis/scripts.ts'
import { DAILY_LOOKUPS } from '../limits/limits.ts'
import { RedisTokenCounters } from '../limits/redis/token-counters.ts'

const createTenantScript = loadScript(import.meta.url, './createTenant-1.lua')
const createKeyScript = loadScript(import.meta.url, './createKey-5.lua')
const recordUsesScript = loadScript(import.meta.url, './recordUses-2.lua')

const RESTORED = 'it comes from a backup: look where it sends, then resume it'
const RESTORED_CRM = 'it comes from a backup, and another ipid may still sync: sync when that one has ended'

/** The key of the daily lookups. */
const lookupsOf = (tenantId: string, day: string) => keys.tokens(tenantId, DAILY_LOOKUPS.counter, undefined, day)

function pausedPull(key: ApiKeyRecord): ApiKeyRecord {
  const { source } = key
  return source?.pull === undefined ? key : { ...key, source: { ...source, pull: { ...source.pull, paused: true } } }
}

/** Copies tenants for backup and restore: records with all fields, and hashes of keys. */
export class TenantCopies {
  readonly #client: RedisClient
  readonly #counters: RedisTokenCounters
  readonly #clock: Clock

  constructor(client: RedisClient, clock: Clock) {
    this.#client = client
    this.#clock = clock
    this.#counters = new RedisTokenCounters(client)
  }

  /** Ordered by name. */
  async *all(): AsyncGenerator<TenantCopy> {
    const ids = await this.#client.hkeys(keys.tenants())
    for (const id of ids.sort()) {
      const json = await this.#client.hget(keys.tenants(), id)
      // It may have been deleted meanwhile.
      if (json === null) continue
      const copied = [...(await this.#keysIn(keys.apiKeysOf(id))), ...(await this.#keysIn(keys.sourceKeysOf(id)))]
      const [segments, alerts, optOuts, exports, crm] = await Promise.all([
        this.#recordsIn<SegmentRecord>(keys.segmentsOf(id)),
        this.#recordsIn<AlertRecord>(keys.alertsOf(id)),
        this.#client.smembers(keys.optOuts(id)),
        this.#recordsIn<ExportRecord>(keys.exportsOf(id)),
        this.#client.hget(keys.crmConnections(), id),
      ])
      const day = utcDay(this.#clock.now())
      const lookups = { day, used: await this.#counters.used(lookupsOf(id, day)) }
      yield {
        ...{ id, record: JSON.parse(json) as TenantRecord, keys: copied, segments, alerts, exports, lookups },
        ...(optOuts.length > 0 && { opt_outs: optOuts.sort() }),
        ...(crm !== null && { crm: JSON.parse(crm) as CrmRecord }),
      }
    }
  }

  /**
   * Writes a copy. Keeps existing records, so it may be repeated. Alerts, pulls and CRMs are paused: they send messages, and credentials,
   * to places that the copy names. E-mail addresses have to confirm again.
   */
  async add({
    id,
    record,
    keys: copied,
    segments = {},
    alerts = {},
    opt_outs: optOuts = [],
    exports = {},
    crm,
    lookups,
  }: TenantCopy): Promise<void> {
    const channel = keys.tenantChanges()
    await createTenantScript.run(this.#client, [keys.tenants()], [id, JSON.stringify(record), channel])
    for (const { sha256, record } of copied) {
      const key = pausedPull(record)
      const list = key.source === undefined ? keys.apiKeysOf(id) : keys.sourceKeysOf(id)
      const names = [keys.tenants(), keys.apiKeys(), keys.apiKeyPrefixes(), list, keys.pulledSources()]
      const isPulled = key.source?.pull !== undefined && key.revoked_at === undefined ? 1 : 0
      // Write a revoked key as revoked at once, so that it never works.
      const args = [id, sha256, key.prefix, JSON.stringify(key), channel, isPulled]
      const result = await createKeyScript.run(this.#client, names, args)
      if (result === 1 || (await this.#client.hget(keys.apiKeyPrefixes(), key.prefix)) === sha256) continue
      throw new Error(`the key ${key.prefix} of tenant ${id} cannot be restored: another key has its prefix`)
    }
    const uses = copied.flatMap(({ sha256, used_ms }) => (used_ms === null ? [] : [sha256, used_ms]))
    if (uses.length > 0) await recordUsesScript.run(this.#client, [keys.apiKeyUses(), keys.apiKeys()], uses)
    for (const [segmentId, segment] of Object.entries(segments)) {
      await this.#client.hsetnx(keys.segmentsOf(id), segmentId, JSON.stringify(segment))
    }
    // The state of alerts and exports is not copied, so they start anew.
    const since = { active_since: new Date(this.#clock.now()).toISOString() }
    const paused = { at: since.active_since, by: 'restore' as const, reason: RESTORED }
    for (const [alertId, alert] of Object.entries(alerts)) {
      const { unconfirmed: _, ...copied } = alert
      const restored: AlertRecord = {
        ...copied,
        ...since,
        // A confirmation alone must not start it.
        paused: alert.paused === undefined || alert.paused.by === 'unconfirmed' ? paused : alert.paused,
        ...(alert.to === 'email' && { unconfirmed: normalAddress(alert.target) }),
      }
      await this.#client.hsetnx(keys.alertsOf(id), alertId, JSON.stringify(restored))
    }
    for (const optOut of optOuts) await this.#client.sadd(keys.optOuts(id), optOut)
    for (const [exportId, one] of Object.entries(exports)) {
      await this.#client.hsetnx(keys.exportsOf(id), exportId, JSON.stringify({ ...one, ...since }))
      await this.#client.sadd(keys.exportingTenants(), id)
    }
    if (crm !== undefined) {
      const restored: CrmRecord = { ...crm, stopped: crm.stopped ?? { at: since.active_since, reason: RESTORED_CRM } }
      await this.#client.hsetnx(keys.crmConnections(), id, JSON.stringify(restored))
    }
    if (lookups.used > 0) await this.#client.set(lookupsOf(id, lookups.day), lookups.used, 'PX', 2 * DAY_MS)
  }

  /** Records by id. */
  async #recordsIn<T>(hash: string): Promise<Record<string, T>> {
    const found = await this.#client.hgetall(hash)
    return Object.fromEntries(Object.entries(found).map(([id, json]) => [id, JSON.parse(json) as T]))
  }

  async #keysIn(list: string): Promise<TenantCopy['keys']> {
    const hashes = await this.#client.lrange(list, 0, -1)
    if (hashes.length === 0) return []
    const [records, uses] = await Promise.all([
      this.#client.hmget(keys.apiKeys(), ...hashes),
      this.#client.hmget(keys.apiKeyUses(), ...hashes),
    ])
    return hashes.flatMap((sha256, i) => {
      const json = records[i]
      if (json == null) return []
      return [{ sha256, record: JSON.parse(json) as ApiKeyRecord, used_ms: uses[i] == null ? null : Number(uses[i]) }]
    })
  }
}
