import { Evaluator } from '../../src/alerts/evaluation/evaluator.ts'
import { LeaseLostError } from '../../src/run/errors.ts'
import type { Lease } from '../../src/run/leased-service.ts'

class Killed extends Error {}

/** Kills its process at one of the next calls to a store: before the call, or after it was made and before its answer. */
export class Killer {
  #callsLeft = Number.POSITIVE_INFINITY
  isDead = false

  constructor(callsLeft = Number.POSITIVE_INFINITY) {
    this.#callsLeft = callsLeft
  }

  async #call<T>(make: () => Promise<T>): Promise<T> {
    if (this.isDead || this.#callsLeft-- <= 0) {
      this.isDead = true
      throw new Killed()
    }
    const answer = await make()
    if (this.#callsLeft-- <= 0) this.isDead = true
    if (this.isDead) throw new Killed()
    return answer
  }

  /** An object whose methods are calls to a store. */
  over<T extends object>(store: T, of: readonly (keyof T)[]): T {
    return new Proxy(store, {
      get: (target, name) => {
        const value = Reflect.get(target, name, target) as unknown
        if (typeof value !== 'function') return value
        if (!of.includes(name as keyof T)) return value.bind(target)
        return (...args: unknown[]) => this.#call(async () => await value.apply(target, args))
      },
    })
  }
}

/** An evaluator that works a turn at a time. As in a service, a turn that took longer than the lease is done again. */
export class SteppedEvaluator extends Evaluator {
  readonly #lease: Lease

  constructor(options: ConstructorParameters<typeof Evaluator>[0]) {
    super(options)
    this.#lease = options.lease
  }

  /** A turn without the wait for a lease that is another process's. */
  turnOnce(): Promise<number> {
    return this.round()
  }

  async turn(): Promise<number> {
    for (;;) {
      try {
        return await this.turnOnce()
      } catch (error) {
        if (!(error instanceof LeaseLostError)) throw error
        await this.#lease.acquire(new AbortController().signal)
      }
    }
  }
}
