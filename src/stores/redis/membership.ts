import { createHash, randomUUID } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import type { Logger } from 'pino'
import { LeaseLostError } from '../../run/errors.ts'
import type { Lease } from '../../run/leased-service.ts'
import { type DelayBounds, Loop } from '../../run/loop.ts'
import { PASSING } from '../../run/passing.ts'
import { keys } from './keys.ts'
import type { Caller } from './pipelined-calls.ts'
import { loadScript, type Script, type ScriptArgument } from './scripts.ts'

/** How long a lease lasts after its renewal. A member that dies holds up its shares for no longer. */
export const LEASE_MS = 3_000
/** Each renewal is a write, even while nothing happens, so the holder of a single share renews less often than others ask. */
const RENEW_EVERY_MS = 1_000
const ASK_EVERY_MS = 500
/** A lease that was renewed this recently is not renewed again. */
const RENEWED_MS = 250
const RETRY_DELAY: DelayBounds = { minMs: 100, maxMs: ASK_EVERY_MS }
/** Another process may have taken the share to finish its intent as well. */
const FINISH_WAIT_MS = 1_000

/** Leading numbers in an answer of `renewMembership-3.lua` that are not a part. */
const OTHERS_WORK = -1
const LEASE_ENDED = -2
/** Answer of a script of `ShareLease.run`. */
const NOT_HELD = -1
/** Answers of `changeShares-N.lua`. */
const CHANGED = 0

const using = './members.lua'
const renewScript = loadScript(import.meta.url, './renewMembership-3.lua', { using })
const writeScript = loadScript(import.meta.url, './writeUnderLease-4.lua', { using })
const changeScript = loadScript(import.meta.url, './changeShares-N.lua', { using })

export interface MembershipOptions {
  readonly client: Caller
  readonly name: string
  /** How many shares there are. Default: one, which makes it a plain lease. */
  readonly shares?: number
  /**
   * Names a process together with the processes that it was started to replace. Those have ended, so their shares are free
   * at once. Undefined: the shares of a process that died are free when its lease ends.
   */
  readonly processName?: string | undefined
  /**
   * The key under which the holder of a share notes its intent. While one exists, its number of shares stays in
   * force. Undefined: holders write no notes.
   */
  readonly intentKey?: (share: number, shares: number) => string
  /** The setting with the number of shares, for the log. */
  readonly setting?: string
  readonly log?: Logger | undefined
}

/** Finishes the open intent of a share. */
export type Finish = (share: ShareLease) => Promise<void>

/** One share, for the worker that owns it. */
export interface ShareLease extends Lease {
  readonly number: number
  /** How many shares there are. */
  readonly of: number
  /** @param finish called for each intent that was left open under another number of shares; we hold its share meanwhile */
  acquire(signal: AbortSignal, finish?: Finish): Promise<boolean>
  /** Milliseconds for which the share is ours even if this process hangs; below 0 when the lease ran out. */
  leftMs(): number
  /** Renews the lease now, unless that was done a moment ago. Rejects when Redis does not answer. */
  renew(): Promise<void>
  /**
   * Writes a key in the slot of the lease, only while the share is ours. `''` deletes the key.
   * @throws LeaseLostError
   */
  write(key: string, value: string): Promise<void>
  /**
   * Runs a script in the slot of the lease, only while the share is ours. The script uses `members.lua` and returns -1 without a change
   * unless `holdsShare()`. Its first three keys and arguments are those of the lease; its own follow.
   * @throws LeaseLostError
   */
  run(script: Script, keys: readonly string[], args: readonly ScriptArgument[]): Promise<unknown>
  /** Call it while no work of the share is in progress. True: another member should have the share, so call `release`. */
  givesBack(): boolean
}

/** The state of a share in this process. */
interface Share {
  /** Its worker does not want it, waits for it, or works on it. */
  use: 'none' | 'waits' | 'works'
  /** Its worker is about to give it back. */
  isLeaving: boolean
  /** `performance.now()` at which the lease ends; 0: the share is not ours. */
  untilMs: number
}

