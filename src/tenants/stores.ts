import type { SourceFacts } from '../../schemas/api-key.ts'
import type { Maker } from '../../schemas/maker.ts'
import type { TenantChange } from '../../schemas/tenant.ts'
import type { CallerSource, Tenant } from './tenancy.ts'

export interface StoredKey {
  /** First 12 characters of the raw key. */
  readonly prefix: string
  readonly tenantId: string
  /** ISO 8601, UTC. */
  readonly createdAt: string
  readonly revokedAt: string | undefined
  /** Latest use, about a second late; ISO 8601, UTC. */
  readonly lastUsed: string | undefined
  /** Undefined: it is an API key. */
  readonly source?: SourceFacts | undefined
  /** Undefined: it was made on the command line, or by an earlier version. */
  readonly madeBy?: Maker | undefined
}

/** The owner of a key. */
export interface KeyHolder {
  readonly tenant: Tenant
  /** SHA-256 under which the key is stored: see `recordUses`. A source has one for both of its keys. */
  readonly keyHash: string
  /** Undefined: it is an API key. */
  readonly source?: CallerSource
}

/** A source and its key as they are stored. */
export interface StoredSource extends StoredKey {
  readonly source: SourceFacts
}

export interface KeyPage<K> {
  readonly keys: readonly K[]
  /** Number of keys of the tenant, revoked ones included. */
  readonly total: number
  /** `before` of the next page; undefined: this is the last page. */
  readonly next: number | undefined
}

/** Reads tenants and keys for requests. Every method rejects with `UnavailableError` when the store is down. */
export interface CallerStore {
  /** The holder of an active key; undefined when the key is unknown or revoked. */
  findHolder(rawKey: string): Promise<KeyHolder | undefined>
  /** Records when keys were used, milliseconds since the epoch, by `KeyHolder.keyHash`. The latest time wins over all processes. */
  recordUses(uses: ReadonlyMap<string, number>): Promise<void>
}

/**
 * Manages tenants and keys. Each change is atomic, and is published to all processes with caches. Every method rejects with
 * `UnavailableError` when the store is down.
 */
export interface TenantStore {
  /** False when the name is taken. A tenant with masked addresses gets a key for them. */
  createTenant(tenant: Tenant): Promise<boolean>
  getTenant(id: string): Promise<Tenant | undefined>
  /** Ordered by creation. */
  listTenants(): Promise<Tenant[]>
  /**
   * The tenant after the change; undefined when it does not exist. `conflict`: nothing changed, because it would have both an
   * archive and masked addresses.
   */
  changeTenant(id: string, change: TenantChange): Promise<Tenant | 'conflict' | undefined>
  /**
   * Removes rules, and appends new ones. Returns the tenant after the change; undefined when it does not exist. `too many`:
   * nothing changed.
   */
  changeRules(id: string, add: readonly string[], remove: readonly string[]): Promise<Tenant | 'too many' | undefined>
  /** Refuses a prefix that another key has, active or revoked: a prefix identifies one key for ever. */
  createKey(keyHash: string, key: StoredKey): Promise<'created' | 'no tenant' | 'prefix taken'>
  /** Ordered by creation. */
  listKeys(tenantId: string): Promise<StoredKey[]>
  /**
   * A page of keys, newest first.
   * @param before returns keys below this number, counted from 0 in order of creation; undefined: all
   */
  pageKeys(tenantId: string, before: number | undefined, limit: number): Promise<KeyPage<StoredKey>>
  /** Undefined when no key has the prefix. */
  getKey(prefix: string): Promise<StoredKey | undefined>
  /**
   * Revokes for ever; a revoked key keeps its first date. Undefined when no key has the prefix.
   * @param ofTenant tenant that must own the key; undefined: any
   */
  revokeKey(prefix: string, revokedAt: string, ofTenant?: string): Promise<StoredKey | undefined>
  /** The sources of a tenant in the order of their creation, revoked ones included. */
  listSources(tenantId: string): Promise<StoredSource[]>
  /** A page of sources, as `pageKeys`. */
  pageSources(tenantId: string, before: number | undefined, limit: number): Promise<KeyPage<StoredSource>>
  /** Changes a source. Undefined when there is none of this id. @param id see `CallerSource` */
  changeSource(id: string, change: Partial<SourceFacts>): Promise<StoredSource | undefined>
}

/** Notifies about changes of tenants and keys in any process. */
export interface TenantChanges {
  /**
   * Calls `onChange` after every change, and after a lost connection, because changes may have been missed. Returns at once.
   * Calls `onChange` when the subscription begins too.
   */
  watch(onChange: () => void): void
  close(): void
}
