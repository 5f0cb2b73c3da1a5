/**
 * A part with a life of its own. `stop` ends intake first, then finishes what is in flight, then releases what `start`
 * acquired. Both tolerate being called twice, and `stop` tolerates a service that never started.
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
  #started: Service[] = []

  constructor(name: string, services: readonly Service[]) {
    this.name = name
    this.#services = services
  }

  async start(): Promise<void> {
    for (const service of this.#services) {
      // Before it is up: a stop that comes meanwhile must reach it too.
      this.#started.push(service)
      try {
        await service.start()
      } catch (error) {
        await this.stop()
        throw error
      }
    }
  }

  /** Stops every service even when one fails; rejects with the first failure. */
  async stop(): Promise<void> {
    const failures: unknown[] = []
    while (this.#started.length > 0) {
      await this.#started
        .pop()!
        .stop()
        .catch((error) => failures.push(error))
    }
    if (failures.length > 0) throw failures[0]
  }
}
