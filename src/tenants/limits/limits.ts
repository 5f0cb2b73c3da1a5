import type { Plan } from '../../../schemas/plans.ts'
import { DAY_MS } from '../../pipeline/event/outcomes.ts'
import { andThen } from '../../run/and-then.ts'
import type { Clock } from '../../run/clock.ts'
import type { Service } from '../../run/service.ts'
import { keys } from '../../stores/redis/keys.ts'
import type { Caller } from '../tenancy.ts'
import { SharedTokens, type Taken, type TokenCounter, type TokenCounters } from './shared-tokens.ts'

/** The key of a source in a request. */
const sourceKey = ({ source }: Caller) => source && (source.isBrowser ? `${source.id}:browser` : source.id)

/** Who shares a counter. Returns the key that has its own; undefined: the tenant's. */
const SCOPES = {
  tenant: () => undefined,
  /**
   * Each key of a source has its own, because it may be public. API keys share one, and test keys another one, so that a test that loops stops
   * no real event.
   */
  'source key': (caller: Caller) => sourceKey(caller) ?? (caller.isTest ? 'test' : undefined),
  /** Each key has its own. Lookups in the dashboard have no key and share one. */
  key: (caller: Caller) => sourceKey(caller) ?? caller.keyPrefix,
} satisfies Record<string, (caller: Caller) => string | undefined>

/** A number of tokens in a time. */
export interface Limit {
  /** Begins the text of a 429. */
  readonly name: string
  /** Names the counters in Redis (`keys.tokens`). Unique. A new name begins anew. */
  readonly counter: string
  /** What takes tokens: a request with a key takes 1, a lookup 1 for each address, the events with a browser key `eventTokens`. */
  readonly counts: 'requests' | 'lookups' | 'events'
  readonly scope: keyof typeof SCOPES
  /** Maximum number of tokens. */
  size(plan: Plan): number
  /**
   * A window gives all tokens at its start, UTC. A bucket is full at first, and gets this number of tokens per second. Lookups need a
   * window, because their answers say when it starts anew.
   */
  readonly refill: keyof typeof WINDOWS | ((plan: Plan) => number)
}

export const REQUEST_RATE: Limit = {
  name: 'rate limit',
  counter: 'bucket',
  counts: 'requests',
  scope: 'source key',
  size: (plan) => plan.burst,
  refill: (plan) => plan.rate,
}

/**
 * Of events with a browser key, because anybody may have it: its requests alone may bring 2,500 events or 4 MiB each. Pages send one event
 * or a few in a request.
 */
export const BROWSER_EVENTS: Limit = {
  name: 'event rate limit',
  counter: 'events',
  counts: 'events',
  scope: 'source key',
  size: (plan) => 100 * plan.burst,
  refill: (plan) => 50 * plan.rate,
}

const TOKEN_CHARS = 2_048

/**
 * Tokens of the events of a request. A full bucket is enough for any request.
 * @param chars of the events; an event of usual size has fewer than 2,048
 */
export function eventTokens({ plan }: Caller, events: number, chars: number): number {
  return Math.min(Math.max(events, Math.ceil(chars / TOKEN_CHARS)), BROWSER_EVENTS.size(plan))
}

export const DAILY_LOOKUPS: Limit = {
  name: 'daily quota',
  counter: 'lookups',
  counts: 'lookups',
  scope: 'tenant',
  size: (plan) => plan.daily_lookups,
  refill: 'day',
}

/**
 * All limits of tenants. Answers show the first that counts requests, and the first that counts lookups. Later ones are asked earlier,
 * and show when they refuse.
 */
const LIMITS: readonly Limit[] = [REQUEST_RATE, DAILY_LOOKUPS, BROWSER_EVENTS]

/** A limit after a request took its tokens, or was refused. */
export interface LimitDecision {
  /** Name of the limit. */
  readonly name: string
  readonly allowed: boolean
  /** Size of the limit. */
  readonly limit: number
  /** Whole tokens left; below zero when the size of a window was lowered. */
  readonly left: number
  /** `limit` - `left` */
  readonly used: number
  /** Seconds in which the limit holds: those of a window, or those in which an empty bucket fills. */
  readonly windowSeconds: number
  /** When the next window starts, like `2026-11-22T00:00:00+00:00`; `''`: a bucket. */
  readonly resetAt: string
  /** Seconds until all tokens are back, rounded up; of a window at least 1. */
  readonly resetSeconds: number
  /** Seconds until the request may be allowed; at least 1 when refused, 0 when allowed. */
  readonly retryAfterSeconds: number
}

export interface Limiter {
  /** Takes all of these tokens or none. Answers without a promise from reserved tokens. Rejects with `UnavailableError`. */
  take(caller: Caller, tokens: number): LimitDecision | Promise<LimitDecision>
}