/**
 * Divides shares of some work among processes.
 *
 * Every process is a member, with a lease of 3 s that it renews. Redis assigns each share to one member. A member takes free
 * shares up to its part: the number of shares divided by the number of members, rounded up or down. When a member joins, members that
 * hold more than their part give shares back, each after its current work. When a member dies, its lease ends, and its shares are
 * free. With one share this is a plain lease.
 *
 * A member that was paused and comes back late is fenced off. It sees by its own clock that its lease ended. Redis also refuses its
 * writes, because a share names its member, and a member gets a new name (the fencing token) with each lease. It joins again only with
 * shares on which it does not work, because another member may have had the others in between.
 *
 * One number of shares is in force at a time, and processes with another number wait until all others have ended.
 */
export class Membership {
  readonly #options: MembershipOptions
  readonly #count: number
  readonly #keys: readonly [inForce: string, members: string, assignments: string]
  readonly #prefix: string
  readonly #shares: readonly Share[]
  readonly #answers = new EventEmitter().setMaxListeners(0)
  #member: string
  #part = 0
  #untilMs = 0
  /** Another number of shares is in force. */
  #isRefused = false
  /** One worker works on all shares: while it works on one that was lost, it can take no other. */
  #hasOneWorker = false
  /** The value in force for which the log already says that we wait. */
  #loggedInForce: string | undefined
  #asking: Promise<unknown> = Promise.resolve()
  /** The next call, until it begins. */
  #nextAsk: Promise<void> | undefined
  #changing: Promise<void> | undefined
  #renewal: Loop | undefined

  constructor(options: MembershipOptions) {
    const { name, shares = 1, processName } = options
    this.#options = options
    this.#count = shares
    this.#keys = [keys.lease(name), keys.leaseMembers(name), keys.leaseShares(name)]
    this.#prefix = processName === undefined ? '' : `${processName}|`
    this.#member = this.#newName()
    this.#shares = Array.from({ length: shares }, () => ({ use: 'none', isLeaving: false, untilMs: 0 }))
  }

  /** How many shares this process holds. */
  get held(): number {
    return this.#shares.filter(isHeld).length
  }

