import type { Plan } from '../../schemas/plans.ts'
import type { Service } from '../run/service.ts'
import { SharedTokens, type Taken, type TokenCounters } from './shared-tokens.ts'
import type { Caller, RateDecision, RateLimiter } from './tenancy.ts'

/**
 * Token buckets of the size and rate of the tenant's plan, shared exactly by all processes: one for the API keys of a tenant, and one
 * for each key of a source, so that a key in a public page uses up nothing but its own.
 */
export class SharedRateLimiter implements RateLimiter, Service {
  readonly name = 'rate limiter'
  readonly #tokens: SharedTokens

  constructor(store: TokenCounters) {
    this.#tokens = new SharedTokens(store)
  }

  async start(): Promise<void> {}

  /** Returns all reservations. */
  stop(): Promise<void> {
    return this.#tokens.stop()
  }

  take({ tenant, plan, source }: Caller): RateDecision | Promise<RateDecision> {
    const keyId = source && (source.isBrowser ? `${source.id}:browser` : source.id)
    const taken = this.#tokens.take(
      { tenantId: tenant.id, ...(keyId && { keyId }), size: plan.burst, rate: plan.rate },
      1,
    )
    return taken instanceof Promise ? taken.then((it) => decide(plan, it)) : decide(plan, taken)
  }
}

function decide({ rate, burst }: Plan, { allowed, left }: Taken): RateDecision {
  return {
    allowed,
    limit: burst,
    remaining: Math.max(0, Math.floor(left)),
    resetSeconds: Math.max(0, Math.ceil((burst - left) / rate)),
    retryAfterSeconds: allowed ? 0 : Math.max(1, Math.ceil((1 - left) / rate)),
  }
}
