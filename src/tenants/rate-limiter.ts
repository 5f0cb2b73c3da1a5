import type { BucketDemand, BucketGrant, TokenBuckets } from './stores.ts'
import type { Caller, RateDecision, RateLimiter } from './tenancy.ts'

interface Waiter {
  resolve(decision: RateDecision): void
  reject(error: unknown): void
}

interface Demand {
  readonly caller: Caller
  readonly waiters: Waiter[]
}

/**
 * One token bucket per tenant, shared by all processes. Requests that arrive in the same turn of the event loop ask
 * together: as many of them as there are tokens are allowed, in the order of their arrival.
 */
export class SharedRateLimiter implements RateLimiter {
  readonly #buckets: TokenBuckets
  #demands = new Map<string, Demand>()

  constructor(buckets: TokenBuckets) {
    this.#buckets = buckets
  }

  take(caller: Caller): Promise<RateDecision> {
    return new Promise((resolve, reject) => {
      const demand = this.#demands.get(caller.tenant.id)
      if (demand && demand.caller.plan === caller.plan) {
        demand.waiters.push({ resolve, reject })
        return
      }
      if (demand) this.#flush()
      if (this.#demands.size === 0) setImmediate(() => this.#flush())
      this.#demands.set(caller.tenant.id, { caller, waiters: [{ resolve, reject }] })
    })
  }

  #flush(): void {
    const demands = [...this.#demands.values()]
    this.#demands = new Map()
    if (demands.length === 0) return
    const grants = this.#buckets.take(demands.map(bucketDemand))
    demands.forEach(({ caller, waiters }, i) => {
      grants[i]!.then(
        (grant) => {
          waiters.forEach((waiter, position) => {
            waiter.resolve(decide(caller.plan, grant, position))
          })
        },
        (error) => {
          for (const waiter of waiters) waiter.reject(error)
        },
      )
    })
  }
}

function bucketDemand({ caller, waiters }: Demand): BucketDemand {
  return { tenantId: caller.tenant.id, rate: caller.plan.rate, burst: caller.plan.burst, wanted: waiters.length }
}

/** @param position of the request among those that asked together */
function decide(plan: Caller['plan'], grant: BucketGrant, position: number): RateDecision {
  const { granted, leftMilli } = grant
  const allowed = position < granted
  // Those that took their token before the others saw more of them left.
  const left = leftMilli / 1_000 + (allowed ? granted - 1 - position : 0)
  return {
    allowed,
    limit: plan.burst,
    remaining: Math.max(0, Math.floor(left)),
    resetSeconds: Math.max(0, Math.ceil((plan.burst - left) / plan.rate)),
    retryAfterSeconds: allowed ? 0 : Math.max(1, Math.ceil((1 - left) / plan.rate)),
  }
}
