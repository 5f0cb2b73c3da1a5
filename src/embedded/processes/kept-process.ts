import type { Logger } from 'pino'
import { type DelayBounds, growingDelay, pause } from '../../run/loop.ts'
import type { RunningProcess } from './running-process.ts'

export interface KeptProcessOptions<P extends RunningProcess> {
  readonly name: string
  /**
   * Starts the process and resolves when it does its work. Rejects with the reason when it cannot, or when `signal` is
   * aborted, leaving nothing behind.
   * @param previous the one that ended, whose address the new one must have; undefined at the first start
   */
  readonly launch: (signal: AbortSignal, previous: P | undefined) => Promise<P>
  readonly log: Logger
  readonly onRestart?: () => void
}

const RETRY_DELAY: DelayBounds = { minMs: 100, maxMs: 5_000 }

/** A process that lived this long was not part of a series of failures. */
const STEADY_MS = 10_000

/** A child process that is started again when it ends without having been asked to. */
export class KeptProcess<P extends RunningProcess> {
  readonly name: string
  readonly #options: KeptProcessOptions<P>
  readonly #stopping = new AbortController()
  #current: P | undefined
  #launching: Promise<unknown> = Promise.resolve()
  #watching: Promise<void> = Promise.resolve()

  constructor(options: KeptProcessOptions<P>) {
    this.name = options.name
    this.#options = options
  }

  /** The process, while there is one that works. */
  get current(): P | undefined {
    return this.#current
  }

  /** The first start: rejects with the reason when the process cannot be started, and does not try again. */
  async start(): Promise<P> {
    const process = await this.#launch(undefined)
    this.#watching = this.#watch(process)
    return process
  }

  /** Ends it, or the attempt to start it. Tolerates being called twice, and before `start`. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#launching.catch(() => {})
    await this.#current?.stop()
    await this.#watching
  }

  /** SIGKILL, for good. */
  kill(): void {
    this.#stopping.abort()
    this.#current?.kill()
  }

  async #launch(previous: P | undefined): Promise<P> {
    const { signal } = this.#stopping
    signal.throwIfAborted()
    const launching = this.#options.launch(signal, previous).then(async (process) => {
      this.#current = process
      if (signal.aborted) await process.stop()
      return process
    })
    this.#launching = launching
    return await launching
  }

  async #watch(first: P): Promise<void> {
    const { name, log, onRestart } = this.#options
    let process = first
    let failures = 0
    while (!this.#stopping.signal.aborted) {
      const startedAtMs = performance.now()
      const reason = await process.exited
      this.#current = undefined
      if (this.#stopping.signal.aborted) return
      if (performance.now() - startedAtMs > STEADY_MS) failures = 0
      log.error(
        { process: name, child_pid: process.pid, reason },
        `process ${name} ended (${reason}); it is started again`,
      )
      onRestart?.()
      const next = await this.#relaunch(process, failures++)
      if (next === undefined) return
      process = next
      log.info({ process: name, child_pid: process.pid }, 'process is back')
    }
  }

  async #relaunch(previous: P, failuresBefore: number): Promise<P | undefined> {
    const { name, log } = this.#options
    const { signal } = this.#stopping
    for (let failures = failuresBefore; !signal.aborted; failures++) {
      if (failures > 0) await pause(growingDelay(failures - 1, RETRY_DELAY), signal)
      if (signal.aborted) return undefined
      try {
        return await this.#launch(previous)
      } catch (error) {
        if (!signal.aborted) log.error({ process: name, err: error }, `process ${name} cannot start; trying again`)
      }
    }
    return undefined
  }
}
