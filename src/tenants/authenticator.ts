import type { Logger } from 'pino'
import type { Clock } from '../core/run/clock.ts'
import { Lifecycle } from '../core/run/lifecycle.ts'
import type { Service } from '../core/run/service.ts'
import { ExpiringMap } from './expiring-map.ts'
import { hashKey, isRawKey } from './key.ts'
import { KeyUses } from './key-uses.ts'
import type { Plan, Plans } from './plans.ts'
import type { CallerStore, TenantChanges } from './stores.ts'
import type { Authenticator, Caller, Tenant } from './tenancy.ts'

/** How long a key that was found may be used without asking again, milliseconds. */
export const KNOWN_KEY_TTL_MS = 60_000
/** How long a key that was not found is refused without asking again, milliseconds. */
export const UNKNOWN_KEY_TTL_MS = 2_000
/** Keys held of each sort. */
const KEYS_MAX = 10_000

/** The plan of a tenant whose own does not exist any more. */
const FALLBACK_PLAN = 'starter'

export interface CachedAuthenticatorOptions {
  readonly store: CallerStore
  readonly changes: TenantChanges
  /** Has `starter`. */
  readonly plans: Plans
  readonly clock: Clock
  readonly log: Logger
  /** See `KeyUsesOptions`. */
  readonly flushEveryMs?: number
}

/**
 * Knows callers for up to a minute, so that most requests cost no look into the store and a store that is away stops
 * nobody who was there just before. A change in any process empties what is known at once.
 */
export class CachedAuthenticator implements Authenticator, Service {
  readonly name = 'authenticator'
  readonly #options: CachedAuthenticatorOptions
  readonly #known = new ExpiringMap<Caller>(KNOWN_KEY_TTL_MS, KEYS_MAX)
  readonly #unknown = new ExpiringMap<true>(UNKNOWN_KEY_TTL_MS, KEYS_MAX)
  readonly #reading = new Map<string, Promise<Caller | undefined>>()
  readonly #uses: KeyUses
  readonly #life = new Lifecycle()
  #changesSeen = 0

  constructor(options: CachedAuthenticatorOptions) {
    this.#options = options
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
    if (!isRawKey(rawKey)) return undefined
    const keyHash = hashKey(rawKey)
    const nowMs = this.#options.clock.now()
    const caller = this.#known.get(keyHash, nowMs)
    if (caller !== undefined) {
      this.#uses.note(keyHash, nowMs)
      return caller
    }
    if (this.#unknown.get(keyHash, nowMs)) return undefined
    return this.#reading.get(keyHash) ?? this.#read(keyHash)
  }

  #read(keyHash: string): Promise<Caller | undefined> {
    const reading = this.#find(keyHash).finally(() => {
      if (this.#reading.get(keyHash) === reading) this.#reading.delete(keyHash)
    })
    this.#reading.set(keyHash, reading)
    return reading
  }

  async #find(keyHash: string): Promise<Caller | undefined> {
    const changesSeen = this.#changesSeen
    // The age counts from the question: the answer may be older than its arrival.
    const askedMs = this.#options.clock.now()
    const tenant = await this.#options.store.findTenant(keyHash)
    const caller = tenant && { tenant, plan: this.#planOf(tenant) }
    if (caller) this.#uses.note(keyHash, askedMs)
    // What changed while the answer was on its way may not be in it.
    if (changesSeen === this.#changesSeen) {
      if (caller) this.#known.set(keyHash, caller, askedMs)
      else this.#unknown.set(keyHash, true, askedMs)
    }
    return caller
  }

  #planOf(tenant: Tenant): Plan {
    const { plans, log } = this.#options
    const plan = plans.get(tenant.plan)
    if (plan) return plan
    log.warn({ tenant_id: tenant.id, plan: tenant.plan }, `plan does not exist, ${FALLBACK_PLAN} is used instead`)
    return plans.get(FALLBACK_PLAN)!
  }

  #forget(): void {
    this.#changesSeen++
    this.#known.clear()
    this.#unknown.clear()
    this.#reading.clear()
  }
}
