/**
 * A component that is started and stopped. `stop` first ends intake, then finishes work in flight, then releases everything that
 * `start` and the constructor acquired.
 *
 * Both may be called any number of times and do their work once. `stop` may come before or during `start`. A stopped
 * service stays stopped: a later `start` resolves and does nothing, unless the service documents that it can start again.
 */
export interface Service {
  readonly name: string
  /** Resolves when the service works. Rejects when it cannot start, after releasing everything. */
  start(): Promise<void>
  /** Resolves when all work in flight is finished and everything is released. */
  stop(): Promise<void>
}

/** Services that run together: started in order, stopped in reverse order. */
export class ServiceGroup implements Service {
  readonly name: string
  readonly #services: readonly Service[]
  readonly #life = new Lifecycle()
  readonly #started: Service[] = []

  readonly #atOnce: boolean

  /** @param options `atOnce`: starts all without waiting for one another */
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
        // Registers the service before it is up, so that a stop during its start reaches it.
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

  /** Stops every service whose start began, even when one fails; rejects with the first failure. */
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

/**
 * Enforces the contract of `Service`: start and stop run once each, however often they are called, and nothing starts after
 * a stop.
 */
export class Lifecycle {
  #started: Promise<void> | undefined
  #stopped: Promise<void> | undefined

  /** Whether a stop was requested. A slow start checks this before it acquires more. */
  get isStopped(): boolean {
    return this.#stopped !== undefined
  }

  /** Settles as `work` does, for every caller. After a stop `work` is not called. */
  start(work: () => Promise<void>): Promise<void> {
    if (this.#started === undefined && this.isStopped) return Promise.resolve()
    this.#started ??= work()
    return this.#started
  }

  /**
   * Settles as `work` does, for every caller.
   * @param work is called even without a start; `started` resolves when the start, if any, has ended, successfully or not
   */
  stop(work: (started: Promise<void>) => Promise<void>): Promise<void> {
    const started = Promise.resolve(this.#started).catch(() => {})
    // In a later microtask, so that `work` and everything it calls see the service as stopped.
    this.#stopped ??= Promise.resolve().then(() => work(started))
    return this.#stopped
  }
}
