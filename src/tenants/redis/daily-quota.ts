import { Cluster } from 'ioredis'
import { utcDay } from '../../pipeline/event/outcomes.ts'
import { CallBatcher } from '../../run/call-batcher.ts'
import type { Clock } from '../../run/clock.ts'
import { Lifecycle } from '../../run/lifecycle.ts'
import type { Service } from '../../run/service.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { keys } from '../../stores/redis/keys.ts'
import { orUnavailable } from '../../stores/redis/or-unavailable.ts'
import type { Reconnection } from '../../stores/redis/reconnection.ts'
import { loadScript } from '../../stores/redis/scripts.ts'
import { Lot, type LotDemand, LotKeeper, retryForOthers, type Waiting } from '../lots.ts'
import type { DailyQuota, QuotaDecision } from '../quota.ts'
import type { Caller } from '../tenancy.ts'
import { lotArgs } from './lot-args.ts'

const DAY_MS = 86_400_000
/** A counter outlives its day, so that it can still be shown. */
const COUNTER_TTL_MS = 2 * DAY_MS

const takeQuotaScript = loadScript(import.meta.url, './takeQuota-N.lua', { using: './lots.lua' })

/** Addresses that a tenant looked up on a UTC day, `YYYY-MM-DD`. */
export interface LookupsOfDay {
  readonly day: string
  readonly used: number
}

/** A request that counts its addresses. */
interface Waiter extends Waiting {
  readonly tenantId: string
  readonly day: Day
  readonly lookups: number
  readonly limit: number
  readonly resetSeconds: number
  resolve(decision: QuotaDecision): void
  reject(error: unknown): void
}

/** A counter of which this process holds a lot, or has lately. */
interface Held {
  readonly tenantId: string
  readonly day: Day
  readonly lot: Lot
  limit: number
  /** Lookups counted, the lot included. */
  counted: number
}

/**
 * The daily lookup quota, counted in Redis and so shared exactly by all processes. Requests ask together, and each is
 * counted, or refused, as if it had come alone behind those before it; or they are given lookups of a lot (see `Lot`). Days
 * are UTC.
 */
