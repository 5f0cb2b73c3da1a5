import type { SourceFacts, SourceKeySorts } from '../../schemas/api-key.ts'
import { KEY_START, TEST_KEY_START } from '../../schemas/key-text.ts'
import type { Maker } from '../../schemas/maker.ts'
import type { Plans } from '../../schemas/plans.ts'
import type { TenantChange } from '../../schemas/tenant.ts'
import { RULES_MAX } from '../../schemas/tenant-rules.ts'
import type { Clock } from '../run/clock.ts'
import { readDisplayName } from '../run/display-name.ts'
import { InputError, UnavailableError } from '../run/errors.ts'
import { isTimeZone } from '../run/time-zone.ts'
import {
  barePrefix,
  displayPrefix,
  generateRawKey,
  generateSourceKeys,
  hashKey,
  isSourceId,
  parsePrefix,
  sourceIdOf,
} from './key.ts'
import type { KeyPage, StoredKey, StoredSource, TenantStore } from './stores.ts'
import { type ApiKey, TENANT_ID, type Tenant, zoneOfTenant } from './tenancy.ts'

/** With 2^28 prefixes, repeated collisions mean that something else is wrong. */
const PREFIX_ATTEMPTS_MAX = 10

/** A new key. Its raw form is shown only once. */
interface CreatedKey {
  readonly key: string
  /** With bullets. */
  readonly prefix: string
  readonly tenant_id: string
  /** ISO 8601, UTC. */
  readonly created_at: string
  /** Only of a test key. */
  readonly test?: true
}

/** A source at the only moment when its server key is shown. */
export interface CreatedSource {
  /** The server key; of a source for browsers only, the browser key. */
  readonly key: string
  /** The browser key; undefined: it has none. */
  readonly browserKey: string | undefined
  /** See `sourceIdOf`. */
  readonly id: string
  readonly tenantId: string
  /** ISO 8601, UTC. */
  readonly createdAt: string
  readonly source: SourceFacts
}

interface SourceCreation {
  /** Which keys it gets. Default: `server`. */
  readonly keys?: SourceKeySorts
  /** Encrypts the source's secret for its id. Undefined: it has none. */
  readonly secret?: ((id: string) => string) | undefined
  /** User of the dashboard. */
  readonly madeBy?: Maker | undefined
}

/** A key and its stored facts. */
interface NewKey {
  readonly key: string
  readonly prefix: string
  readonly source?: SourceFacts
}

interface TenantAdminOptions {
  readonly store: TenantStore
  readonly plans: Plans
  readonly clock: Clock
}

