import { LRUCache } from 'lru-cache'
import type { Logger } from 'pino'
import { FALLBACK_PLAN, type Plan, type Plans, planOf } from '../../schemas/plans.ts'
import type { Clock } from '../run/clock.ts'
import type { Service } from '../run/service.ts'
import { Lifecycle } from '../run/service.ts'
import { isRawKey } from './key.ts'
import { KeyUses } from './key-uses.ts'
import type { CallerStore, KeyHolder, TenantChanges } from './stores.ts'
import type { Authenticator, Caller, Tenant } from './tenancy.ts'

/** How long the cache keeps a known key, milliseconds. */
export const KNOWN_KEY_TTL_MS = 60_000
/** How long the cache keeps an unknown key, milliseconds. */
export const UNKNOWN_KEY_TTL_MS = 2_000
/** Maximum number of known keys, and of unknown ones, in the cache. */
export const KEYS_MAX = 10_000

interface CachedAuthenticatorOptions {
  readonly store: CallerStore
  readonly changes: TenantChanges
  /** Must have `starter`. */
  readonly plans: Plans
  readonly clock: Clock
  readonly log: Logger
  /** See `KeyUsesOptions`. */
  readonly flushEveryMs?: number
}

interface KnownKey {
  readonly caller: Caller
  readonly keyHash: string
  /** When the store was called. */
  readonly askedMs: number
}

/**
 * Caches callers for up to a minute, so that most requests need no call to the store, and known callers are served while it is
 * down. A change of any tenant or key, in any process, empties the cache at once.
 */
export class CachedAuthenticator implements Authenticator, Service {
  readonly name = 'authenticator'
  readonly #options: CachedAuthenticatorOptions
  /** By raw key: hashing it would double the cost of a request here. */
  readonly #known: LRUCache<string, KnownKey>
  readonly #unknown: LRUCache<string, true>
  /** Keys that were known before. The store may be asked for them again at any time. */
  readonly #formerlyKnown: LRUCache<string, true>
  readonly #reading = new Map<string, Promise<Caller | undefined>>()
  readonly #uses: KeyUses
  readonly #life = new Lifecycle()
  #changesSeen = 0

  constructor(options: CachedAuthenticatorOptions) {
    this.#options = options
    this.#known = new LRUCache({ max: KEYS_MAX })
    this.#formerlyKnown = new LRUCache({ max: KEYS_MAX })
    // LRUCache removes entries older than their `ttl`, not those that just reach it.
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

  authenticate(rawKey: string, beforeAsking: () => void = () => {}): Caller | undefined | Promise<Caller | undefined> {
    const nowMs = this.#options.clock.now()
    const known = this.#known.get(rawKey)
    if (known !== undefined) {
      const ageMs = nowMs - known.askedMs
      // The age is negative when the clock was set back.
      if (ageMs >= 0 && ageMs < KNOWN_KEY_TTL_MS) {
        this.#uses.note(known.keyHash, nowMs)
        return known.caller
      }
      this.#known.delete(rawKey)
    }
    if (!isRawKey(rawKey)) return undefined
    if (this.#unknown.get(rawKey)) return undefined
    if (this.#formerlyKnown.get(rawKey) === undefined) beforeAsking()
    return this.#reading.get(rawKey) ?? this.#read(rawKey)
  }

  #read(rawKey: string): Promise<Caller | undefined> {
    const reading = this.#find(rawKey).finally(() => {
      if (this.#reading.get(rawKey) === reading) this.#reading.delete(rawKey)
    })
    this.#reading.set(rawKey, reading)
    return reading
  }

  async #find(rawKey: string): Promise<Caller | undefined> {
    const changesSeen = this.#changesSeen
    // The age counts from the call, because the answer may be older than its arrival.
    const askedMs = this.#options.clock.now()
    const holder = await this.#options.store.findHolder(rawKey)
    const known = holder && this.#knownKey(holder, askedMs)
    if (known) {
      this.#uses.note(known.keyHash, askedMs)
      this.#formerlyKnown.set(rawKey, true)
    } else {
      this.#formerlyKnown.delete(rawKey)
    }
    // The answer may lack a change that happened meanwhile.
    if (changesSeen === this.#changesSeen) {
      if (known) this.#known.set(rawKey, known)
      else this.#unknown.set(rawKey, true, { start: askedMs })
    }
    return known?.caller
  }

  #knownKey({ tenant, source, keyHash }: KeyHolder, askedMs: number): KnownKey {
    return { caller: { tenant, plan: this.#planOf(tenant), ...(source && { source }) }, keyHash, askedMs }
  }

  #planOf(tenant: Tenant): Plan {
    const { plans, log } = this.#options
    if (!plans.has(tenant.plan)) {
      log.warn({ tenant_id: tenant.id, plan: tenant.plan }, `plan does not exist: using ${FALLBACK_PLAN} instead`)
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
