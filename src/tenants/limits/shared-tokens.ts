import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Lifecycle } from '../../run/service.ts'

/** A counter of tokens. A bucket fills at a rate; a window counts tokens up to its size and never fills. */
export interface TokenCounter {
  /** Its key in the store. */
  readonly key: string
  /** Tokens. */
  readonly size: number
  /** Tokens that flow into a bucket per second; 0: a window. */
  readonly rate: number
  /** How long the store keeps a window after a change, milliseconds. */
  readonly keptMs?: number
}

/** Changes the reservation of a process in a counter. */
interface ReservationChange {
  /** Name of the reservation that ends; `''`: none. Sent again, it changes nothing. */
  readonly ended: string
  /** Tokens that go back to the counter. */
  readonly returned: number
  /** Tokens that move to the new reservation. The process may spend them before the answer comes. */
  readonly kept: number
  /** Name of the new reservation; `''`: none. */
  readonly name: string
  /** Tokens for the new reservation in addition to `kept`. The store may give fewer. */
  readonly wanted: number
}

export const NO_CHANGE: ReservationChange = { ended: '', returned: 0, kept: 0, name: '', wanted: 0 }

/** A call to one counter. */
export interface TokenDemand {
  readonly counter: TokenCounter
  /** Tokens for each request, in order; empty: only change the reservation, or read the counter. */
  readonly tokens: readonly number[]
  /** The new reservation gets tokens only when all requests got theirs. */
  readonly change: ReservationChange
}

export interface TokenGrant {
  /** For each request: whether it got all of its tokens. Otherwise it got none. */
  readonly allowed: readonly boolean[]
  /** Tokens left outside of all reservations; of a window below zero when its size was lowered. */
  readonly left: number
  /** Tokens that the new reservation got in addition to `kept`. */
  readonly more: number
  /** Less than `change.kept` when the store did not know the ended reservation. */
  readonly kept: number
  /** Tokens that other processes reserve. Some may come back. */
  readonly othersHold: number
}

/** Counters that all processes share. */
export interface TokenCounters {
  /** One promise per demand, in order; each rejects with `UnavailableError` on its own. @param demands only buckets, or only windows */
  take(demands: readonly TokenDemand[]): Promise<TokenGrant>[]
  /** Tokens outside of all reservations, as in `TokenGrant`. Rejects with `UnavailableError`. */
  left(counter: TokenCounter): Promise<number>
}

/** The largest reservation, and so the loss of a counter when a process is killed. */
const TOKENS_MAX = 1_000
/** Reserve only when at least this many requests of a tenant wait together. */
const REQUESTS_MIN = 4
/** A reservation should last for about this time, milliseconds, */
const DURATION_MS = 40
/** and for this many turns of the event loop, because it is renewed when half of it is left. */
const TURNS = 4
/** From this age on unspent tokens go back, milliseconds. */
const RETURN_MS = 50
/** A process that stood still for this long no longer spends its tokens. Redis counts them as given out after three times as long. */
const SPEND_MS = 1_000
/** How long a refused request waits for tokens that other processes reserve, milliseconds. */
const OTHERS_WAIT_MS = 300
const OTHERS_RETRY_MS = 20
/** How often a stop checks whether the calls under way are answered, milliseconds. */
const STOP_CHECK_MS = 5

/** Begins the names of the reservations of this process. */
const processId = randomBytes(6).toString('base64url')
let reservations = 0

/** The reservation of this process in one counter. Times are those of `performance.now()`. */
export class TokenReservation {
  counter: TokenCounter
  #name = ''
  #left = 0
  /** Renew when no more than this is left. */
  #renewAt = -1
  #reservedMs = 0
  #isAsked = false
  /** Spent since the last change. */
  #spent = 0
  #changedMs = 0
  #spentInTurn = 0
  /** The most requests of one turn of the event loop since the last change. */
  #concurrent = 0
  /** Tokens outside of all reservations at `#notedMs`, and how many there can be beside this one. */
  #outside = 0
  #room = 0
  #notedMs = 0