/**
 * Manages tenants and their keys. Every method throws `InputError` with a one-line reason when the request is invalid, and
 * `UnavailableError` when the store is down.
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

  /** @param name 1 to 64 of `[a-z0-9-]`; it becomes the tenant's id */
  async createTenant(name: string, options: TenantChange = {}): Promise<Tenant> {
    if (!TENANT_ID.test(name)) {
      throw new InputError(`a tenant's name must be 1 to 64 of a-z, 0-9 and "-", got ${JSON.stringify(name)}`)
    }
    const plan = options.plan ?? 'starter'
    this.#assertPlan(plan)
    const {
      archive = false,
      addresses = 'full',
      retention_days: days,
      unclassified,
      sample_until: sampleUntil,
      time_zone: timeZone,
    } = options
    if (archive && addresses !== 'full') conflict()
    assertTimeZone(timeZone)
    const retention = typeof days === 'number' ? { retentionDays: days } : {}
    const tenant = {
      id: name,
      plan,
      archive,
      addresses,
      createdAt: this.#nowIso(),
      ...retention,
      ...(unclassified && { unclassified }),
      ...(sampleUntil !== undefined && { sampleUntil }),
      ...(timeZone !== undefined && { timeZone }),
    }
    if (await this.#store.createTenant(tenant)) return tenant
    await this.#assertNotDeleting(name)
    throw new InputError(`tenant ${name} already exists`)
  }

  async listTenants(): Promise<Tenant[]> {
    return this.#store.listTenants()
  }

  async getTenant(name: string): Promise<Tenant> {
    return (await this.#store.getTenant(name)) ?? unknownTenant(name)
  }

  /** Changes the given fields and returns the tenant. Applies at once in all processes. */
  async setTenant(name: string, change: TenantChange): Promise<Tenant> {
    if (change.plan !== undefined) this.#assertPlan(change.plan)
    assertTimeZone(change.time_zone)
    await this.#assertNotDeleting(name)
    const { time_zone: zone } = change
    const isMoved = zone !== undefined && zone !== zoneOfTenant(await this.getTenant(name))
    const whole = isMoved ? { ...change, time_zone_since: this.#nowIso() } : change
    const changed = (await this.#store.changeTenant(name, whole)) ?? unknownTenant(name)
    return changed === 'conflict' ? conflict() : changed
  }

  /**
   * Adds and removes rules, and returns the tenant. Applies at once in all processes.
   * @param change rules in canonical spelling
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

  /**
   * Creates a key. No store has its raw form.
   * @param madeBy user of the dashboard
   * @param isTest see `generateRawKey`
   */
  async createKey(tenantId: string, madeBy?: Maker, isTest = false): Promise<CreatedKey> {
    const { key, prefix, createdAt } = await this.#newKey(tenantId, madeBy, () => {
      const made = generateRawKey(isTest)
      return { key: made, prefix: barePrefix(made) }
    })
    return {
      key,
      prefix: displayPrefix(prefix),
      tenant_id: tenantId,
      created_at: createdAt,
      ...(isTest && { test: true as const }),
    }
  }

  async #newKey<K extends NewKey>(
    tenantId: string,
    madeBy: Maker | undefined,
    generate: () => K,
  ): Promise<K & { readonly createdAt: string }> {
    await this.#assertNotDeleting(tenantId)
    for (let attempt = 0; attempt < PREFIX_ATTEMPTS_MAX; attempt++) {
      const made = generate()
      const { prefix, source } = made
      const createdAt = this.#nowIso()
      const stored = { prefix, tenantId, createdAt, revokedAt: undefined, lastUsed: undefined, source, madeBy }
      const result = await this.#store.createKey(hashKey(made.key), stored)
      if (result === 'no tenant') unknownTenant(tenantId)
      if (result === 'created') return { ...made, createdAt }
    }
    throw new UnavailableError('found no unused key prefix: try again')
  }

  /** Makes a source and its keys. The raw server key is in the answer and nowhere else. */
  async createSource(
    tenantId: string,
    facts: SourceFacts,
    { keys = 'server', secret, madeBy }: SourceCreation = {},
  ): Promise<CreatedSource> {
    const named = readFacts(facts)
    const { key, prefix, source, createdAt } = await this.#newKey(tenantId, madeBy, () => {
      const { server, browser } = generateSourceKeys()
      const id = sourceIdOf(server)
      const own = {
        ...named,
        ...(keys !== 'server' && { browser_key: browser }),
        ...(keys === 'browser' && { address: 'connection' as const }),
        ...(secret && { secret: secret(id) }),
      }
      return { key: keys === 'browser' ? browser : server, prefix: id, source: own }
    })
    return { key, browserKey: source.browser_key, id: prefix, tenantId, createdAt, source }
  }

  /** Ordered by creation, revoked ones included. */
  async listSources(tenantId: string): Promise<StoredSource[]> {
    await this.getTenant(tenantId)
    return await this.#store.listSources(tenantId)
  }

  /** A page of sources, newest first, revoked ones included; see `TenantStore.pageKeys`. */
  async pageSources(tenantId: string, before: number | undefined, limit: number): Promise<KeyPage<StoredSource>> {
    await this.getTenant(tenantId)
    return await this.#store.pageSources(tenantId, before, limit)
  }

  /** A source, revoked or not. */
  async getSource(id: string): Promise<StoredSource> {
    assertSourceId(id)
    const found = await this.#store.getKey(id)
    return found?.source === undefined ? unknownSource(id) : { ...found, source: found.source }
  }

  /**
   * Changes a source. In force at once, in all processes.
   * @param ofTenant tenant that must own the source; undefined: any
   */
  async setSource(id: string, change: Partial<SourceFacts>, ofTenant?: string): Promise<StoredSource> {
    assertSourceId(id)
    const named = readFacts(change)
    // A source never moves to another tenant.
    if (ofTenant !== undefined && (await this.#store.getKey(id))?.tenantId !== ofTenant) unknownSource(id)
    return (await this.#store.changeSource(id, named)) ?? unknownSource(id)
  }

  /**
   * Revokes the key of a source for ever, and forgets its secret.
   * @param ofTenant tenant that must own the source; undefined: any
   */
  async revokeSource(id: string, ofTenant?: string): Promise<StoredSource> {
    assertSourceId(id)
    const revoked = (await this.#store.revokeKey(id, this.#nowIso(), ofTenant)) ?? unknownSource(id)
    if (revoked.source?.secret) await this.#store.changeSource(id, { secret: '' })
    return revoked as StoredSource
  }

  /** Ordered by creation, revoked keys included. */
  async listKeys(tenantId: string): Promise<ApiKey[]> {
    await this.getTenant(tenantId)
    return (await this.#store.listKeys(tenantId)).map(apiKey)
  }

  /** A page of keys, newest first, revoked keys included; see `TenantStore.pageKeys`. */
  async pageKeys(tenantId: string, before: number | undefined, limit: number): Promise<KeyPage<ApiKey>> {
    await this.getTenant(tenantId)
    const page = await this.#store.pageKeys(tenantId, before, limit)
    return { ...page, keys: page.keys.map(apiKey) }
  }

  /** A key of this tenant. @param prefix with or without bullets */
  async getKey(tenantId: string, prefix: string): Promise<ApiKey> {
    const bare = parseGivenPrefix(prefix)
    const key = await this.#store.getKey(bare)
    return key?.tenantId === tenantId ? apiKey(key) : unknownPrefix(bare)
  }

  /**
   * Revokes for ever.
   * @param prefix with or without bullets
   * @param ofTenant tenant that must own the key; undefined: any
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
    throw new InputError(`unknown plan ${JSON.stringify(plan)}: must be one of ${[...this.#plans.keys()].join(', ')}`)
  }

  #nowIso(): string {
    return new Date(this.#clock.now()).toISOString()
  }
}

function unknownTenant(name: string): never {
  throw new InputError(`unknown tenant ${JSON.stringify(name)}`)
}

/** Does not repeat the text in the error, because it may be a raw key. */
function parseGivenPrefix(text: string): string {
  const bare = parsePrefix(text)
  if (bare === undefined) {
    throw new InputError(
      `a key's prefix must be ${KEY_START} or ${TEST_KEY_START} and 7 hexadecimal characters, as shown by "ipid key list"`,
    )
  }
  return bare
}

function assertSourceId(id: string): void {
  if (isSourceId(id)) return
  throw new InputError('the id of a source is src_ and 7 hexadecimal characters, as `source list` shows it')
}

const NAME_MAX_CHARS = 200

/** The facts with the name as it is shown. */
function readFacts<F extends Partial<SourceFacts>>(facts: F): F {
  const { name } = facts
  return name === undefined ? facts : { ...facts, name: readDisplayName(name, "a source's name", NAME_MAX_CHARS) }
}

function unknownSource(id: string): never {
  throw new InputError(`no source has the id ${id}`)
}

function unknownPrefix(bare: string): never {
  throw new InputError(`no key has the prefix ${bare}`)
}

function conflict(): never {
  throw new InputError(
    'an archive keeps full addresses: --archive on needs --addresses full, and --addresses truncated or dropped needs ' +
      '--archive off',
  )
}

function apiKey(key: StoredKey): ApiKey {
  return { ...key, prefix: displayPrefix(key.prefix) }
}

function assertTimeZone(name: string | undefined): void {
  if (name === undefined || isTimeZone(name)) return
  const text = JSON.stringify(name.slice(0, 64))
  throw new InputError(`${text} is no time zone: write its IANA name, such as Europe/Berlin`, { field: 'time_zone' })
}