  share(number: number): ShareLease {
    const share = this.#shares[number]!
    const { name } = this.#options
    const label = this.#count === 1 ? `the lease ${name}` : `share ${number} of ${this.#count} of ${name}`
    const leftMs = () => share.untilMs - performance.now()
    const assertHeld = () => {
      if (leftMs() <= 0) throw new LeaseLostError(`${label} ran out`)
    }
    return {
      number,
      of: this.#count,
      acquire: (signal, finish = async () => {}) => this.#acquire([share], signal, finish),
      leftMs,
      assertHeld,
      renew: async () => {
        if (leftMs() <= LEASE_MS - RENEWED_MS) await this.#ask()
      },
      write: async (key, value) => {
        assertHeld()
        const args = [this.#member, this.#count, number, value]
        const written = await writeScript.run(this.#options.client, [...this.#keys, key], args)
        if (written === 0) throw new LeaseLostError(`${label} is another's`)
      },
      run: async (script, scriptKeys, scriptArgs) => {
        assertHeld()
        const args = [this.#member, this.#count, number, ...scriptArgs]
        const reply = await script.run(this.#options.client, [...this.#keys, ...scriptKeys], args)
        if (reply === NOT_HELD) throw new LeaseLostError(`${label} is another's`)
        return reply
      },
      givesBack: () => {
        if (!this.hasSpare) return false
        share.isLeaving = true
        return true
      },
      release: () => this.#release([share]),
    }
  }

  /**
   * For a single worker of all shares. Waits until a share is ours. Later shares come by themselves. Shares go only by `giveBack`;
   * otherwise `assertHeld` throws. The caller must have no work in progress.
   * @returns false when `signal` ended the wait
   */
  acquireAny(signal: AbortSignal): Promise<boolean> {
    this.#hasOneWorker = true
    return this.#acquire(this.#shares, signal, async () => {})
  }

  /** Whether a share is ours. From then on its loss makes `assertHeld` throw. */
  has(number: number): boolean {
    const share = this.#shares[number]!
    if (!isHeld(share)) return false
    share.use = 'works'
    return true
  }

  /** @throws LeaseLostError when shares on which we work may be another member's */
  assertHeld(): void {
    const isLost = this.#shares.some((share) => share.use === 'works' && !isHeld(share))
    if (isLost || performance.now() >= this.#untilMs) {
      throw new LeaseLostError(`the shares of ${this.#options.name} ran out`)
    }
  }

  /** Whether we hold more than our part, and others wait for it. */
  get hasSpare(): boolean {
    return this.#staying().length > this.#part
  }

  /** Gives back the shares above our part. The caller must have no work in progress. */
  async giveBack(): Promise<void> {
    const spare = this.#staying().slice(this.#part)
    for (const share of spare) forget(share)
    await this.#ask()
    for (const share of spare) share.use = 'waits'
  }

  /** Gives all shares back, and leaves. */
  async release(): Promise<void> {
    await this.#release(this.#shares)
  }

  #staying(): Share[] {
    return this.#shares.filter((share) => isHeld(share) && !share.isLeaving)
  }

  /** @param finish undefined: does not change the number of shares in force */
  async #acquire(wanted: readonly Share[], signal: AbortSignal, finish?: Finish): Promise<boolean> {
    for (const share of wanted) share.use = 'waits'
    try {
      await this.#ask()
      await this.#startRenewal()
      while (!wanted.some(isHeld)) {
        if (this.#isRefused && finish !== undefined && !signal.aborted) {
          await this.#change(finish)
          await this.#ask()
          if (!this.#isRefused) continue
        }
        await once(this.#answers, 'answer', { signal })
      }
    } catch (error) {
      await this.#release(wanted).catch(() => {})
      if (signal.aborted) return false
      throw error
    }
    for (const share of wanted) if (isHeld(share)) share.use = 'works'
    return true
  }

  async #release(shares: readonly Share[]): Promise<void> {
    for (const share of shares) forget(share)
    try {
      await this.#ask()
    } finally {
      if (this.#isIdle()) {
        this.#untilMs = 0
        const renewal = this.#renewal
        this.#renewal = undefined
        await renewal?.stop()
      }
    }
  }

  #isIdle(): boolean {
    return this.#shares.every(({ use }) => use === 'none')
  }

  async #startRenewal(): Promise<void> {
    this.#renewal ??= new Loop({
      name: `lease of ${this.#options.name}`,
      round: async () => {
        if (this.#untilMs - performance.now() <= LEASE_MS - RENEWED_MS) await this.#ask()
        const isAlone = this.#count === 1 && this.#shares[0]!.use === 'works'
        return isAlone ? RENEW_EVERY_MS : ASK_EVERY_MS
      },
      failed: (error) => {
        // A holder sees its lease run out.
        if (this.#answers.listenerCount('error') > 0) this.#answers.emit('error', error)
      },
      delay: RETRY_DELAY,
      // The worker of a share keeps the process running, if it needs to.
      unref: true,
    })
    await this.#renewal.start()
  }

  /** Makes one call after the other, because each changes the answer of the last one. Calls that have not begun are merged. */
  #ask(): Promise<void> {
    this.#nextAsk ??= this.#asking.then(() => {
      this.#nextAsk = undefined
      return this.#askNow()
    })
    this.#asking = this.#nextAsk.catch(() => {})
    return this.#nextAsk
  }

  async #askNow(): Promise<void> {
    const isBusy = this.#hasOneWorker && this.#shares.some(isLost)
    const working = this.#numbersOf((share) => share.use === 'works' && !isLost(share))
    const waiting = isBusy ? [] : this.#numbersOf((share) => share.use === 'waits')
    const askedAtMs = performance.now()
    const args = [this.#member, this.#count, LEASE_MS, this.#prefix, working.length, ...working, ...waiting]
    const [part, ...assigned] = (await renewScript.run(this.#options.client, this.#keys, args)) as [number, ...number[]]
    const isMember = part !== OTHERS_WORK && part !== LEASE_ENDED && working.length + waiting.length > 0
    this.#isRefused = part === OTHERS_WORK
    this.#part = isMember ? part : 0
    this.#untilMs = isMember ? askedAtMs + LEASE_MS : 0
    if (!isMember) this.#member = this.#newName()
    for (const number of [...working, ...waiting]) {
      const share = this.#shares[number]!
      // Its worker may have given it back meanwhile.
      if (share.use !== 'none') share.untilMs = assigned.includes(number) ? askedAtMs + LEASE_MS : 0
    }
    // The shares that are waited for need not wait for the next call.
    if (part === LEASE_ENDED && waiting.length > 0 && !this.#hasOneWorker) await this.#askNow()
    else this.#answers.emit('answer')
  }

  #numbersOf(matches: (share: Share) => boolean): number[] {
    return [...this.#shares.keys()].filter((number) => matches(this.#shares[number]!))
  }

  #newName(): string {
    return `${this.#prefix}${randomUUID()}`
  }

  /** Several workers wait for the same change. */
  #change(finish: Finish): Promise<void> {
    this.#changing ??= this.#changeNow(finish).finally(() => {
      this.#changing = undefined
    })
    return this.#changing
  }

  /**
   * Puts our number of shares in force once no member works with another one. First finishes every open intent under its
   * own lease, which fences off a paused holder. Call it until the number is in force.
   */
  async #changeNow(finish: Finish): Promise<void> {
    const { client, name, intentKey, log, setting = 'number of shares' } = this.#options
    const found = await client.callBuffer('GET', keys.lease(name))
    const inForce = found === null ? '' : String(found)
    const { before, isEarlierVersion } = readInForce(inForce)
    if (before === this.#count && !isEarlierVersion) return
    // First puts the number of an earlier version in force unchanged.
    const next = isEarlierVersion ? (before ?? 1) : this.#count
    const numbers = Array.from({ length: before ?? 0 }, (_, number) => number)
    const blocking = isEarlierVersion
      ? numbers.map((number) => keys.lease(name, number))
      : numbers.flatMap((number) => intentKey?.(number, before!) ?? [])
    const args = [inForce, next, LEASE_MS, this.#prefix]
    const result = Number(await changeScript.run(client, [...this.#keys, ...blocking], args))
    const facts = { name, shares: this.#count, before }
    if (result === CHANGED) {
      this.#loggedInForce = undefined
      if (next === this.#count && intentKey !== undefined) log?.info(facts, `another ${setting} is in force`)
    } else if (result > 0 && !isEarlierVersion) await this.#finish(before!, result - 1, finish)
    else if (this.#loggedInForce !== inForce) {
      this.#loggedInForce = inForce
      log?.warn(
        { ...facts, ...PASSING },
        `waiting for processes with another ${setting}, or of an earlier version, to end`,
      )
    }
  }

  async #finish(count: number, number: number, finish: Finish): Promise<void> {
    const other = new Membership({ ...this.#options, shares: count })
    const share = other.#shares[number]!
    try {
      // When another process has the share, that one finishes the intent.
      if (await other.#acquire([share], AbortSignal.timeout(FINISH_WAIT_MS))) await finish(other.share(number))
    } finally {
      await other.release()
    }
  }
}

/** The share to which a name belongs. @param count how many there are */
export function shareOf(name: string, count: number): number {
  return count === 1 ? 0 : createHash('sha256').update(name).digest().readUInt32BE() % count
}

function isHeld(share: Share): boolean {
  return performance.now() < share.untilMs
}

/** Its worker still works on it and has not noticed that another member has it. */
function isLost(share: Share): boolean {
  return share.use === 'works' && share.untilMs === 0
}

function forget(share: Share): void {
  share.use = 'none'
  share.isLeaving = false
  share.untilMs = 0
}

/** An earlier version wrote `shares N` for a sink with several shares, and the name of the holder for a plain lease. */
function readInForce(text: string): { readonly before: number | undefined; readonly isEarlierVersion: boolean } {
  if (text === '') return { before: 1, isEarlierVersion: false }
  const [, mark, count] = /^shares([: ])(\d+)$/.exec(text) ?? []
  return { before: count === undefined ? undefined : Number(count), isEarlierVersion: mark !== ':' }
}
