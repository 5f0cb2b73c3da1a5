import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

/*
 * A lot is a part of a shared counter that one process holds, to give it out without asking. It is taken when requests of one
 * tenant come faster than they are answered, never for one that follows another: whoever sends one request at a time finds the
 * counter itself. What is unspent goes back when the lot is 50 to 100 ms old.
 */

/** What a process wants to hold of a shared counter, and what it gives back of it. */
export interface LotDemand {
  /** Name of the lot that is given back; `''`: none. It counts once, however often it is sent. */
  readonly back: string
  /** What returns to the counter. */
  readonly returned: number
  /** What goes into the new lot, and may be given out meanwhile. */
  readonly kept: number
  /** Name of the new lot. */
  readonly name: string
  /** What it is to get beside what is kept; 0: nothing. The store gives as much, or less. */
  readonly wanted: number
}

/** What a shared counter gave. */
export interface LotGrant {
  /** What the new lot got beside what is kept. */
  readonly more: number
  /** Less than was to be kept when the store knew nothing of that lot. */
  readonly kept: number
  /** What other processes hold in lots: some of it may come back. */
  readonly othersHold: number
}

/** A lot's size at most, and so what a process that is killed loses of a counter. */
export const LOT_MAX = 1_000
/** As many requests of a tenant as have to wait together for a lot to be taken. */
const OVERLAP_MIN = 4
/** A lot is to last about as long, milliseconds, */
const LOT_MS = 40
/** and for so many turns of the event loop: half of it is there when it is renewed. */
const TURNS = 4
/** At this age, or somewhat later, what is unspent of a lot is given back, milliseconds. */
const GIVE_BACK_MS = 50
/** A process that stood still for so long has lost its lot: stores keep it for three times as long, milliseconds. */
const USE_MS = 1_000

/** How often a stop looks whether a renewal was answered, milliseconds. */
const RENEWED_WITHIN_MS = 5

/** Begins the names of the lots of this process. */
const process = randomBytes(6).toString('base64url')
let lots = 0

/** Turns of the event loop in which something was given out. */
let turn = 0
let isTurnNoted = false

function thisTurn(): number {
  if (!isTurnNoted) {
    isTurnNoted = true
    setImmediate(() => {
      turn++
      isTurnNoted = false
    })
  }
  return turn
}

/** Of one counter: the lot that is held, if any, and how large the next one should be. */
export class Lot {
  #name = ''
  #left = 0
  /** It is renewed when no more than this is left. */
  #renewAt = -1
  #takenMs = 0
  #isAsked = false
  #isEnded = false
  /** Given out since the last demand. */
  #spent = 0
  #demandedMs = 0
  #turn = -1
  #spentInTurn = 0
  /** As many requests came together since the last demand. */
  #together = 0

  /** What may be given out without asking. */
  get left(): number {
    return this.#left
  }

  /** Whether there is a lot, or may be one soon. */
  get isHeld(): boolean {
    return this.#left > 0 || this.#isAsked
  }

  /** Whether it is time for `renewal`: requests come together, and there is little left for them. */
  get wantsMore(): boolean {
    return this.#left <= this.#renewAt && this.#together >= OVERLAP_MIN && !this.#isAsked && !this.#isEnded
  }

  /** Whether nothing is held, nor asked for, nor was so lately. @param nowMs `performance.now()` */
  isIdle(nowMs: number): boolean {
    return !this.isHeld && nowMs - this.#demandedMs > USE_MS
  }

  /** Whether there is a lot to give back, be it spent: others wait for what is held. @param nowMs `performance.now()` */
  isDue(nowMs: number): boolean {
    return this.#name !== '' && !this.#isAsked && nowMs - this.#takenMs >= GIVE_BACK_MS
  }