  constructor(counter: TokenCounter) {
    this.counter = counter
  }

  /** Tokens that can be spent without a call. */
  get left(): number {
    return this.#left
  }

  /** Whether Redis may know of this reservation: it has a name, or a call under way may bring tokens. */
  get isHeld(): boolean {
    return this.#name !== '' || this.#isAsked
  }

  /** Whether to send a `renewal` now: requests come together, and few tokens are left for them. */
  get wantsMore(): boolean {
    return this.#left <= this.#renewAt && this.#concurrent >= REQUESTS_MIN && !this.#isAsked
  }

  /** Whether to return the reservation, even a spent one: requests of other processes wait while Redis knows of it. */
  isDue(nowMs: number): boolean {
    return this.#name !== '' && !this.#isAsked && nowMs - this.#reservedMs >= RETURN_MS
  }

  /** Spends all of these tokens, and returns how many the counter has left. Undefined, and spends none, when there are fewer. */
  spend(counter: TokenCounter, tokens: number, nowMs: number): number | undefined {
    if (tokens > this.#left || nowMs - this.#reservedMs > SPEND_MS || !isSame(this.counter, counter)) return undefined
    this.#left -= tokens
    this.#spent += tokens
    if (this.#spentInTurn === 0) setImmediate(() => (this.#spentInTurn = 0))
    if (++this.#spentInTurn > this.#concurrent) this.#concurrent = this.#spentInTurn
    const flown = ((nowMs - this.#notedMs) * counter.rate) / 1_000
    return Math.min(this.#room, this.#outside + flown) + this.#left
  }

  /**
   * Returns all tokens, and asks for new ones when enough requests wait. `granted` or `failed` must follow.
   * @param waiting requests; 0: only return
   */
  replacement(waiting: number, nowMs: number): ReservationChange {
    // Only the answer of a call under way says how much there is to return.
    if (this.#isAsked) return NO_CHANGE
    const change = { ...NO_CHANGE, ended: this.#name, returned: this.#left }
    this.#drop()
    return waiting < REQUESTS_MIN ? change : { ...change, ...this.#next(waiting, nowMs) }
  }

  /** Asks for more, and keeps the tokens that are left. `granted` or `failed` must follow. */
  renewal(nowMs: number): ReservationChange {
    return { ...NO_CHANGE, ended: this.#name, kept: this.#left, ...this.#next(0, nowMs) }
  }

  /** @param sentMs when the call was sent */
  granted(counter: TokenCounter, { name, kept }: ReservationChange, grant: TokenGrant, sentMs: number): void {
    if (name !== '') {
      this.#isAsked = false
      this.#left = Math.max(0, this.#left - (kept - grant.kept)) + grant.more
      this.#name = name
      this.#renewAt = grant.more > 0 ? this.#left >> 1 : -1
      this.#reservedMs = sentMs
    }
    if (grant.more === 0 && !isSame(this.counter, counter)) return
    this.counter = counter
    this.#outside = grant.left
    this.#room = counter.size - this.#left
    this.#notedMs = performance.now()
  }

  /** The result of the call is unknown: give up the tokens that it asked for or kept. */
  failed({ name }: ReservationChange): void {
    if (name === '') return
    this.#isAsked = false
    this.#drop()
  }

  #drop(): void {
    this.#name = ''
    this.#left = 0
    this.#renewAt = -1
  }

  /** Name and size of the next reservation. */
  #next(waiting: number, nowMs: number): Pick<ReservationChange, 'name' | 'wanted'> {
    const elapsedMs = Math.max(1, nowMs - this.#changedMs)
    const spentInTime = Math.ceil(((this.#spent + waiting) * DURATION_MS) / elapsedMs)
    const wanted = Math.min(TOKENS_MAX, Math.max(TURNS * Math.max(waiting, this.#concurrent), spentInTime))
    this.#spent = 0
    this.#changedMs = nowMs
    this.#concurrent = 0
    this.#isAsked = true
    return { name: `${processId}.${++reservations}`, wanted }
  }
}

/** Result of a request. */
export interface Taken {
  readonly allowed: boolean
  /** Tokens left after it, including those that this process reserves; below zero when more were taken than the counter has now. */
  readonly left: number
}

interface Waiter {
  readonly counter: TokenCounter
  readonly tokens: number
  readonly sinceMs: number
  resolve(taken: Taken): void
  reject(error: unknown): void
}

/** Requests to one counter, in order. */
interface Group {
  readonly counter: TokenCounter
  readonly waiters: Waiter[]
  /** No other group of the call has the same counter with another size or rate. */
  isOnly: boolean
}

/**
 * The counters of one limit, shared exactly by all processes. Requests that wait together are one call. Each is granted or refused
 * as if it had come alone after those before it.
 *
 * A process reserves tokens, to give them out without a call, but only when requests of one tenant come faster than Redis
 * answers. Sequential requests call Redis each time, and so see the counter go down by one, also over several processes.
 * Unspent tokens go back when a reservation is 50 to 100 ms old.
 */
export class SharedTokens {
  readonly #store: TokenCounters
  readonly #reservations = new Map<string, TokenReservation>()
  readonly #asking = new CallBatcher<Waiter>((waiters) => this.#ask(waiters))
  readonly #life = new Lifecycle()
  #timer: NodeJS.Timeout | undefined

  constructor(store: TokenCounters) {
    this.#store = store
  }

  /** Takes all of these tokens or none. Answers without a promise from a reservation. Rejects with `UnavailableError`. */
  take(counter: TokenCounter, tokens: number): Taken | Promise<Taken> {
    const nowMs = performance.now()
    const reservation = this.#reservations.get(counter.key)
    const left = reservation?.spend(counter, tokens, nowMs)
    if (left !== undefined) {
      if (reservation!.wantsMore && !this.#life.isStopped) this.#renew(reservation!, nowMs)
      return { allowed: true, left }
    }
    return new Promise((resolve, reject) => this.#asking.add({ counter, tokens, sinceMs: nowMs, resolve, reject }))
  }

  /** Returns all reservations, and makes no new ones. */
  stop(): Promise<void> {
    return this.#life.stop(async () => {
      clearInterval(this.#timer)
      while (this.#reservations.size > 0) {
        await this.#return(Number.POSITIVE_INFINITY)
        if (this.#reservations.size > 0) await sleep(STOP_CHECK_MS)
      }
    })
  }

  #ask(waiters: readonly Waiter[]): Promise<unknown> {
    const sentMs = performance.now()
    const calls = groupByCounter(waiters).map((group) => {
      const reservation = this.#reservationFor(group)
      const waiting = group.isOnly && !this.#life.isStopped ? group.waiters.length : 0
      return { ...group, reservation, change: reservation?.replacement(waiting, sentMs) ?? NO_CHANGE }
    })
    const grants = this.#store.take(
      calls.map(({ counter, waiters: all, change }) => ({ counter, tokens: all.map(({ tokens }) => tokens), change })),
    )
    return Promise.all(calls.map((call, i) => this.#settle(call, grants[i]!, sentMs)))
  }

  #renew(reservation: TokenReservation, nowMs: number): void {
    const { counter } = reservation
    const change = reservation.renewal(nowMs)
    const [grant] = this.#store.take([{ counter, tokens: [], change }])
    void this.#settle({ counter, waiters: [], reservation, change }, grant!, nowMs)
  }

  /** Undefined when the requests of the counter did not come together: then there is nothing to reserve. */
  #reservationFor({ counter, waiters }: Group): TokenReservation | undefined {
    const known = this.#reservations.get(counter.key)
    if (known !== undefined || waiters.length === 1 || this.#life.isStopped) return known
    const reservation = new TokenReservation(counter)
    this.#reservations.set(counter.key, reservation)
    this.#timer ??= setInterval(() => void this.#return(performance.now()), RETURN_MS).unref()
    return reservation
  }

  /** Never rejects. */
  async #settle(
    call: Pick<Group, 'counter' | 'waiters'> & { reservation: TokenReservation | undefined; change: ReservationChange },
    answer: Promise<TokenGrant>,
    sentMs: number,
  ): Promise<void> {
    const { counter, waiters, reservation, change } = call
    try {
      const grant = await answer
      reservation?.granted(counter, change, grant, sentMs)
      let left = grant.left + (reservation?.left ?? 0)
      for (const [i, { tokens }] of waiters.entries()) if (grant.allowed[i]) left += tokens
      for (const [i, waiter] of waiters.entries()) {
        const allowed = grant.allowed[i]!
        if (allowed) left -= waiter.tokens
        else if (this.#retries(waiter, grant)) continue
        waiter.resolve({ allowed, left })
      }
    } catch (error) {
      reservation?.failed(change)
      for (const waiter of waiters) waiter.reject(error)
    }
  }

  /** Asks again for a refused request while other processes reserve tokens, because some of them may come back. */
  #retries(waiter: Waiter, { othersHold }: TokenGrant): boolean {
    if (othersHold === 0 || performance.now() - waiter.sinceMs > OTHERS_WAIT_MS) return false
    setTimeout(() => this.#asking.add(waiter), OTHERS_RETRY_MS)
    return true
  }

  /** Returns the reservations that are due, and forgets empty ones. Never rejects: Redis ends a lost reservation by itself. */
  async #return(nowMs: number): Promise<void> {
    const due = [...this.#reservations.values()].filter((one) => one.isDue(nowMs))
    const demands = due.map((one) => ({ counter: one.counter, tokens: [], change: one.replacement(0, nowMs) }))
    for (const [key, { isHeld }] of this.#reservations) if (!isHeld) this.#reservations.delete(key)
    if (this.#reservations.size === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
    }
    if (demands.length > 0) await Promise.allSettled(this.#store.take(demands))
  }
}

function isSame(a: TokenCounter, b: TokenCounter): boolean {
  return a.size === b.size && a.rate === b.rate
}

function groupByCounter(waiters: readonly Waiter[]): Group[] {
  const groups: Group[] = []
  const byKey = new Map<string, Group>()
  for (const waiter of waiters) {
    const { counter } = waiter
    let group = byKey.get(counter.key)
    if (group === undefined || !isSame(group.counter, counter)) {
      if (group !== undefined) group.isOnly = false
      group = { counter, waiters: [], isOnly: group === undefined }
      groups.push(group)
      byKey.set(counter.key, group)
    }
    group.waiters.push(waiter)
  }
  return groups
}

/** Sends the next call after this time even when the last one has no answer yet, milliseconds. */
const PATIENCE_MS = 20

/**
 * Merges many requests into few calls. Requests of one turn of the event loop share a call, as do those that arrive while a
 * call is in flight. A slow call delays the next one by `PATIENCE_MS` only.
 */
export class CallBatcher<Request> {
  readonly #call: (requests: readonly Request[]) => Promise<unknown>
  #waiting: Request[] = []
  /** Whether a call is scheduled: at the end of this turn, or after the one in flight. */
  #isBusy = false
  #calls = 0

  /** @param call settles when it has answered all requests it was given; whether it resolves or rejects does not matter */
  constructor(call: (requests: readonly Request[]) => Promise<unknown>) {
    this.#call = call
  }

  add(request: Request): void {
    this.#waiting.push(request)
    if (this.#isBusy) return
    this.#isBusy = true
    setImmediate(() => this.#send())
  }

  #send(): void {
    const requests = this.#waiting
    this.#waiting = []
    const number = ++this.#calls
    const finish = () => {
      clearTimeout(patience)
      if (number === this.#calls) this.#next()
    }
    const patience = setTimeout(finish, PATIENCE_MS)
    this.#call(requests).then(finish, finish)
  }

  #next(): void {
    // Makes the second of patience and answer of this call do nothing.
    this.#calls++
    this.#isBusy = this.#waiting.length > 0
    if (this.#isBusy) setImmediate(() => this.#send())
  }
}