/** The limits of tenants. A stop of the services returns all reservations. */
export function sharedLimits(
  store: TokenCounters,
  clock: Clock,
  limits = LIMITS,
): Record<Limit['counts'], Limiter> & { readonly services: readonly Service[] } {
  const services = limits.map((limit) => new SharedLimit(limit, store, clock))
  const counting = (counts: Limit['counts']) => allOf(services.filter((_, i) => limits[i]!.counts === counts))
  return { requests: counting('requests'), lookups: counting('lookups'), events: counting('events'), services }
}

function allOf([first, ...others]: readonly Limiter[]): Limiter {
  if (others.length === 0) return first!
  const rest = allOf(others)
  return {
    take: (caller, tokens) =>
      andThen(rest.take(caller, tokens), (decision) => (decision.allowed ? first!.take(caller, tokens) : decision)),
  }
}

/** A limit that all processes share exactly. */
export class SharedLimit implements Limiter, Service {
  readonly name: string
  readonly #limit: Limit
  readonly #store: TokenCounters
  readonly #clock: Clock
  readonly #tokens: SharedTokens
  #window: Window | undefined

  constructor(limit: Limit, store: TokenCounters, clock: Clock) {
    this.name = limit.name
    this.#limit = limit
    this.#store = store
    this.#clock = clock
    this.#tokens = new SharedTokens(store)
  }

  async start(): Promise<void> {}

  /** Returns all reservations. */
  stop(): Promise<void> {
    return this.#tokens.stop()
  }

  take(caller: Caller, tokens: number): LimitDecision | Promise<LimitDecision> {
    const { counter, decide } = this.#of(caller)
    return andThen(this.#tokens.take(counter, tokens), (taken) => decide(taken, tokens))
  }

  /** Takes nothing. Reserved tokens count as taken. Rejects with `UnavailableError`. */
  async read(caller: Caller): Promise<LimitDecision> {
    const { counter, decide } = this.#of(caller)
    return decide({ allowed: true, left: await this.#store.left(counter) }, 0)
  }

  #of(caller: Caller): { counter: TokenCounter; decide(taken: Taken, tokens: number): LimitDecision } {
    const { name } = this
    const { counter, scope, size, refill } = this.#limit
    const { tenant, plan } = caller
    const limit = size(plan)
    if (typeof refill === 'function') {
      const rate = refill(plan)
      return {
        counter: { key: keys.tokens(tenant.id, counter, SCOPES[scope](caller)), size: limit, rate },
        decide({ allowed, left }, tokens) {
          const whole = Math.max(0, Math.floor(left))
          const resetSeconds = Math.max(0, Math.ceil((limit - left) / rate))
          const retryAfterSeconds = allowed ? 0 : Math.max(1, Math.ceil((tokens - left) / rate))
          return {
            name,
            allowed,
            limit,
            windowSeconds: Math.ceil(limit / rate),
            left: whole,
            used: limit - whole,
            resetAt: '',
            resetSeconds,
            retryAfterSeconds,
          }
        },
      }
    }
    const nowMs = this.#clock.now()
    if (!this.#window || nowMs < this.#window.startMs || nowMs >= this.#window.endMs) {
      this.#window = windowAt(refill, nowMs)
    }
    const { window, startMs, endMs, resetAt, keptMs } = this.#window
    const windowSeconds = (endMs - startMs) / 1_000
    const key = keys.tokens(tenant.id, counter, SCOPES[scope](caller), window)
    const resetSeconds = Math.max(1, Math.ceil((endMs - nowMs) / 1_000))
    return {
      counter: { key, size: limit, rate: 0, keptMs },
      decide({ allowed, left }) {
        const retryAfterSeconds = allowed ? 0 : resetSeconds
        return {
          name,
          allowed,
          limit,
          windowSeconds,
          left,
          used: limit - left,
          resetAt,
          resetSeconds,
          retryAfterSeconds,
        }
      },
    }
  }
}

interface Window {
  /** Its start as ISO 8601, as far as its length needs: a day is `YYYY-MM-DD`. */
  readonly window: string
  readonly startMs: number
  readonly endMs: number
  readonly resetAt: string
  /** Redis keeps a count after its window, so that it can be shown. */
  readonly keptMs: number
}

/** How much of the ISO 8601 text of a time names its window, and the longest window. */
const WINDOWS = {
  hour: { chars: 13, maxMs: 3_600_000 },
  day: { chars: 10, maxMs: DAY_MS },
  month: { chars: 7, maxMs: 31 * DAY_MS },
}

function windowAt(kind: keyof typeof WINDOWS, ms: number): Window {
  const { chars, maxMs } = WINDOWS[kind]
  const nameAt = (at: number) => new Date(at).toISOString().slice(0, chars)
  const startAt = (at: number) => Date.parse(`${nameAt(at)}${'0000-01-01T00:00:00Z'.slice(chars)}`)
  const startMs = startAt(ms)
  const endMs = startAt(startMs + maxMs)
  const resetAt = `${new Date(endMs).toISOString().slice(0, 19)}+00:00`
  return { window: nameAt(ms), startMs, endMs, resetAt, keptMs: 2 * maxMs }
}
