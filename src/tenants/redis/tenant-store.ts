import { createSecretKey, randomBytes } from 'node:crypto'
import type { ApiKeyRecord, SourceFacts } from '../../../schemas/api-key.ts'
import type { TenantChange, TenantRecord } from '../../../schemas/tenant.ts'
import { RULES_MAX } from '../../../schemas/tenant-rules.ts'
import { compareTexts } from '../../run/compare-texts.ts'
import { Announcements } from '../../stores/redis/announcements.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { answeredOr } from '../../stores/redis/errors.ts'
import { keys } from '../../stores/redis/keys.ts'
import type { Reconnection } from '../../stores/redis/reconnection.ts'
import { loadScript, type Script, type ScriptArgument } from '../../stores/redis/scripts.ts'
import { hashKey, isBrowserKey, PAGE_KIND, sourceIdOf } from '../key.ts'
import type { CallerStore, KeyHolder, KeyPage, StoredKey, StoredSource, TenantChanges, TenantStore } from '../stores.ts'
import type { Tenant } from '../tenancy.ts'

const answered = answeredOr('the store of tenants and keys does not answer')

const findHolderScript = loadScript(import.meta.url, './findHolder-3.lua')
const createTenantScript = loadScript(import.meta.url, './createTenant-1.lua')
const changeTenantScript = loadScript(import.meta.url, './changeTenant-1.lua')
const changeRulesScript = loadScript(import.meta.url, './changeRules-1.lua')
const createKeyScript = loadScript(import.meta.url, './createKey-5.lua')
const revokeKeyScript = loadScript(import.meta.url, './revokeKey-3.lua')
const recordUsesScript = loadScript(import.meta.url, './recordUses-2.lua')
const changeSourceScript = loadScript(import.meta.url, './changeSource-2.lua')

/** Times of use per script call, so that a call stays short. */
const USES_PER_CALL = 500
/** Keys per read. */
const KEYS_PER_CALL = 1_000

/** Tenants and keys in Redis. Each change is one script, which also publishes it. */
export class RedisTenantStore implements TenantStore, CallerStore {
  readonly #client: RedisClient
  readonly #reconnection: Reconnection | undefined

  /** @param reconnection makes `findTenant` wait for a connection; undefined: it fails at once */
  constructor(client: RedisClient, reconnection?: Reconnection) {
    this.#client = client
    this.#reconnection = reconnection
  }

