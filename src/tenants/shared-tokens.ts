import { setTimeout as sleep } from 'node:timers/promises'
import { CallBatcher } from '../run/call-batcher.ts'
import { Lifecycle } from '../run/lifecycle.ts'
import type { TokenCounter, TokenCounters, TokenGrant } from './stores.ts'
import { NO_CHANGE, RETURN_MS, type ReservationChange, TokenReservation } from './token-reservation.ts'

/** How long a refused request waits for tokens that other processes hold, milliseconds. */
const OTHERS_WAIT_MS = 300
const OTHERS_RETRY_MS = 20
/** How often a stop checks whether the calls under way are answered, milliseconds. */
const STOP_CHECK_MS = 5

/** What a request got. */
export interface Taken {
  readonly allowed: boolean
  /** Tokens left after it, reserved ones of this process included; below zero when more were taken than the counter has now. */
  readonly left: number
}

interface Waiter {
  readonly counter: TokenCounter
  readonly tokens: number
  readonly sinceMs: number
  resolve(taken: Taken): void
  reject(error: unknown): void
}

/** Requests of one counter, in their order. */
interface Group {
  readonly counter: TokenCounter
  readonly waiters: Waiter[]
  /** No request of the same counter with another size or rate is in the same call. */
  isOnly: boolean
}

/** A counter in which this process has a reservation, or had one a moment ago. */
interface Holder {
  readonly reservation: TokenReservation
  counter: TokenCounter
  /** Tokens outside of all reservations at `atMs`, and how many there can be beside the one of this process. */
  tokens: number
  room: number
  atMs: number
}

/**
 * Counters of tokens that all processes share exactly. Requests that wait together are one call. Each is granted or refused
 * as if it had come alone after those before it. While a process holds a reservation, it answers from memory.
 */
export class SharedTokens {
  readonly #store: TokenCounters
  readonly #holders = new Map<string, Holder>()
  readonly #asking = new CallBatcher<Waiter>((waiters) => this.#ask(waiters))
  readonly #life = new Lifecycle()
  #timer: NodeJS.Timeout | undefined

  constructor(store: TokenCounters) {
    this.#store = store
  }

