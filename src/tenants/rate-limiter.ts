import type { Plan } from '../../schemas/plans.ts'
import { CallBatcher } from '../run/call-batcher.ts'
import { Lifecycle } from '../run/lifecycle.ts'
import type { Service } from '../run/service.ts'
import { Lot, type LotDemand, LotKeeper, retryForOthers } from './lots.ts'
import type { BucketDemand, BucketGrant, TokenBuckets } from './stores.ts'
import type { Caller, RateDecision, RateLimiter } from './tenancy.ts'

interface Waiter {
  readonly caller: Caller
  readonly sinceMs: number
  resolve(decision: RateDecision): void
  reject(error: unknown): void
}

/** A tenant's bucket of which this process holds a lot, or has lately. */
interface Bucket {
  readonly tenantId: string
  readonly lot: Lot
  plan: Plan
  /** Tokens outside of lots, `atMs`; and how many there can be while the lot is out. */
  tokens: number
  room: number
  atMs: number
}

/**
 * One token bucket per tenant, shared by all processes. Requests ask together (see `CallBatcher`), or are given tokens of a lot
 * (see `Lot`).
 */
export class SharedRateLimiter implements RateLimiter, Service {
  readonly name = 'rate limiter'
  readonly #store: TokenBuckets
  readonly #buckets = new Map<string, Bucket>()
  readonly #asking = new CallBatcher<Waiter>((waiters) => this.#ask(waiters))
  readonly #keeper = new LotKeeper<Bucket>({
    giveBack: (buckets) => this.#giveBack(buckets),
    forget: ({ tenantId }) => this.#buckets.delete(tenantId),
  })
  readonly #life = new Lifecycle()

  constructor(store: TokenBuckets) {
    this.#store = store
  }

  async start(): Promise<void> {}

  /** Gives all lots back. */
  stop(): Promise<void> {
    return this.#life.stop(() => this.#keeper.stop())
  }

  take(caller: Caller): RateDecision | Promise<RateDecision> {
    const nowMs = performance.now()
    const bucket = this.#buckets.get(caller.tenant.id)
    if (bucket?.plan === caller.plan && bucket.lot.spend(1, nowMs)) {
      if (bucket.lot.wantsMore) this.#renew(bucket, caller, nowMs)
      return decideHeld(bucket, nowMs)
    }
    return new Promise((resolve, reject) => this.#asking.add({ caller, sinceMs: nowMs, resolve, reject }))
  }

  /** As many requests of a bucket are allowed as there are tokens, in the order of their arrival. */
  #ask(waiters: readonly Waiter[]): Promise<unknown> {
    const sentMs = performance.now()
    const asked = groupByBucket(waiters).map((group) => {
      const { tenant, plan } = group.caller
      const bucket = this.#bucketOf(group)
      const lot = bucket?.lot.demand(group.isOnly ? group.waiters.length : 0, sentMs)
      return { group, bucket, lot, demand: demandOf(tenant.id, plan, group.waiters.length, lot) }
    })
    const grants = this.#store.take(asked.map(({ demand }) => demand))
    return Promise.all(asked.map(({ group, bucket, lot }, i) => this.#settle(group, grants[i]!, sentMs, bucket, lot)))
  }

  #renew(bucket: Bucket, caller: Caller, nowMs: number): void {
    const lot = bucket.lot.renewal(nowMs)
    const [grant] = this.#store.take([demandOf(bucket.tenantId, bucket.plan, 0, lot)])
    void this.#settle({ caller, waiters: [], isOnly: true }, grant!, nowMs, bucket, lot)
  }

  /** Undefined: nobody of that tenant had to wait for another. */
  #bucketOf({ caller: { tenant, plan }, waiters }: Group): Bucket | undefined {
    const known = this.#buckets.get(tenant.id)
    if (known !== undefined || waiters.length === 1 || this.#life.isStopped) return known
    const bucket = { tenantId: tenant.id, lot: new Lot(), plan, tokens: 0, room: 0, atMs: 0 }
    this.#buckets.set(tenant.id, bucket)
    this.#keeper.add(bucket)
    return bucket
  }

  /** Never rejects. */
  async #settle(
    { caller, waiters }: Group,
    grant: Promise<BucketGrant>,
    sentMs: number,
    bucket?: Bucket,
    demand?: LotDemand,
  ): Promise<void> {
    try {
      const given = await grant
      bucket?.lot.granted(demand, given, sentMs)
      if (bucket !== undefined && given.more > 0) note(bucket, caller.plan, given)
      const held = bucket?.lot.left ?? 0
      waiters.forEach((waiter, position) => {
        if (position >= given.granted && retryForOthers(waiter, given.othersHold, (it) => this.#asking.add(it))) return
        waiter.resolve(decide(caller.plan, given, position, held))
      })
    } catch (error) {
      bucket?.lot.failed(demand)
      for (const waiter of waiters) waiter.reject(error)
    }
  }

  async #giveBack(buckets: readonly Bucket[]): Promise<void> {
    const nowMs = performance.now()
    const demands = buckets.map(({ tenantId, plan, lot }) => demandOf(tenantId, plan, 0, lot.demand(0, nowMs)))
    await Promise.allSettled(this.#store.take(demands))
  }
}

/** Requests of one tenant under one plan, in their order. */
interface Group {
  readonly caller: Caller
  readonly waiters: Waiter[]
  /** None of the same tenant under another plan asks with it. */
  isOnly: boolean
}

function groupByBucket(waiters: readonly Waiter[]): Group[] {
  const groups: Group[] = []
  const byTenant = new Map<string, Group>()
  for (const waiter of waiters) {
    const { caller } = waiter
    let group = byTenant.get(caller.tenant.id)
    if (group?.caller.plan !== caller.plan) {
      const isOnly = group === undefined
      if (group !== undefined) group.isOnly = false
      group = { caller, waiters: [], isOnly }
      groups.push(group)
      byTenant.set(caller.tenant.id, group)
    }
    group.waiters.push(waiter)
  }
  return groups
}

function demandOf(tenantId: string, { rate, burst }: Plan, wanted: number, lot: LotDemand | undefined): BucketDemand {
  const demand = { tenantId, rate, burst, wanted }
  return lot === undefined ? demand : { ...demand, lot }
}

function note(bucket: Bucket, plan: Plan, { leftMilli }: BucketGrant): void {
  bucket.plan = plan
  bucket.tokens = leftMilli / 1_000
  bucket.room = plan.burst - bucket.lot.left
  bucket.atMs = performance.now()
}

/**
 * @param position of the request among those that asked together
 * @param held tokens of the bucket in the lot of this process
 */
function decide(plan: Plan, { granted, leftMilli }: BucketGrant, position: number, held: number): RateDecision {
  const allowed = position < granted
  // Those that took their token before the others saw more of them left.
  return decision(plan, allowed, leftMilli / 1_000 + held + (allowed ? granted - 1 - position : 0))
}

/** Of a request that was given a token of the lot. */
function decideHeld({ plan, lot, tokens, room, atMs }: Bucket, nowMs: number): RateDecision {
  return decision(plan, true, Math.min(room, tokens + ((nowMs - atMs) * plan.rate) / 1_000) + lot.left)
}

/** @param left tokens, and parts of one */
function decision({ rate, burst }: Plan, allowed: boolean, left: number): RateDecision {
  return {
    allowed,
    limit: burst,
    remaining: Math.max(0, Math.floor(left)),
    resetSeconds: Math.max(0, Math.ceil((burst - left) / rate)),
    retryAfterSeconds: allowed ? 0 : Math.max(1, Math.ceil((1 - left) / rate)),
  }
}