  async findHolder(rawKey: string): Promise<KeyHolder | undefined> {
    await this.#reconnection?.wait()
    const isBrowser = isBrowserKey(rawKey)
    const names = [keys.apiKeys(), keys.tenants(), keys.apiKeyPrefixes()]
    const args = isBrowser ? ['', sourceIdOf(rawKey), rawKey] : [hashKey(rawKey), '', '']
    const [id, json, keyHash, sourceId, source] = ((await this.#run(findHolderScript, names, args)) as Buffer[]).map(
      String,
    )
    if (id === undefined || json === undefined || keyHash === undefined) return undefined
    const tenant = tenantOf(id, json)
    if (sourceId === undefined || source === undefined) return { tenant, keyHash }
    const facts = JSON.parse(source) as SourceFacts
    return { tenant, keyHash, source: { ...facts, id: sourceId, isBrowser: isBrowser || facts.kind === PAGE_KIND } }
  }

  async recordUses(uses: ReadonlyMap<string, number>): Promise<void> {
    const all = [...uses]
    for (let at = 0; at < all.length; at += USES_PER_CALL) {
      const portion = all.slice(at, at + USES_PER_CALL).flat()
      await this.#run(recordUsesScript, [keys.apiKeyUses(), keys.apiKeys()], portion)
    }
  }

  async createTenant(tenant: Tenant): Promise<boolean> {
    const { plan, archive, addresses, createdAt, retentionDays, unclassified, sampleUntil, timeZone } = tenant
    const judging = unclassified === undefined ? {} : { unclassified }
    const retention = retentionDays === undefined ? {} : { retention_days: retentionDays }
    const kept = addresses === 'full' ? {} : { addresses, address_key: newAddressKey() }
    const sample = sampleUntil === undefined ? {} : { sample_until: sampleUntil }
    const zone = timeZone === undefined ? {} : { time_zone: timeZone }
    const facts = { ...retention, ...kept, ...judging, ...sample, ...zone }
    const record: TenantRecord = { plan, archive, created_at: createdAt, ...facts }
    const args = [tenant.id, JSON.stringify(record), keys.tenantChanges()]
    return (await this.#run(createTenantScript, [keys.tenants()], args)) === 1
  }

  async getTenant(id: string): Promise<Tenant | undefined> {
    const json = await answered(this.#client.hget(keys.tenants(), id))
    return json === null ? undefined : tenantOf(id, json)
  }

  async listTenants(): Promise<Tenant[]> {
    const records = await answered(this.#client.hgetall(keys.tenants()))
    const tenants = Object.entries(records).map(([id, json]) => tenantOf(id, json))
    return tenants.sort((a, b) => compareTexts(a.createdAt, b.createdAt) || compareTexts(a.id, b.id))
  }

  async changeTenant(id: string, change: TenantChange): Promise<Tenant | 'conflict' | undefined> {
    const args = [id, JSON.stringify(change), keys.tenantChanges(), newAddressKey()]
    const reply = (await this.#run(changeTenantScript, [keys.tenants()], args)) as Buffer | 0 | null
    if (reply === 0) return 'conflict'
    return reply === null ? undefined : tenantOf(id, reply.toString())
  }

  async changeRules(
    id: string,
    add: readonly string[],
    remove: readonly string[],
  ): Promise<Tenant | 'too many' | undefined> {
    const args = [id, keys.tenantChanges(), RULES_MAX, add.length, ...add, ...remove]
    const reply = (await this.#run(changeRulesScript, [keys.tenants()], args)) as Buffer | 0 | null
    if (reply === 0) return 'too many'
    return reply === null ? undefined : tenantOf(id, reply.toString())
  }

  async createKey(keyHash: string, key: StoredKey): Promise<'created' | 'no tenant' | 'prefix taken'> {
    const { prefix, tenantId, createdAt, source, madeBy } = key
    const made = { created_at: createdAt, ...(madeBy && { made_by: madeBy }) }
    const record: ApiKeyRecord = { prefix, tenant_id: tenantId, ...made, ...(source && { source }) }
    const list = source === undefined ? keys.apiKeysOf(tenantId) : keys.sourceKeysOf(tenantId)
    const result = await this.#run(
      createKeyScript,
      [keys.tenants(), keys.apiKeys(), keys.apiKeyPrefixes(), list, keys.pulledSources()],
      [tenantId, keyHash, prefix, JSON.stringify(record), keys.tenantChanges(), source?.pull === undefined ? 0 : 1],
    )
    if (result === 1) return 'created'
    return result === 0 ? 'no tenant' : 'prefix taken'
  }

  listKeys(tenantId: string): Promise<StoredKey[]> {
    return this.#allKeys(keys.apiKeysOf(tenantId))
  }

  async listSources(tenantId: string): Promise<StoredSource[]> {
    return (await this.#allKeys(keys.sourceKeysOf(tenantId))) as StoredSource[]
  }

  async changeSource(id: string, change: Partial<SourceFacts>): Promise<StoredSource | undefined> {
    const args = [id, JSON.stringify(change), keys.tenantChanges()]
    const json = await this.#run(changeSourceScript, [keys.apiKeys(), keys.apiKeyPrefixes()], args)
    return json === null ? undefined : ((await this.getKey(id)) as StoredSource | undefined)
  }

  async #allKeys(list: string): Promise<StoredKey[]> {
    const found: StoredKey[] = []
    for (;;) {
      const page = await this.#keysBetween(list, found.length, found.length + KEYS_PER_CALL)
      found.push(...page)
      if (page.length < KEYS_PER_CALL) return found
    }
  }

  pageKeys(tenantId: string, before: number | undefined, limit: number): Promise<KeyPage<StoredKey>> {
    return this.#page(keys.apiKeysOf(tenantId), before, limit)
  }

  async pageSources(tenantId: string, before: number | undefined, limit: number): Promise<KeyPage<StoredSource>> {
    return (await this.#page(keys.sourceKeysOf(tenantId), before, limit)) as KeyPage<StoredSource>
  }

  async #page(list: string, before: number | undefined, limit: number): Promise<KeyPage<StoredKey>> {
    const total = await answered(this.#client.llen(list))
    const end = Math.min(before ?? total, total)
    const start = Math.max(0, end - limit)
    const page = end === 0 ? [] : await this.#keysBetween(list, start, end)
    return { keys: page.reverse(), total, next: start > 0 ? start : undefined }
  }

  /** @param end exclusive */
  async #keysBetween(list: string, start: number, end: number): Promise<StoredKey[]> {
    const hashes = await answered(this.#client.lrange(list, start, end - 1))
    if (hashes.length === 0) return []
    const [records, uses] = await Promise.all([
      answered(this.#client.hmget(keys.apiKeys(), ...hashes)),
      answered(this.#client.hmget(keys.apiKeyUses(), ...hashes)),
    ])
    return hashes.map((_, i) => keyOf(records[i]!, uses[i] ?? ''))
  }

  async getKey(prefix: string): Promise<StoredKey | undefined> {
    const hash = await answered(this.#client.hget(keys.apiKeyPrefixes(), prefix))
    if (hash === null) return undefined
    const [json, use] = await Promise.all([
      answered(this.#client.hget(keys.apiKeys(), hash)),
      answered(this.#client.hget(keys.apiKeyUses(), hash)),
    ])
    return json === null ? undefined : keyOf(json, use ?? '')
  }

  async revokeKey(prefix: string, revokedAt: string, ofTenant = ''): Promise<StoredKey | undefined> {
    const [json, use] = (await this.#run(
      revokeKeyScript,
      [keys.apiKeys(), keys.apiKeyPrefixes(), keys.apiKeyUses()],
      [prefix, revokedAt, keys.tenantChanges(), ofTenant],
    )) as Buffer[]
    return json && keyOf(json.toString(), use?.toString() ?? '')
  }

  #run(script: Script, scriptKeys: readonly string[], args: readonly ScriptArgument[]): Promise<unknown> {
    return answered(script.run(this.#client, scriptKeys, args))
  }
}

/** Subscribes to changes of tenants and keys. */
export class RedisTenantChanges extends Announcements implements TenantChanges {
  constructor(client: RedisClient) {
    super(client, keys.tenantChanges())
  }
}

/** @param json of a `TenantRecord` */
export function tenantOf(id: string, json: string): Tenant {
  const record = JSON.parse(json) as TenantRecord
  const { plan, archive, created_at: createdAt, addresses = 'full', address_key: key } = record
  const { retention_days: days, deleting = false, rules, unclassified } = record
  const { api_url: apiUrl, first_steps_closed: closed, shows_sample: shows, sample_until: sampleUntil } = record
  const { time_zone: timeZone, time_zone_since: timeZoneSince } = record
  const judging = { ...(rules && { rules }), ...(unclassified && { unclassified }) }
  const addressKey = key === undefined ? {} : { addressKey: createSecretKey(key, 'hex') }
  const retention = typeof days === 'number' ? { retentionDays: days } : {}
  return {
    id,
    plan,
    archive,
    addresses,
    createdAt,
    ...addressKey,
    ...retention,
    ...judging,
    ...(apiUrl !== undefined && { apiUrl }),
    ...(closed === true && { firstStepsClosed: true }),
    ...(shows === true && { showsSample: true }),
    ...(sampleUntil !== undefined && { sampleUntil }),
    ...(timeZone !== undefined && { timeZone }),
    ...(timeZoneSince !== undefined && { timeZoneSince }),
    ...(deleting && { deleting }),
  }
}

function newAddressKey(): string {
  return randomBytes(32).toString('hex')
}

/** @param use milliseconds of the last use; `''`: never */
function keyOf(json: string, use: string): StoredKey {
  const record = JSON.parse(json) as ApiKeyRecord
  return {
    prefix: record.prefix,
    tenantId: record.tenant_id,
    createdAt: record.created_at,
    revokedAt: record.revoked_at,
    lastUsed: use === '' ? undefined : new Date(Number(use)).toISOString(),
    ...(record.source && { source: record.source }),
    ...(record.made_by && { madeBy: record.made_by }),
  }
}
