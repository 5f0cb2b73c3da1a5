import { randomUUID } from 'node:crypto'
import { LeaseLostError } from '../../run/errors.ts'
import { type DelayBounds, Loop, poll } from '../../run/loop.ts'
import type { Caller } from './joined-calls.ts'
import { keys } from './keys.ts'
import { loadScript } from './scripts.ts'

/** A lease that is not renewed for this long is free: a dead owner holds things up no longer. */
export const LEASE_MS = 3_000
/** Each renewal is a write, by a system at rest as well. */
export const RENEW_EVERY_MS = 1_000
/** How often one that waits for a lease tries to take it, and those that share one see what has become of the others. */
export const TRY_EVERY_MS = 500
/** Behind a renewal no other one is worth its write for so long. */
const RENEWED_MS = 250
const RETRY_DELAY: DelayBounds = { minMs: 100, maxMs: TRY_EVERY_MS }

const takeLeaseScript = loadScript(import.meta.url, './takeLease-2.lua')
const writeAsOwnerScript = loadScript(import.meta.url, './writeAsOwner-2.lua')

/**
 * Sees to it that one process at a time does something. An owner that was held up and comes back late is fenced off: it
 * sees by its own clock that the lease ran out, and `write` refuses what it still tries.
 */
export class Lease {
  readonly #client: Caller
  readonly #name: string
  readonly #place: string
  readonly #owner: string
  #untilMs = 0
  #token = 0
  #renewal: Loop | undefined
  /** The renewal that is on its way. */
  #renewing: Promise<unknown> | undefined

  /**
   * @param place names a process together with those before it that it was started for: such an owner has ended, so
   * that nobody need wait for the end of its lease
   */
  constructor(client: Caller, name: string, place?: string) {
    this.#client = client
    this.#name = name
    this.#place = placePrefix(place)
    this.#owner = `${this.#place}${randomUUID()}`
  }

  /**
   * Waits until the lease is ours, and keeps it from then on. False when `signal` ended the wait.
   * @param refused called behind each try that found another one's
   */
  async acquire(signal: AbortSignal, refused: () => Promise<void> = async () => {}): Promise<boolean> {
    await this.#stopRenewing()
    const taken = async () => {
      const token = await this.#take()
      if (token === 0) await refused()
      return token || undefined
    }
    const token = await poll(taken, { everyMs: TRY_EVERY_MS, signal })
    if (token === undefined) return false
    this.#token = token
    this.#renewal = renewalLoop(`lease ${this.#name}`, () => this.renew(), RENEW_EVERY_MS)
    await this.#renewal.start()
    return true
  }

  /**
   * Renews it now, unless that was done a moment ago. It is renewed all the while; this is for who is about to wait for as long as
   * the lease lasts. Only between `acquire` and `release`. What came of it `leftMs` tells. Rejects when Redis did not answer.
   */
  async renew(): Promise<void> {
    if (this.leftMs() > LEASE_MS - RENEWED_MS) return
    this.#renewing ??= this.#take(this.#token).finally(() => {
      this.#renewing = undefined
    })
    await this.#renewing
  }

  async #stopRenewing(): Promise<void> {
    await this.#renewal?.stop()
    await this.#renewing?.catch(() => {})
  }

  /** Milliseconds for which it is ours even if we stand still; below 0 when it ran out. */
  leftMs(): number {
    return this.#untilMs - performance.now()
  }

  /** @throws LeaseLostError when the lease may be another's */
  assertHeld(): void {
    if (this.leftMs() <= 0) throw new LeaseLostError(`the lease ${this.#name} ran out`)
  }

  /**
   * Writes a key in the lease's slot, only while the lease is ours. `''` deletes it.
   * @throws LeaseLostError
   */
  async write(key: string, value: string): Promise<void> {
    this.assertHeld()
    const written = await writeAsOwnerScript.run(this.#client, [keys.lease(this.#name), key], [this.#owner, value])
    if (written === 0) throw new LeaseLostError(`another one holds the lease ${this.#name}`)
  }

  /** Gives it back, so that nobody need wait for its end. Tolerates not being the owner. */
  async release(): Promise<void> {
    // A renewal on its way would take what is given back.
    await this.#stopRenewing()
    this.#untilMs = 0
    const key = keys.lease(this.#name)
    await writeAsOwnerScript.run(this.#client, [key, key], [this.#owner, ''])
  }

  /**
   * The fencing token; 0 when the lease is another's.
   * @param held what it was until now: taken anew, it was another's in between, and what we held it for is in unknown hands
   */
  async #take(held?: number): Promise<number> {
    const askedAtMs = performance.now()
    const leaseKeys = [keys.lease(this.#name), keys.leaseToken(this.#name)]
    const token = Number(await takeLeaseScript.run(this.#client, leaseKeys, [this.#owner, LEASE_MS, this.#place]))
    const isOurs = token !== 0 && (held === undefined || token === held)
    this.#untilMs = isOurs ? askedAtMs + LEASE_MS : 0
    return token
  }
}

/** Renews a lease, or several, again and again, until it is stopped. */
export function renewalLoop(name: string, renew: () => Promise<unknown>, everyMs: number): Loop {
  return new Loop({
    name,
    round: async () => {
      await renew()
      return everyMs
    },
    // A renewal that fails is seen by the lease running out.
    failed: () => {},
    delay: RETRY_DELAY,
    // Whoever holds the lease keeps the process running, or has no use for it any more.
    unref: true,
  })
}

/** How owners of a place begin. */
export function placePrefix(place: string | undefined): string {
  return place === undefined ? '' : `${place}|`
}
