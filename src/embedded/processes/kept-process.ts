import type { Logger } from 'pino'
import { type DelayBounds, growingDelay, pause } from '../../run/loop.ts'
import type { RunningProcess } from './running-process.ts'

export interface KeptProcessOptions<P extends RunningProcess> {
  readonly name: string
  /**
   * Starts the process and resolves when it is ready. Cleans up and rejects with the reason when it fails, or when `signal`
   * aborts.
   * @param previous the process that ended, whose address the new one must take; undefined on the first start
   */
  readonly launch: (signal: AbortSignal, previous: P | undefined) => Promise<P>
  readonly log: Logger
  readonly onRestart?: () => void
}

const RETRY_DELAY: DelayBounds = { minMs: 100, maxMs: 5_000 }

/** A process that ran this long does not count as a failed start. */
const STEADY_MS = 10_000

/** A child process that is restarted when it ends unexpectedly. */
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

  /** The process while it is ready. */
  get current(): P | undefined {
    return this.#current
  }

  /** The first start. Rejects with the reason when the process cannot be started, without a retry. */
  async start(): Promise<P> {
    const process = await this.#launch(undefined)
    this.#watching = this.#watch(process)
    return process
  }

  /** Stops the process or its start. Idempotent, and allowed before `start`. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#launching.catch(() => {})
    await this.#current?.stop()
    await this.#watching
  }

  /** Sends SIGKILL; the process is not restarted. */
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
      log.error({ process: name, child_pid: process.pid, reason }, `process ${name} ended (${reason}); restarting`)
      onRestart?.()
      const next = await this.#relaunch(process, failures++)
      if (next === undefined) return
      process = next
      log.info({ process: name, child_pid: process.pid }, 'process restarted')
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
        if (!signal.aborted) log.error({ process: name, err: error }, `process ${name} cannot start; retrying`)
      }
    }
    return undefined
  }
}
