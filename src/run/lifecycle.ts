/**
 * Holds the start and the stop of a service to its contract: each is done once, however often it is asked for, and
 * nothing starts behind a stop.
 */
export class Lifecycle {
  #started: Promise<void> | undefined
  #stopped: Promise<void> | undefined

  /** Whether a stop was asked for. A start that takes its time looks here before it acquires more. */
  get isStopped(): boolean {
    return this.#stopped !== undefined
  }

  /** Settles as `work` does, for everybody who asks. Behind a stop `work` is not called. */
  start(work: () => Promise<void>): Promise<void> {
    if (this.#started === undefined && this.isStopped) return Promise.resolve()
    this.#started ??= work()
    return this.#started
  }

  /**
   * Settles as `work` does, for everybody who asks.
   * @param work is called without a start too; `started` resolves when the start, if any, is at its end, well or not
   */
  stop(work: (started: Promise<void>) => Promise<void>): Promise<void> {
    const started = Promise.resolve(this.#started).catch(() => {})
    // In a turn of its own, so that `work` and all that it calls find the service stopped.
    this.#stopped ??= Promise.resolve().then(() => work(started))
    return this.#stopped
  }
}
