import { Lifecycle } from './lifecycle.ts'

/**
 * A part with a life of its own. `stop` ends intake first, then finishes what is in flight, then releases what `start`
 * and the constructor acquired.
 *
 * Both may be called any number of times, and do their work once. `stop` may come before `start`, or in the middle of
 * it. A service that was stopped stays stopped: a `start` behind that resolves and does nothing, unless the service's own
 * contract says that it starts again.
 */
export interface Service {
  readonly name: string
  /** Resolves when the service does its work; rejects when it cannot start, having released everything. */
  start(): Promise<void>
  /** Resolves when everything in flight is finished and released. */
  stop(): Promise<void>
}

/** Services that live together: started in order, stopped in the opposite order. */
export class ServiceGroup implements Service {
  readonly name: string
  readonly #services: readonly Service[]
  readonly #life = new Lifecycle()
  readonly #started: Service[] = []

  readonly #atOnce: boolean

  /** @param options `atOnce`: none waits for the start of another */
  constructor(name: string, services: readonly Service[], options: { readonly atOnce?: boolean } = {}) {
    this.name = name
    this.#services = services
    this.#atOnce = options.atOnce === true
  }

  start(): Promise<void> {
    return this.#life.start(async () => {
      if (this.#atOnce) return await this.#startAtOnce()
      for (const service of this.#services) {
        if (this.#life.isStopped) return
        // Before it is up: a stop that comes meanwhile must reach it too.
        this.#started.push(service)
        try {
          await service.start()
        } catch (error) {
          await this.stop()
          throw error
        }
      }
    })
  }

  async #startAtOnce(): Promise<void> {
    this.#started.push(...this.#services)
    try {
      await Promise.all(this.#services.map((service) => service.start()))
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  /** Stops every service that was begun even when one fails; rejects with the first failure. */
  stop(): Promise<void> {
    return this.#life.stop(async () => {
      const failures: unknown[] = []
      while (this.#started.length > 0) {
        await this.#started
          .pop()!
          .stop()
          .catch((error) => failures.push(error))
      }
      if (failures.length > 0) throw failures[0]
    })
  }
}