  /** Takes all of these tokens or none. Answers without a promise from a reservation. Rejects with `UnavailableError`. */
  take(counter: TokenCounter, tokens: number): Taken | Promise<Taken> {
    const nowMs = performance.now()
    const holder = this.#holders.get(nameOf(counter))
    if (holder !== undefined && isSame(holder.counter, counter) && holder.reservation.spend(tokens, nowMs)) {
      if (holder.reservation.wantsMore) this.#renew(holder, nowMs)
      const flown = ((nowMs - holder.atMs) * counter.rate) / 1_000
      return { allowed: true, left: Math.min(holder.room, holder.tokens + flown) + holder.reservation.left }
    }
    return new Promise((resolve, reject) => this.#asking.add({ counter, tokens, sinceMs: nowMs, resolve, reject }))
  }

  /** Returns all reservations, and makes no new ones. */
  stop(): Promise<void> {
    return this.#life.stop(async () => {
      clearInterval(this.#timer)
      for (const { reservation } of this.#holders.values()) reservation.end()
      while (this.#holders.size > 0) {
        await this.#return(Number.POSITIVE_INFINITY)
        for (const [name, { reservation }] of this.#holders) if (!reservation.isHeld) this.#holders.delete(name)
        if (this.#holders.size > 0) await sleep(STOP_CHECK_MS)
      }
    })
  }

  #ask(waiters: readonly Waiter[]): Promise<unknown> {
    const sentMs = performance.now()
    const asked = groupByCounter(waiters).map((group) => {
      const holder = this.#holderOf(group)
      return {
        ...group,
        holder,
        change: holder?.reservation.replacement(group.isOnly ? group.waiters.length : 0, sentMs),
      }
    })
    const grants = this.#store.take(
      asked.map(({ counter, waiters: all, change = NO_CHANGE }) => ({
        counter,
        tokens: all.map(({ tokens }) => tokens),
        change,
      })),
    )
    return Promise.all(asked.map((one, i) => this.#settle(one, grants[i]!, sentMs)))
  }

  #renew(holder: Holder, nowMs: number): void {
    const { counter, reservation } = holder
    const change = reservation.renewal(nowMs)
    const [grant] = this.#store.take([{ counter, tokens: [], change }])
    void this.#settle({ counter, waiters: [], holder, change }, grant!, nowMs)
  }

  /** Undefined when no requests of the counter have come together: then there is nothing to reserve. */
  #holderOf({ counter, waiters }: Group): Holder | undefined {
    const name = nameOf(counter)
    const known = this.#holders.get(name)
    if (known !== undefined || waiters.length === 1 || this.#life.isStopped) return known
    const holder = { reservation: new TokenReservation(), counter, tokens: 0, room: 0, atMs: 0 }
    this.#holders.set(name, holder)
    this.#timer ??= setInterval(() => this.#sweep(), RETURN_MS).unref()
    return holder
  }

  /** Never rejects. */
  async #settle(
    asked: Pick<Group, 'counter' | 'waiters'> & { holder: Holder | undefined; change: ReservationChange | undefined },
    grant: Promise<TokenGrant>,
    sentMs: number,
  ): Promise<void> {
    const { counter, waiters, holder, change = NO_CHANGE } = asked
    try {
      const given = await grant
      holder?.reservation.granted(change, given, sentMs)
      if (holder !== undefined && (given.more > 0 || isSame(holder.counter, counter))) note(holder, counter, given)
      let left = given.left + (holder?.reservation.left ?? 0)
      for (const [i, { tokens }] of waiters.entries()) if (given.allowed[i]) left += tokens
      for (const [i, waiter] of waiters.entries()) {
        const allowed = given.allowed[i]!
        if (allowed) left -= waiter.tokens
        else if (this.#retries(waiter, given)) continue
        waiter.resolve({ allowed, left })
      }
    } catch (error) {
      holder?.reservation.failed(change)
      for (const waiter of waiters) waiter.reject(error)
    }
  }

  /** Asks again for a refused request while other processes hold tokens, because some of them may come back. */
  #retries(waiter: Waiter, { othersHold }: TokenGrant): boolean {
    if (othersHold === 0 || performance.now() - waiter.sinceMs > OTHERS_WAIT_MS) return false
    setTimeout(() => this.#asking.add(waiter), OTHERS_RETRY_MS)
    return true
  }

  #sweep(): void {
    const nowMs = performance.now()
    void this.#return(nowMs)
    for (const [name, { reservation }] of this.#holders) if (reservation.isIdle(nowMs)) this.#holders.delete(name)
    if (this.#holders.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** Returns the reservations that are due. Never rejects: what is not returned ends in Redis. */
  async #return(nowMs: number): Promise<void> {
    const due = [...this.#holders.values()].filter(({ reservation }) => reservation.isDue(nowMs))
    if (due.length === 0) return
    const demands = due.map(({ counter, reservation }) => {
      return { counter, tokens: [], change: reservation.replacement(0, performance.now()) }
    })
    await Promise.allSettled(this.#store.take(demands))
  }
}

function nameOf({ tenantId, window }: TokenCounter): string {
  return window === undefined ? tenantId : `${tenantId} ${window}`
}

function isSame(a: TokenCounter, b: TokenCounter): boolean {
  return a.size === b.size && a.rate === b.rate
}

function groupByCounter(waiters: readonly Waiter[]): Group[] {
  const groups: Group[] = []
  const byName = new Map<string, Group>()
  for (const waiter of waiters) {
    const { counter } = waiter
    const name = nameOf(counter)
    let group = byName.get(name)
    if (group === undefined || !isSame(group.counter, counter)) {
      if (group !== undefined) group.isOnly = false
      group = { counter, waiters: [], isOnly: group === undefined }
      groups.push(group)
      byName.set(name, group)
    }
    group.waiters.push(waiter)
  }
  return groups
}

function note(holder: Holder, counter: TokenCounter, { left }: TokenGrant): void {
  holder.counter = counter
  holder.tokens = left
  holder.room = counter.size - holder.reservation.left
  holder.atMs = performance.now()
}