export class RedisDailyQuota implements DailyQuota, Service {
  readonly name = 'daily quota'
  readonly #client: RedisClient
  readonly #clock: Clock
  readonly #reconnection: Reconnection | undefined
  readonly #asking = new CallBatcher<Waiter>((waiters) => this.#ask(waiters))
  readonly #held = new Map<string, Held>()
  readonly #keeper = new LotKeeper<Held>({
    giveBack: (held) => this.#giveBack(held),
    forget: (held) => {
      if (this.#held.get(held.tenantId) === held) this.#held.delete(held.tenantId)
    },
  })
  readonly #life = new Lifecycle()
  #day = dayAt(0)

  /** @param reconnection waits for `client` when lookups are counted; undefined: nobody waits */
  constructor(client: RedisClient, clock: Clock, reconnection?: Reconnection) {
    this.#client = client
    this.#clock = clock
    this.#reconnection = reconnection
  }

  async start(): Promise<void> {}

  /** Gives all lots back. */
  stop(): Promise<void> {
    return this.#life.stop(() => this.#keeper.stop())
  }

  take({ tenant, plan }: Caller, lookups: number): QuotaDecision | Promise<QuotaDecision> {
    const clockMs = this.#clock.now()
    const day = this.#dayOf(clockMs)
    const resetSeconds = Math.max(1, Math.ceil((day.endMs - clockMs) / 1_000))
    const limit = plan.daily_lookups
    const sinceMs = performance.now()
    const held = this.#held.get(tenant.id)
    if (held?.day === day && held.limit === limit && held.lot.spend(lookups, sinceMs)) {
      if (held.lot.wantsMore) this.#renew(held, sinceMs)
      return { allowed: true, limit, used: held.counted - held.lot.left, resetAt: day.resetAt, resetSeconds }
    }
    return new Promise((resolve, reject) => {
      this.#asking.add({ tenantId: tenant.id, day, lookups, limit, resetSeconds, sinceMs, resolve, reject })
    })
  }

  /** Addresses that a tenant looked up today. */
  async used(tenantId: string): Promise<number> {
    return (await this.today(tenantId)).used
  }

  /** What is counted today, and on what day that is. */
  async today(tenantId: string): Promise<LookupsOfDay> {
    const { day } = this.#dayOf(this.#clock.now())
    return { day, used: Number((await this.#client.get(keys.lookups(tenantId, day))) ?? 0) }
  }

  /** Sets what was counted elsewhere. */
  async set(tenantId: string, { day, used }: LookupsOfDay): Promise<void> {
    await this.#client.set(keys.lookups(tenantId, day), used, 'PX', COUNTER_TTL_MS)
  }

  #dayOf(ms: number): Day {
    if (ms < this.#day.startMs || ms >= this.#day.endMs) this.#day = dayAt(ms)
    return this.#day
  }

  /** One call; on a cluster one a counter. Never rejects. */
  #ask(waiters: readonly Waiter[]): Promise<unknown> {
    const sentMs = performance.now()
    const asked = groupByCounter(waiters).map((counter): Asked => {
      const held = this.#heldOf(counter)
      const waiting = counter.runs.reduce((sum, run) => sum + run.waiters.length, 0)
      return { ...counter, held, demand: held?.lot.demand(counter.isOnly ? waiting : 0, sentMs), sentMs }
    })
    if (!(this.#client instanceof Cluster)) return this.#count(asked)
    return Promise.all(asked.map((one) => this.#count([one])))
  }

  #renew(held: Held, sentMs: number): void {
    const { tenantId, day, limit, lot } = held
    void this.#count([{ tenantId, day, limit, runs: [], isOnly: true, held, demand: lot.renewal(sentMs), sentMs }])
  }

  /** Undefined: nobody of that tenant had to wait for another. */
  #heldOf({ tenantId, day, limit, runs }: Counter): Held | undefined {
    const known = this.#held.get(tenantId)
    const isAlone = runs.length === 1 && runs[0]!.waiters.length === 1
    if (known?.day === day || isAlone || this.#life.isStopped) return known?.day === day ? known : undefined
    const held = { tenantId, day, lot: new Lot(), limit, counted: 0 }
    this.#held.set(tenantId, held)
    this.#keeper.add(held)
    return held
  }

  async #count(asked: readonly Asked[]): Promise<void> {
    try {
      const reply = await this.#run(asked)
      let at = 0
      for (const one of asked) {
        this.#settle(one, reply.slice(at, at + one.runs.length + 4))
        at += one.runs.length + 4
      }
    } catch (error) {
      for (const { held, demand, runs } of asked) {
        held?.lot.failed(demand)
        for (const { waiters } of runs) for (const waiter of waiters) waiter.reject(error)
      }
    }
  }

  async #run(asked: readonly Omit<Asked, 'held' | 'sentMs' | 'isOnly'>[]): Promise<number[]> {
    await this.#reconnection?.wait()
    const names = asked.flatMap(({ tenantId, day: { day } }) => [
      keys.lookups(tenantId, day),
      keys.lookupLots(tenantId, day),
    ])
    const args = asked.flatMap(({ limit, demand, runs }) => {
      return [limit, ...lotArgs(demand), runs.length, ...runs.flatMap(runArgs)]
    })
    const reply = takeQuotaScript.run(this.#client, names, [COUNTER_TTL_MS, ...args]) as Promise<number[]>
    return await orUnavailable(reply, 'the quota store did not answer')
  }

  /** @param reply what the script returned for this counter */
  #settle({ runs, limit, day, held, demand, sentMs }: Asked, reply: readonly number[]): void {
    const counts = reply.slice(1, -3)
    const [more, kept, othersHold] = reply.slice(-3) as [number, number, number]
    // What is held from an earlier call is counted, and not used yet.
    let used = reply[0]! - (held?.lot.left ?? 0)
    if (held !== undefined) {
      held.lot.granted(demand, { more, kept }, sentMs)
      if (more > 0) held.limit = limit
      held.counted = reply[0]! + runs.reduce((sum, { lookups }, i) => sum + lookups * counts[i]!, more)
    }
    runs.forEach(({ lookups, waiters }, i) => {
      waiters.forEach((waiter, position) => {
        const allowed = position < counts[i]!
        if (allowed) used += lookups
        else if (retryForOthers(waiter, othersHold, (it) => this.#asking.add(it))) return
        waiter.resolve({ allowed, limit, used, resetAt: day.resetAt, resetSeconds: waiter.resetSeconds })
      })
    })
  }

  /** Never rejects. */
  async #giveBack(all: readonly Held[]): Promise<void> {
    const nowMs = performance.now()
    const asked = all.map((held) => ({ ...held, runs: [], demand: held.lot.demand(0, nowMs) }))
    const calls = this.#client instanceof Cluster ? asked.map((one) => this.#run([one])) : [this.#run(asked)]
    await Promise.allSettled(calls)
  }
}

interface Day {
  /** `YYYY-MM-DD` */
  readonly day: string
  readonly startMs: number
  readonly endMs: number
  /** Its end, like `2026-11-22T00:00:00+00:00`. */
  readonly resetAt: string
}

function dayAt(ms: number): Day {
  const startMs = Math.floor(ms / DAY_MS) * DAY_MS
  const endMs = startMs + DAY_MS
  return { day: utcDay(startMs), startMs, endMs, resetAt: `${utcDay(endMs)}T00:00:00+00:00` }
}

/** Requests of one tenant and day under one limit, in their order. */
interface Counter {
  readonly tenantId: string
  readonly day: Day
  readonly limit: number
  readonly runs: Run[]
  /** None of the same tenant under another limit, or on another day, asks with it. */
  isOnly: boolean
}

/** A counter with what was asked of it beside the requests. */
interface Asked extends Counter {
  readonly held: Held | undefined
  readonly demand: LotDemand | undefined
  /** `performance.now()` */
  readonly sentMs: number
}

/** Requests that follow one another and want as much. */
interface Run {
  readonly lookups: number
  readonly waiters: Waiter[]
}

function groupByCounter(waiters: readonly Waiter[]): Counter[] {
  const counters: Counter[] = []
  const byTenant = new Map<string, Counter>()
  for (const waiter of waiters) {
    const { tenantId, day, limit, lookups } = waiter
    let counter = byTenant.get(tenantId)
    if (counter?.limit !== limit || counter.day !== day) {
      const isOnly = counter === undefined
      if (counter !== undefined) counter.isOnly = false
      counter = { tenantId, day, limit, runs: [], isOnly }
      counters.push(counter)
      byTenant.set(tenantId, counter)
    }
    let run = counter.runs.at(-1)
    if (run?.lookups !== lookups) {
      run = { lookups, waiters: [] }
      counter.runs.push(run)
    }
    run.waiters.push(waiter)
  }
  return counters
}

function runArgs({ lookups, waiters }: Run): number[] {
  return [waiters.length, lookups]
}
