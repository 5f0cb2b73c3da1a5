import { Gathering } from '../core/run/gathering.ts'
import type { BucketDemand, BucketGrant, TokenBuckets } from './stores.ts'
import type { Caller, RateDecision, RateLimiter } from './tenancy.ts'

interface Waiter {
  readonly caller: Caller
  resolve(decision: RateDecision): void
  reject(error: unknown): void
}

/** One token bucket per tenant, shared by all processes. Requests ask together: see `Gathering`. */
export class SharedRateLimiter implements RateLimiter {
  readonly #buckets: TokenBuckets
  readonly #asking = new Gathering<Waiter>((waiters) => this.#ask(waiters))

  constructor(buckets: TokenBuckets) {
    this.#buckets = buckets
  }

  take(caller: Caller): Promise<RateDecision> {
    return new Promise((resolve, reject) => this.#asking.add({ caller, resolve, reject }))
  }

  /** As many requests of a bucket are allowed as there are tokens, in the order of their arrival. */
  #ask(waiters: readonly Waiter[]): Promise<unknown> {
    const groups = groupByBucket(waiters)
    const grants = this.#buckets.take(groups.map(demandOf))
    return Promise.all(grants.map((grant, i) => settle(groups[i]!, grant)))
  }
}

/** Requests of one tenant under one plan, in their order. */
interface Group {
  readonly caller: Caller
  readonly waiters: Waiter[]
}

function groupByBucket(waiters: readonly Waiter[]): Group[] {
  const groups: Group[] = []
  const byTenant = new Map<string, Group>()
  for (const waiter of waiters) {
    const { caller } = waiter
    let group = byTenant.get(caller.tenant.id)
    if (group?.caller.plan !== caller.plan) {
      group = { caller, waiters: [] }
      groups.push(group)
      byTenant.set(caller.tenant.id, group)
    }
    group.waiters.push(waiter)
  }
  return groups
}

function demandOf({ caller: { tenant, plan }, waiters }: Group): BucketDemand {
  return { tenantId: tenant.id, rate: plan.rate, burst: plan.burst, wanted: waiters.length }
}

/** Never rejects. */
async function settle({ caller, waiters }: Group, grant: Promise<BucketGrant>): Promise<void> {
  try {
    const granted = await grant
    waiters.forEach((waiter, position) => {
      waiter.resolve(decide(caller.plan, granted, position))
    })
  } catch (error) {
    for (const waiter of waiters) waiter.reject(error)
  }
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
