import type { Plans } from '../../schemas/plans.ts'
import type { TenantChange } from '../../schemas/tenant.ts'
import { RULES_MAX } from '../../schemas/tenant-rules.ts'
import type { Clock } from '../run/clock.ts'
import { InputError, UnavailableError } from '../run/errors.ts'
import { barePrefix, displayPrefix, generateRawKey, hashKey, parsePrefix } from './key.ts'
import type { KeyPage, StoredKey, TenantStore } from './stores.ts'
import type { ApiKey, Tenant } from './tenancy.ts'

const SLUG = /^[a-z0-9-]{1,64}$/
/** Two of 2^28 prefixes meet seldom; more than a few in a row means that something else is wrong. */
const PREFIX_ATTEMPTS_MAX = 10

/** A key at the only moment when it is shown. */
interface CreatedKey {
  readonly key: string
  /** With bullets. */
  readonly prefix: string
  readonly tenant_id: string
  /** ISO 8601, UTC. */
  readonly created_at: string
}

interface TenantAdminOptions {
  readonly store: TenantStore
  readonly plans: Plans
  readonly clock: Clock
}

/**
 * Manages tenants and their keys. Everything throws `InputError` with one line when what is asked for cannot be, and
 * `UnavailableError` when the store is away.
 */
export class TenantAdmin {
  readonly #store: TenantStore
  readonly #plans: Plans
  readonly #clock: Clock

  constructor({ store, plans, clock }: TenantAdminOptions) {
    this.#store = store
    this.#plans = plans
    this.#clock = clock
  }

  /** @param name 1 to 64 of `[a-z0-9-]`; it is the tenant's id for ever */
  async createTenant(name: string, options: TenantChange = {}): Promise<Tenant> {
    if (!SLUG.test(name)) {
      throw new InputError(`a tenant's name is 1 to 64 of a-z, 0-9 and "-", got ${JSON.stringify(name)}`)
    }
    const plan = options.plan ?? 'starter'
    this.#assertPlan(plan)
    const { archive = false, addresses = 'full', retention_days: days, unclassified } = options
    if (archive && addresses !== 'full') conflict()
    const retention = typeof days === 'number' ? { retentionDays: days } : {}
    const tenant = {
      id: name,
      plan,
      archive,
      addresses,
      createdAt: this.#nowIso(),
      ...retention,
      ...(unclassified && { unclassified }),
    }
    if (await this.#store.createTenant(tenant)) return tenant
    await this.#assertNotDeleting(name)
    throw new InputError(`tenant ${name} exists already`)
  }

  async listTenants(): Promise<Tenant[]> {
    return this.#store.listTenants()
  }

  async getTenant(name: string): Promise<Tenant> {
    return (await this.#store.getTenant(name)) ?? unknownTenant(name)
  }

  /** Changes what is given and returns the tenant after it. In force at once, in all processes. */
  async setTenant(name: string, change: TenantChange): Promise<Tenant> {
    if (change.plan !== undefined) this.#assertPlan(change.plan)
    await this.#assertNotDeleting(name)
    const changed = (await this.#store.changeTenant(name, change)) ?? unknownTenant(name)
    return changed === 'conflict' ? conflict() : changed
  }

  /**
   * Adds and removes rules, and returns the tenant after it. In force at once, in all processes.
   * @param change rules in their one spelling
   */
  async changeRules(
    name: string,
    { add = [], remove = [] }: { readonly add?: readonly string[]; readonly remove?: readonly string[] },
  ): Promise<Tenant> {
    await this.#assertNotDeleting(name)
    const { rules = [] } = await this.getTenant(name)
    const missing = remove.find((rule) => !rules.includes(rule))
    if (missing !== undefined) throw new InputError(`tenant ${name} has no rule "${missing}"`)
    const changed = (await this.#store.changeRules(name, add, remove)) ?? unknownTenant(name)
    if (changed === 'too many') throw new InputError(`a tenant has at most ${RULES_MAX} rules`)
    return changed
  }

  /** Makes a key. Its raw form is in the answer and nowhere else. */
  async createKey(tenantId: string): Promise<CreatedKey> {
    await this.#assertNotDeleting(tenantId)
    for (let attempt = 0; attempt < PREFIX_ATTEMPTS_MAX; attempt++) {
      const key = generateRawKey()
      const prefix = barePrefix(key)
      const createdAt = this.#nowIso()
      const stored = { prefix, tenantId, createdAt, revokedAt: undefined, lastUsed: undefined }
      const result = await this.#store.createKey(hashKey(key), stored)
      if (result === 'no tenant') unknownTenant(tenantId)
      if (result === 'created') {
        return { key, prefix: displayPrefix(prefix), tenant_id: tenantId, created_at: createdAt }
      }
    }
    throw new UnavailableError('no unused key prefix was found')
  }

  /** In the order of their creation, revoked ones included. */
  async listKeys(tenantId: string): Promise<ApiKey[]> {
    await this.getTenant(tenantId)
    return (await this.#store.listKeys(tenantId)).map(apiKey)
  }

  /** A page of keys, the newest first, revoked ones included; see `TenantStore.pageKeys`. */
  async pageKeys(tenantId: string, before: number | undefined, limit: number): Promise<KeyPage<ApiKey>> {
    await this.getTenant(tenantId)
    const page = await this.#store.pageKeys(tenantId, before, limit)
    return { ...page, keys: page.keys.map(apiKey) }
  }

  /** One key of a tenant; that of another one is unknown. @param prefix with or without bullets */
  async getKey(tenantId: string, prefix: string): Promise<ApiKey> {
    const bare = parseGivenPrefix(prefix)
    const key = await this.#store.getKey(bare)
    return key?.tenantId === tenantId ? apiKey(key) : unknownPrefix(bare)
  }

  /**
   * Revokes for ever.
   * @param prefix with or without bullets
   * @param ofTenant whose key it must be: that of another one is unknown; undefined: anybody's
   */
  async revokeKey(prefix: string, ofTenant?: string): Promise<ApiKey> {
    const bare = parseGivenPrefix(prefix)
    return apiKey((await this.#store.revokeKey(bare, this.#nowIso(), ofTenant)) ?? unknownPrefix(bare))
  }

  async #assertNotDeleting(name: string): Promise<void> {
    const tenant = await this.#store.getTenant(name)
    if (!tenant?.deleting) return
    throw new InputError(`tenant ${name} is being deleted: run "ipid tenant delete ${name}" again to finish it`)
  }

  #assertPlan(plan: string): void {
    if (this.#plans.has(plan)) return
    throw new InputError(`unknown plan ${JSON.stringify(plan)}: there are ${[...this.#plans.keys()].join(', ')}`)
  }

  #nowIso(): string {
    return new Date(this.#clock.now()).toISOString()
  }
}

function unknownTenant(name: string): never {
  throw new InputError(`unknown tenant ${JSON.stringify(name)}`)
}

/** What was given may be a raw key, so it is not repeated. */
function parseGivenPrefix(text: string): string {
  const bare = parsePrefix(text)
  if (bare === undefined) {
    throw new InputError("a key's prefix is ipid_ and 7 hexadecimal characters, as `key list` shows it")
  }
  return bare
}

function unknownPrefix(bare: string): never {
  throw new InputError(`no key has the prefix ${bare}`)
}

function conflict(): never {
  throw new InputError(
    'an archive keeps events as they came, with their addresses: --archive on needs --addresses full, and truncated or ' +
      'dropped ones need --archive off',
  )
}

function apiKey(key: StoredKey): ApiKey {
  return { ...key, prefix: displayPrefix(key.prefix) }
}
