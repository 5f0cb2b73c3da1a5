import { Cluster } from 'ioredis'
import type { Clock } from '../../core/run/clock.ts'
import { Gathering } from '../../core/run/gathering.ts'
import type { DailyQuota, QuotaDecision } from '../../tenants/quota.ts'
import type { Caller } from '../../tenants/tenancy.ts'
import type { RedisClient } from '../connect.ts'
import { keys } from '../keys.ts'
import { orUnavailable } from '../or-unavailable.ts'
import { loadScript } from '../scripts.ts'

const DAY_MS = 86_400_000
/** A counter outlives its day, so that it can still be shown. */
const COUNTER_TTL_MS = 2 * DAY_MS

const takeQuotaScript = loadScript('takeQuota-N')

/** Addresses that a tenant looked up on a UTC day, `YYYY-MM-DD`. */
export interface LookupsOfDay {
  readonly day: string
  readonly used: number
}

/** A request that counts its addresses. */
interface Waiter {
  readonly key: string
  readonly lookups: number
  readonly limit: number
  readonly resetAt: string
  readonly resetSeconds: number
  resolve(decision: QuotaDecision): void
  reject(error: unknown): void
}

/**
 * The daily lookup quota, counted in Redis and so shared exactly by all processes. Requests ask together, and each is
 * counted, or refused, as if it had come alone behind those before it. Days are UTC.
 */
export class RedisDailyQuota implements DailyQuota {
  readonly #client: RedisClient
  readonly #clock: Clock
  readonly #asking = new Gathering<Waiter>((waiters) => this.#ask(waiters))
  #day = dayAt(0)

  constructor(client: RedisClient, clock: Clock) {
    this.#client = client
    this.#clock = clock
  }

  take({ tenant, plan }: Caller, lookups: number): Promise<QuotaDecision> {
    const nowMs = this.#clock.now()
    const { day, endMs, resetAt } = this.#dayOf(nowMs)
    const key = keys.lookups(tenant.id, day)
    const resetSeconds = Math.max(1, Math.ceil((endMs - nowMs) / 1_000))
    return new Promise((resolve, reject) => {
      this.#asking.add({ key, lookups, limit: plan.daily_lookups, resetAt, resetSeconds, resolve, reject })
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
    const counters = groupByCounter(waiters)
    if (!(this.#client instanceof Cluster)) return this.#count(counters)
    return Promise.all(counters.map((counter) => this.#count([counter])))
  }

  async #count(counters: readonly Counter[]): Promise<void> {
    try {
      const args = counters.flatMap(({ limit, runs }) => [limit, runs.length, ...runs.flatMap(runArgs)])
      const names = counters.map(({ key }) => key)
      const reply = takeQuotaScript.run(this.#client, names, [COUNTER_TTL_MS, ...args]) as Promise<number[]>
      settle(counters, await orUnavailable(reply, 'the quota store did not answer'))
    } catch (error) {
      for (const { runs } of counters)
        for (const { waiters } of runs) for (const waiter of waiters) waiter.reject(error)
    }
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
  return { day: dateOf(startMs), startMs, endMs, resetAt: `${dateOf(endMs)}T00:00:00+00:00` }
}

function dateOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

/** Requests of one tenant and day under one limit, in their order. */
interface Counter {
  readonly key: string
  readonly limit: number
  readonly runs: Run[]
}

/** Requests that follow one another and want as much. */
interface Run {
  readonly lookups: number
  readonly waiters: Waiter[]
}

function groupByCounter(waiters: readonly Waiter[]): Counter[] {
  const counters: Counter[] = []
  const byKey = new Map<string, Counter>()
  for (const waiter of waiters) {
    const { key, limit, lookups } = waiter
    let counter = byKey.get(key)
    if (counter?.limit !== limit) {
      counter = { key, limit, runs: [] }
      counters.push(counter)
      byKey.set(key, counter)
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

/** @param reply what the script returned for these counters */
function settle(counters: readonly Counter[], reply: readonly number[]): void {
  let at = 0
  for (const { runs } of counters) {
    let used = reply[at++]!
    for (const { lookups, waiters } of runs) {
      const counted = reply[at++]!
      waiters.forEach(({ limit, resetAt, resetSeconds, resolve }, i) => {
        const allowed = i < counted
        if (allowed) used += lookups
        resolve({ allowed, limit, used, resetAt, resetSeconds })
      })
    }
  }
}
