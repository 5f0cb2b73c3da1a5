import { randomBytes } from 'node:crypto'

/*
 * A process reserves some tokens of a shared counter, to give them out without asking Redis. It does so only when requests of
 * one tenant come faster than Redis answers. Sequential requests ask Redis each time, and so see the counter go down by one,
 * also over several processes. Unspent tokens go back when a reservation is 50 to 100 ms old.
 */

/** What a call says about the reservation of its process. */
export interface ReservationChange {
  /** Name of the reservation that ends; `''`: none. Sent again, it changes nothing. */
  readonly ended: string
  /** Tokens that go back to the counter. */
  readonly returned: number
  /** Tokens that move into the new reservation. The process may spend them before the answer comes. */
  readonly kept: number
  /** Name of the new reservation; `''`: none. */
  readonly name: string
  /** Tokens wanted beside those that are kept. Redis reserves as many, or fewer. */
  readonly wanted: number
}

export const NO_CHANGE: ReservationChange = { ended: '', returned: 0, kept: 0, name: '', wanted: 0 }

/** The largest reservation, and so what a killed process loses of a counter. */
const TOKENS_MAX = 1_000
/** Reserve only when at least this many requests of a tenant wait together. */
const REQUESTS_MIN = 4
/** A reservation should last for about this time, milliseconds, */
const DURATION_MS = 40
/** and for this many turns of the event loop, because it is renewed when half of it is left. */
const TURNS = 4
/** From this age on unspent tokens go back, milliseconds. */
export const RETURN_MS = 50
/** A process that stood still for this long no longer spends its tokens. Redis counts them as given out after three times as long. */
const SPEND_MS = 1_000

/** Begins the names of the reservations of this process. */
const processId = randomBytes(6).toString('base64url')
let reservations = 0

/** Counts the turns of the event loop in which tokens were spent. */
let turn = 0
let isTurnCounted = false

function currentTurn(): number {
  if (!isTurnCounted) {
    isTurnCounted = true
    setImmediate(() => {
      turn++
      isTurnCounted = false
    })
  }
  return turn
}

/** The reservation of one process in one counter, and how large the next one should be. Times are those of `performance.now()`. */
export class TokenReservation {
  #name = ''
  #left = 0
  /** Renew when no more than this is left. */
  #renewAt = -1
  #reservedMs = 0
  #isAsked = false
  #isEnded = false
  /** Spent since the last change. */
  #spent = 0
  #changedMs = 0
  #turn = -1
  #spentInTurn = 0
  /** The most requests of one turn since the last change. */
  #concurrent = 0

  /** Tokens that can be spent without asking. */
  get left(): number {
    return this.#left
  }

  /** Whether there are tokens, or a call that may bring some. */
  get isHeld(): boolean {
    return this.#left > 0 || this.#isAsked
  }

  /** Whether to send a `renewal` now: requests come together, and few tokens are left for them. */
  get wantsMore(): boolean {
    return this.#left <= this.#renewAt && this.#concurrent >= REQUESTS_MIN && !this.#isAsked && !this.#isEnded
  }

  /** Whether it holds nothing, and has asked for nothing for a while. */
  isIdle(nowMs: number): boolean {
    return !this.isHeld && nowMs - this.#changedMs > SPEND_MS
  }

  /** Whether to return the reservation, even a spent one: requests of other processes wait while Redis knows of it. */
  isDue(nowMs: number): boolean {
    return this.#name !== '' && !this.#isAsked && nowMs - this.#reservedMs >= RETURN_MS
  }

  /** Spends all of these tokens; false, and none, when there are fewer. */
  spend(tokens: number, nowMs: number): boolean {
    if (tokens > this.#left || nowMs - this.#reservedMs > SPEND_MS) return false
    this.#left -= tokens
    this.#spent += tokens
    const now = currentTurn()
    if (this.#turn !== now) {
      this.#turn = now
      this.#spentInTurn = 0
    }
    if (++this.#spentInTurn > this.#concurrent) this.#concurrent = this.#spentInTurn
    return true
  }

  /**
   * Returns all tokens, and asks for new ones when enough requests wait. `granted` or `failed` has to follow.
   * @param waiting requests; 0: only return
   */
  replacement(waiting: number, nowMs: number): ReservationChange {
    // A call that may bring tokens is on its way: only its answer says what there is to return.
    if (this.#isAsked) return NO_CHANGE
    const wanted = waiting < REQUESTS_MIN || this.#isEnded ? 0 : this.#sizeFor(waiting, nowMs)
    const change = { ended: this.#name, returned: this.#left, kept: 0, name: this.#nextName(wanted), wanted }
    this.#drop()
    return change
  }

  /** Asks for more, and keeps what is left. `granted` or `failed` has to follow. */
  renewal(nowMs: number): ReservationChange {
    const wanted = this.#sizeFor(0, nowMs)
    return { ended: this.#name, returned: 0, kept: this.#left, name: this.#nextName(wanted), wanted }
  }

  /** @param sentMs when the call was sent */
  granted(
    { name, kept }: ReservationChange,
    got: { readonly more: number; readonly kept: number },
    sentMs: number,
  ): void {
    if (name === '') return
    this.#isAsked = false
    this.#left = Math.max(0, this.#left - (kept - got.kept)) + got.more
    this.#name = name
    this.#renewAt = got.more > 0 ? this.#left >> 1 : -1
    this.#reservedMs = sentMs
  }

  /** Nothing is known about the call: give up what it asked for, and what it was to keep. */
  failed({ name }: ReservationChange): void {
    if (name === '') return
    this.#isAsked = false
    this.#drop()
  }

  /** Never asks again: after a stop nothing would return the tokens. */
  end(): void {
    this.#isEnded = true
  }

  #nextName(wanted: number): string {
    if (wanted === 0) return ''
    this.#isAsked = true
    return `${processId}.${++reservations}`
  }

  #drop(): void {
    this.#name = ''
    this.#left = 0
    this.#renewAt = -1
  }

  #sizeFor(waiting: number, nowMs: number): number {
    const elapsedMs = Math.max(1, nowMs - this.#changedMs)
    const spentInTime = Math.ceil(((this.#spent + waiting) * DURATION_MS) / elapsedMs)
    const concurrent = Math.max(waiting, this.#concurrent)
    this.#spent = 0
    this.#changedMs = nowMs
    this.#concurrent = 0
    return Math.min(TOKENS_MAX, Math.max(TURNS * concurrent, spentInTime))
  }
}
