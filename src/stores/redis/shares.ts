import { createHash, randomUUID } from 'node:crypto'
import { LeaseLostError } from '../../run/errors.ts'
import { type Loop, poll } from '../../run/loop.ts'
import type { Caller } from './joined-calls.ts'
import { keys } from './keys.ts'
import { LEASE_MS, placePrefix, RENEW_EVERY_MS, renewalLoop, TRY_EVERY_MS } from './lease.ts'
import { loadScript } from './scripts.ts'

const holdSharesScript = loadScript(import.meta.url, './holdShares-3.lua')
const leaveSharesScript = loadScript(import.meta.url, './leaveShares-3.lua')

/** First numbers of the answer of `holdShares-3.lua` that are no part. */
const OTHERS = -1
const LOST = -2

export interface SharesOptions {
  readonly client: Caller
  /** Of the lease that is shared: whoever holds it as a whole, and who shares it in another number, goes first. */
  readonly name: string
  readonly count: number
  /** See `Lease`. */
  readonly place?: string | undefined
  /** Called once in a while of waiting for those. */
  readonly onOthers?: () => void
}

/** The share of what belongs to a name. @param count how many there are */
export function shareOf(name: string, count: number): number {
  return count === 1 ? 0 : createHash('sha256').update(name).digest().readUInt32BE() % count
}

/**
 * A lease in shares: each is one member's at a time, and each member has its part of them, as many as the others or one more.
 * A member that is new is given its part by those who hold more, as soon as they have settled what is in hand; the shares of
 * one that died are free when its place ends. With one share it is a lease, for which the others wait.
 *
 * Shares come by themselves. They go only by `giveBack`, or all at once: then `assertHeld` throws, and `acquire` begins anew.
 */
export class Shares {
  readonly #options: SharesOptions
  readonly #keys: readonly string[]
  readonly #place: string
  readonly #member: string
  #held = new Set<number>()
  #part = 0
  #untilMs = 0
  #renewal: Loop | undefined
  #asked: Promise<unknown> = Promise.resolve()

  constructor(options: SharesOptions) {
    const { name, place } = options
    this.#options = options
    this.#keys = [keys.lease(name), keys.leaseMembers(name), keys.leaseShares(name)]
    this.#place = placePrefix(place)
    this.#member = `${this.#place}${randomUUID()}`
  }

  /**
   * Waits until a share is ours, and keeps it from then on. Nothing may be in hand.
   * @returns false when `signal` ended the wait
   */
  async acquire(signal: AbortSignal): Promise<boolean> {
    await this.#renewal?.stop()
    let isTold = false
    const taken = async () => {
      const state = await this.#ask({ joins: true })
      if (state === OTHERS && !isTold) this.#options.onOthers?.()
      isTold = state === OTHERS
      return this.#held.size > 0 || undefined
    }
    if ((await poll(taken, { everyMs: TRY_EVERY_MS, signal })) === undefined) return false
    const everyMs = this.#options.count === 1 ? RENEW_EVERY_MS : TRY_EVERY_MS
    this.#renewal = renewalLoop(`shares of ${this.#options.name}`, () => this.#ask({}), everyMs)
    await this.#renewal.start()
    return true
  }

  /** @throws LeaseLostError when shares that were ours may be another's */
  assertHeld(): void {
    if (performance.now() >= this.#untilMs) throw new LeaseLostError(`the shares of ${this.#options.name} ran out`)
  }

  has(share: number): boolean {
    return this.#held.has(share)
  }

  /** Whether we hold more than our part, and others wait for it. */
  get hasSpare(): boolean {
    return this.#held.size > this.#part
  }

  /** Gives back what is more than our part. Nothing of any share may be in hand. */
  async giveBack(): Promise<void> {
    const spare = [...this.#held].slice(this.#part)
    if (spare.length > 0) await this.#ask({ spare })
  }

  /** Gives all back, so that nobody need wait for their end. Tolerates not being a member. */
  async release(): Promise<void> {
    // A renewal on its way would take what is given back.
    await this.#renewal?.stop()
    await this.#asked
    this.#lose()
    await leaveSharesScript.run(this.#options.client, this.#keys, [this.#member])
  }

  /** One question at a time: an earlier answer would name what was given back. */
  #ask(what: { readonly joins?: boolean; readonly spare?: readonly number[] }): Promise<number> {
    const answer = this.#asked.then(() => this.#hold(what))
    this.#asked = answer.catch(() => {})
    return answer
  }

  async #hold({ joins = false, spare = [] }: { joins?: boolean; spare?: readonly number[] }): Promise<number> {
    const { client, count } = this.#options
    // Now, and not before an answer that is on its way: it still names them.
    for (const share of spare) this.#held.delete(share)
    const askedAtMs = performance.now()
    const args = [this.#member, count, LEASE_MS, this.#place, joins ? 1 : 0, ...spare]
    const [part, ...held] = (await holdSharesScript.run(client, this.#keys, args)) as number[]
    const isKept = part !== OTHERS && part !== LOST && (joins || [...this.#held].every((share) => held.includes(share)))
    if (!isKept) {
      this.#lose()
      return part!
    }
    this.#held = new Set(held)
    this.#part = part!
    this.#untilMs = askedAtMs + LEASE_MS
    return part!
  }

  #lose(): void {
    this.#held = new Set()
    this.#untilMs = 0
  }
}
