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
