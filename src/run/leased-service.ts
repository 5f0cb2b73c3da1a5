import type { Logger } from 'pino'
import { type DelayBounds, Loop } from './loop.ts'
import { PASSING } from './passing.ts'
import type { Service } from './service.ts'

/** A right that one process at a time holds. */
export interface Lease {
  /**
   * Waits until the lease is ours, and keeps it from then on. The caller must have no work under it in progress.
   * @returns false when `signal` ended the wait
   */
  acquire(signal: AbortSignal): Promise<boolean>
  /** @throws LeaseLostError when the lease may be another process's */
  assertHeld(): void
  /** Gives the lease back, so that others need not wait for its end. May be called without holding it. */
  release(): Promise<void>
}

interface LeasedServiceOptions {
  readonly name: string
  readonly lease: Lease
  /** Between a failure and the next try. */
  readonly delay: DelayBounds
  /** The consequence of a failure for the user. Logged with each one. */
  readonly problem: string
  readonly log: Logger
}

/**
 * Does work that only one process at a time may do. It waits for the lease, takes over the last holder's leftovers, and then works
 * in rounds. Any failure, a lost lease included, is logged and leads back to the wait, after a growing delay.
 *
 * Work that outlives a round is ended by `settle`, which is called before each wait for the lease and before the lease is given
 * back. So none of our work continues while we wait or after we gave the lease back. When `settle` fails at the end, the lease is
 * kept until the process ends.
 *
 * Between a round's check and its last write the lease may run out. So each write that must not come late is a write under the
 * lease (`ShareLease.write`), or safe to repeat.
 */
export abstract class LeasedService implements Service {
  readonly name: string
  readonly #loop: Loop

  constructor({ name, lease, delay, problem, log }: LeasedServiceOptions) {
    this.name = name
    this.#loop = new Loop({
      name,
      enter: async (signal) => {
        await this.settle?.()
        if (await lease.acquire(signal)) await this.takeOver?.()
      },
      round: async () => {
        lease.assertHeld()
        return await this.round()
      },
      leave: async () => {
        await this.settle?.()
        await lease.release()
      },
      failed: (err, delayMs) => log.warn({ err, delay_ms: Math.round(delayMs), ...PASSING }, problem),
      delay,
    })
  }

  /** Aborts when the service stops: then no further work is to begin. */
  protected get signal(): AbortSignal {
    return this.#loop.signal
  }

  start(): Promise<void> {
    return this.#loop.start()
  }

  /** Resolves when the round in progress has ended and the lease is given back. */
  stop(): Promise<void> {
    return this.#loop.stop()
  }

  /** As `Loop.wake`. */
  protected wake(): void {
    this.#loop.wake()
  }

  /** Works, under the lease. @returns the pause before the next round in milliseconds; undefined: no pause */
  protected abstract round(): Promise<number | undefined>

  /** Finishes or removes the last holder's leftovers. Called with the lease, before the first round and after each failure. */
  protected takeOver?(): Promise<void>

  /** Ends all work that outlives a round. Resolves when none is in progress. */
  protected settle?(): Promise<void>
}
