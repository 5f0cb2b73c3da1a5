import type { TenantChange } from '../../schemas/tenant.ts'
import type { Tenant } from './tenancy.ts'
import type { ReservationChange } from './token-reservation.ts'

/** An API key as it is stored. */
export interface StoredKey {
  /** First 12 characters of the raw key. */
  readonly prefix: string
  readonly tenantId: string
  /** ISO 8601, UTC. */
  readonly createdAt: string
  readonly revokedAt: string | undefined
  /** The latest use, at most about a second late; ISO 8601, UTC. */
  readonly lastUsed: string | undefined
}

/** Some of the keys of a tenant. */
export interface KeyPage<K> {
  readonly keys: readonly K[]
  /** Keys of the tenant, revoked ones included. */
  readonly total: number
  /** `before` of the next page; undefined: there is none. */
  readonly next: number | undefined
}

/** Tenants and keys, as requests need them. Everything rejects with `UnavailableError` when the store is away. */
export interface CallerStore {
  /** The tenant of an active key; undefined when the key is unknown or revoked. @param keyHash see `hashKey` */
  findTenant(keyHash: string): Promise<Tenant | undefined>
  /** Notes when keys were used, in milliseconds since the epoch. The latest time wins, whichever process noted it. */
  recordUses(uses: ReadonlyMap<string, number>): Promise<void>
}

/**
 * Tenants and keys, as the command line manages them. Each change is one step in the store, and is announced to all
 * that hold copies. Everything rejects with `UnavailableError` when the store is away.
 */
export interface TenantStore {
  /** False when there is a tenant of this name already. A tenant whose addresses are not kept in full gets a key for them. */
  createTenant(tenant: Tenant): Promise<boolean>
  getTenant(id: string): Promise<Tenant | undefined>
  /** In the order of their creation. */
  listTenants(): Promise<Tenant[]>
  /**
   * The tenant after the change; undefined when there is none. `conflict`: it would have an archive and addresses that are
   * not kept in full, and stays as it was.
   */
  changeTenant(id: string, change: TenantChange): Promise<Tenant | 'conflict' | undefined>
  /**
   * Adds rules behind those that are there, but none twice, and removes others. The tenant after it; undefined when there is
   * none. `too many`: it stays as it was.
   */
  changeRules(id: string, add: readonly string[], remove: readonly string[]): Promise<Tenant | 'too many' | undefined>
  /** Refuses a prefix that any key, active or revoked, has: a prefix stands for one key for ever. */
  createKey(keyHash: string, key: StoredKey): Promise<'created' | 'no tenant' | 'prefix taken'>
  /** In the order of their creation. */
  listKeys(tenantId: string): Promise<StoredKey[]>
  /**
   * A page of keys, the newest first.
   * @param before keys of a tenant are counted from 0 in the order of their creation: those below this number; undefined: all
   */
  pageKeys(tenantId: string, before: number | undefined, limit: number): Promise<KeyPage<StoredKey>>
  /** Undefined when no key has the prefix. */
  getKey(prefix: string): Promise<StoredKey | undefined>
  /**
   * Revokes for ever; a revoked key keeps its first date. Undefined when no key has the prefix.
   * @param ofTenant whose key it must be; undefined: anybody's
   */
  revokeKey(prefix: string, revokedAt: string, ofTenant?: string): Promise<StoredKey | undefined>
}

/** Tells that tenants or keys changed, in any process. */
export interface TenantChanges {
  /**
   * Calls `onChange` after every change, and whenever changes may have been missed (the connection was away). Returns at
   * once; when the subscription is in force, one call stands for all changes before it.
   */
  watch(onChange: () => void): void
  close(): void
}

/** A counter of tokens of one tenant. A bucket fills at a rate; a window counts tokens up to its size and never fills. */
export interface TokenCounter {
  readonly tenantId: string
  /** Name of the window, such as its day; undefined: a bucket. */
  readonly window?: string
  /** Tokens. */
  readonly size: number
  /** Tokens that flow into a bucket per second; 0 for a window. */
  readonly rate: number
  /** How long the store keeps a window after a change, milliseconds. */
  readonly keptMs?: number
}

/** What one call asks of a counter. */
export interface TokenDemand {
  readonly counter: TokenCounter
  /** Tokens that each request wants, in their order; none: only the reservation changes, or what is left is asked. */
  readonly tokens: readonly number[]
  /** The new reservation gets tokens only when all requests got theirs. */
  readonly change: ReservationChange
}

export interface TokenGrant {
  /** Of each request: whether it got all of its tokens; if not, it got none. */
  readonly allowed: readonly boolean[]
  /** Tokens left outside of all reservations; of a window below zero when its size was lowered. */
  readonly left: number
  /** Tokens that the new reservation got beside those kept. */
  readonly more: number
  /** Fewer than were to be kept when the store did not know the reservation that ended. */
  readonly kept: number
  /** Tokens that other processes reserve: some may come back. */
  readonly othersHold: number
}

/** Counters that all processes share. */
export interface TokenCounters {
  /** One promise per demand, in their order; each rejects with `UnavailableError` on its own. */
  take(demands: readonly TokenDemand[]): Promise<TokenGrant>[]
  /** Tokens that were taken of a window, reserved ones included. */
  used(tenantId: string, window: string): Promise<number>
  setUsed(tenantId: string, window: string, used: number, keptMs: number): Promise<void>
}
