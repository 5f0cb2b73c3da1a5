import { LRUCache } from 'lru-cache'
import type { Logger } from 'pino'
import { isTestKey } from '../../schemas/key-text.ts'
import { FALLBACK_PLAN, type Plan, type Plans, planOf } from '../../schemas/plans.ts'
import type { Clock } from '../run/clock.ts'
import { Loop } from '../run/loop.ts'
import { Lifecycle, type Service } from '../run/service.ts'
import { barePrefix, isRawKey } from './key.ts'
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
    const known = holder && this.#knownKey(rawKey, holder, askedMs)
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

  #knownKey(rawKey: string, { tenant, source, keyHash }: KeyHolder, askedMs: number): KnownKey {
    const key =
      source === undefined ? { keyPrefix: barePrefix(rawKey), ...(isTestKey(rawKey) && { isTest: true }) } : { source }
    return { caller: { tenant, plan: this.#planOf(tenant), ...key }, keyHash, askedMs }
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

interface KeyUsesOptions {
  readonly store: Pick<CallerStore, 'recordUses'>
  readonly log: Logger
  /** Time between writes, milliseconds. Default 1,000. */
  readonly flushEveryMs?: number
}

/** Maximum number of keys noted between two writes. */
const NOTED_KEYS_MAX = 20_000

/** A key in use costs one update per second, however many requests it makes. Listed times are at most this late. */
const FLUSH_EVERY_MS = 1_000
/** Pause while there is nothing to write. The next use ends it. */
const REST_MS = 60_000
const RETRY_DELAY_MAX_MS = 10_000

/** Collects when keys were used and writes it in the background. */
export class KeyUses implements Service {
  readonly name = 'key uses'
  readonly #options: KeyUsesOptions
  readonly #pending = new Map<string, number>()
  readonly #loop: Loop
  #writing: Promise<void> | undefined
  #isAtRest = false

  constructor(options: KeyUsesOptions) {
    this.#options = options
    const flushEveryMs = options.flushEveryMs ?? FLUSH_EVERY_MS
    this.#loop = new Loop({
      name: this.name,
      round: async () => {
        this.#isAtRest = this.#pending.size === 0
        await this.#flush()
        return this.#isAtRest ? REST_MS : flushEveryMs
      },
      failed: (error) => this.#postponed(error),
      delay: { minMs: flushEveryMs, maxMs: Math.max(flushEveryMs, RETRY_DELAY_MAX_MS) },
    })
  }

  start(): Promise<void> {
    return this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
    await this.flush()
  }

  /** Notes a use. Beyond the limit, ignores a key until its next use. */
  note(keyHash: string, nowMs: number): void {
    if (this.#pending.size < NOTED_KEYS_MAX || this.#pending.has(keyHash)) this.#pending.set(keyHash, nowMs)
    if (this.#isAtRest) this.#wake()
  }

  #wake(): void {
    this.#isAtRest = false
    this.#loop.wake()
  }

  /** Writes noted uses. Never rejects: a failed write is tried again. */
  async flush(): Promise<void> {
    await this.#flush().catch((error) => this.#postponed(error))
  }

  async #flush(): Promise<void> {
    await this.#writing?.catch(() => {})
    if (this.#pending.size === 0) return
    this.#writing = this.#write(new Map(this.#pending)).finally(() => {
      this.#writing = undefined
    })
    await this.#writing
  }

  #postponed(error: unknown): void {
    this.#options.log.debug({ err: error }, 'writing key uses failed; trying again later')
  }

  async #write(uses: ReadonlyMap<string, number>): Promise<void> {
    this.#pending.clear()
    try {
      await this.#options.store.recordUses(uses)
    } catch (error) {
      for (const [keyHash, usedMs] of uses) if (!this.#pending.has(keyHash)) this.#pending.set(keyHash, usedMs)
      throw error
    }
  }
}
