import type { Plan } from '../../schemas/plans.ts'
import type { Service } from '../run/service.ts'
import { SharedTokens, type Taken, type TokenCounters } from './shared-tokens.ts'
import type { Caller, RateDecision, RateLimiter } from './tenancy.ts'

/** One token bucket per tenant, shared exactly by all processes. */
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

  take({ tenant, plan }: Caller): RateDecision | Promise<RateDecision> {
    const taken = this.#tokens.take({ tenantId: tenant.id, size: plan.burst, rate: plan.rate }, 1)
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