  /** Gives out so much, or nothing when there is not as much. @param nowMs `performance.now()` */
  spend(count: number, nowMs: number): boolean {
    if (count > this.#left || nowMs - this.#takenMs > USE_MS) return false
    this.#left -= count
    this.#spent += count
    const now = thisTurn()
    if (this.#turn !== now) {
      this.#turn = now
      this.#spentInTurn = 0
    }
    if (++this.#spentInTurn > this.#together) this.#together = this.#spentInTurn
    return true
  }

  /**
   * What to ask for beside that which waits; undefined: nothing. All that is held is given back. To be followed by
   * `granted` or `failed`.
   * @param waiting requests; 0: a lot is only given back
   * @param nowMs `performance.now()`
   */
  demand(waiting: number, nowMs: number): LotDemand | undefined {
    // What is being renewed cannot be given back before that is answered.
    if (this.#isAsked) return undefined
    const wanted = waiting < OVERLAP_MIN || this.#isEnded ? 0 : this.#size(waiting, nowMs)
    if (wanted === 0 && this.#name === '') return undefined
    const demand = { back: this.#name, returned: this.#left, kept: 0, name: this.#newName(wanted), wanted }
    this.#drop()
    return demand
  }

  /** As `demand`, but what is held is kept, and may be given out meanwhile. */
  renewal(nowMs: number): LotDemand {
    const wanted = this.#size(0, nowMs)
    return { back: this.#name, returned: 0, kept: this.#left, name: this.#newName(wanted), wanted }
  }

  granted(demand: LotDemand | undefined, { more, kept }: Pick<LotGrant, 'more' | 'kept'>, sentMs: number): void {
    if (demand === undefined || demand.wanted === 0) return
    this.#isAsked = false
    this.#left = Math.max(0, this.#left - (demand.kept - kept)) + more
    this.#name = demand.name
    this.#renewAt = more > 0 ? this.#left >> 1 : -1
    this.#takenMs = sentMs
  }

  /** Nothing is known of what was asked for: it is lost, with what was to be kept. */
  failed(demand: LotDemand | undefined): void {
    if (demand === undefined || demand.wanted === 0) return
    this.#isAsked = false
    this.#drop()
  }

  /** From now on it asks for nothing: what a process is given that stops, nobody would give back. */
  end(): void {
    this.#isEnded = true
  }

  #newName(wanted: number): string {
    if (wanted === 0) return ''
    this.#isAsked = true
    return `${process}.${++lots}`
  }

  #drop(): void {
    this.#name = ''
    this.#left = 0
    this.#renewAt = -1
  }

  #size(waiting: number, nowMs: number): number {
    const elapsedMs = Math.max(1, nowMs - this.#demandedMs)
    const pace = Math.ceil(((this.#spent + waiting) * LOT_MS) / elapsedMs)
    this.#spent = 0
    this.#demandedMs = nowMs
    const together = Math.max(waiting, this.#together)
    this.#together = 0
    return Math.min(LOT_MAX, Math.max(TURNS * together, pace))
  }
}

export interface LotKeeperOptions<Holder> {
  /** Gives what they hold back. Never rejects. */
  giveBack(holders: readonly Holder[]): Promise<unknown>
  /** Nothing was held for a while. */
  forget(holder: Holder): void
}

/** All lots of a process of one kind: sees to it that none is held for long. At rest there is none, and no timer. */
export class LotKeeper<Holder extends { readonly lot: Lot }> {
  readonly #options: LotKeeperOptions<Holder>
  readonly #holders = new Set<Holder>()
  #timer: NodeJS.Timeout | undefined

  constructor(options: LotKeeperOptions<Holder>) {
    this.#options = options
  }

  add(holder: Holder): void {
    this.#holders.add(holder)
    this.#timer ??= setInterval(() => this.#sweep(), GIVE_BACK_MS).unref()
  }

  /** Gives everything back; no holder's lot takes more from now on. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#timer = undefined
    for (const { lot } of this.#holders) lot.end()
    while (this.#holders.size > 0) {
      const due = [...this.#holders].filter(({ lot }) => lot.isDue(Number.POSITIVE_INFINITY))
      if (due.length > 0) await this.#options.giveBack(due)
      for (const holder of this.#holders) if (!holder.lot.isHeld) this.#holders.delete(holder)
      if (this.#holders.size > 0) await sleep(RENEWED_WITHIN_MS)
    }
  }

  #sweep(): void {
    const nowMs = performance.now()
    const due: Holder[] = []
    for (const holder of this.#holders) {
      if (holder.lot.isDue(nowMs)) due.push(holder)
      else if (holder.lot.isIdle(nowMs)) {
        this.#holders.delete(holder)
        this.#options.forget(holder)
      }
    }
    if (due.length > 0) void this.#options.giveBack(due)
    if (this.#holders.size === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
    }
  }
}

/** How long a request that finds nothing left waits for lots of others to come back, milliseconds. */
const OTHERS_WAIT_MS = 300
const OTHERS_RETRY_MS = 20

/** A request that waits for its answer. */
export interface Waiting {
  /** `performance.now()` */
  readonly sinceMs: number
}

/**
 * Whether a request that found nothing left is to ask again, because others hold some of it; it is told to when it is time.
 */
export function retryForOthers<W extends Waiting>(waiter: W, othersHold: number, again: (waiter: W) => void): boolean {
  if (othersHold === 0 || performance.now() - waiter.sinceMs > OTHERS_WAIT_MS) return false
  setTimeout(again, OTHERS_RETRY_MS, waiter)
  return true
}
