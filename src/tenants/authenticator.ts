import { LRUCache } from 'lru-cache'
import type { Logger } from 'pino'
import { FALLBACK_PLAN, type Plan, type Plans, planOf } from '../../schemas/plans.ts'
import type { Clock } from '../run/clock.ts'
import { Lifecycle } from '../run/lifecycle.ts'
import type { Service } from '../run/service.ts'
import { hashKey, isRawKey } from './key.ts'
import { KeyUses } from './key-uses.ts'
import type { CallerStore, TenantChanges } from './stores.ts'
import type { Authenticator, Caller, Tenant } from './tenancy.ts'

/** How long a key that was found may be used without asking again, milliseconds. */
export const KNOWN_KEY_TTL_MS = 60_000
/** How long a key that was not found is refused without asking again, milliseconds. */
export const UNKNOWN_KEY_TTL_MS = 2_000
/** Keys held of each sort. */
export const KEYS_MAX = 10_000

interface CachedAuthenticatorOptions {
  readonly store: CallerStore
  readonly changes: TenantChanges
  /** Has `starter`. */
  readonly plans: Plans
  readonly clock: Clock
  readonly log: Logger
  /** See `KeyUsesOptions`. */
  readonly flushEveryMs?: number
}

interface KnownKey {
  readonly caller: Caller
  readonly keyHash: string
  /** When the store was asked. */
  readonly askedMs: number
}

/**
 * Remembers callers for up to a minute, so that most requests cost no look into the store, and those who called within
 * it are served while the store is away. A change of any tenant or key, in any process, empties the cache at once.
 */
export class CachedAuthenticator implements Authenticator, Service {
  readonly name = 'authenticator'
  readonly #options: CachedAuthenticatorOptions
  /** By the raw key: its hash would cost each request as much as all else that is done here. */
  readonly #known: LRUCache<string, KnownKey>
  readonly #unknown: LRUCache<string, true>
  readonly #reading = new Map<string, Promise<Caller | undefined>>()
  readonly #uses: KeyUses
  readonly #life = new Lifecycle()
  #changesSeen = 0

  constructor(options: CachedAuthenticatorOptions) {
    this.#options = options
    this.#known = new LRUCache({ max: KEYS_MAX })
    // Entries are dropped when they are older than their `ttl`, not when they reach it.
    this.#unknown = new LRUCache({ max: KEYS_MAX, ttl: UNKNOWN_KEY_TTL_MS - 1, ttlResolution: 0, perf: options.clock })
    this.#uses = new KeyUses(options)
  }

  start(): Promise<void> {
    return this.#life.start(async () => {
      this.#options.changes.watch(() => this.#forget())
      await this.#uses.start()
    })
  }

  stop(): Promise<void> {
    return this.#life.stop(async () => {
      this.#options.changes.close()
      await this.#uses.stop()
    })
  }

  authenticate(rawKey: string): Caller | undefined | Promise<Caller | undefined> {
    const nowMs = this.#options.clock.now()
    const known = this.#known.get(rawKey)
    if (known !== undefined) {
      const ageMs = nowMs - known.askedMs
      // A clock that was set back tells nothing of its age.
      if (ageMs >= 0 && ageMs < KNOWN_KEY_TTL_MS) {
        this.#uses.note(known.keyHash, nowMs)
        return known.caller
      }
      this.#known.delete(rawKey)
    }
    if (!isRawKey(rawKey)) return undefined
    const keyHash = hashKey(rawKey)
    if (this.#unknown.get(keyHash)) return undefined
    return this.#reading.get(keyHash) ?? this.#read(rawKey, keyHash)
  }

  #read(rawKey: string, keyHash: string): Promise<Caller | undefined> {
    const reading = this.#find(rawKey, keyHash).finally(() => {
      if (this.#reading.get(keyHash) === reading) this.#reading.delete(keyHash)
    })
    this.#reading.set(keyHash, reading)
    return reading
  }

  async #find(rawKey: string, keyHash: string): Promise<Caller | undefined> {
    const changesSeen = this.#changesSeen
    // The age counts from the question: the answer may be older than its arrival.
    const askedMs = this.#options.clock.now()
    const tenant = await this.#options.store.findTenant(keyHash)
    const caller = tenant && { tenant, plan: this.#planOf(tenant) }
    if (caller) this.#uses.note(keyHash, askedMs)
    // What changed while the answer was on its way may not be in it.
    if (changesSeen === this.#changesSeen) {
      if (caller) this.#known.set(rawKey, { caller, keyHash, askedMs })
      else this.#unknown.set(keyHash, true, { start: askedMs })
    }
    return caller
  }

  #planOf(tenant: Tenant): Plan {
    const { plans, log } = this.#options
    if (!plans.has(tenant.plan)) {
      log.warn({ tenant_id: tenant.id, plan: tenant.plan }, `plan does not exist, ${FALLBACK_PLAN} is used instead`)
    }
    return planOf(plans, tenant)
  }

  #forget(): void {
    this.#changesSeen++
    this.#known.clear()
    this.#unknown.clear()
    this.#reading.clear()
  }
}
