import { setTimeout as sleep } from 'node:timers/promises'
import type { Service } from './service.ts'

/** Bounds of a growing delay, milliseconds. */
export interface DelayBounds {
  readonly minMs: number
  readonly maxMs: number
}

/** The work of a loop. */
export interface LoopWork {
  readonly name: string
  /**
   * Does one round. Resolves with the pause before the next round in milliseconds; undefined: no pause. A round that waits
   * must end its wait when `signal` aborts. A rejection means that the round failed and is tried again.
   */
  round(signal: AbortSignal): Promise<number | undefined>
  /**
   * Prepares the first round, and the first round after a failure: takes a lease, or resumes unfinished work. Rejects as
   * `round` does.
   */
  enter?(signal: AbortSignal): Promise<void>
  /**
   * Releases what `enter` acquired. Called once, after the last round, even when `enter` never succeeded. Failures are
   * ignored.
   */
  leave?(): Promise<void>
  /** Called for each failure, with the delay until the next try. */
  failed(error: unknown, delayMs: number): void
  readonly delay: DelayBounds
  /** Lets the process exit during its pauses. Default false. */
  readonly unref?: boolean
}

/**
 * Runs rounds until it is stopped. After a failure it waits for a delay that grows from `minMs` to `maxMs`; a successful
 * round resets the delay. Starting it twice runs it once. A stop ends every pause and lets the current round finish. It may
 * come before the start, which then does nothing, and may be called more than once.
 */
export class Loop implements Service {
  readonly name: string
  readonly #work: LoopWork
  readonly #stopping = new AbortController()
  #running: Promise<void> | undefined
  /** Ends the current pause between two rounds. */
  #endPause: (() => void) | undefined
  #isWoken = false

  constructor(work: LoopWork) {
    this.name = work.name
    this.#work = work
  }

  /** Aborts when the loop is to end. */
  get signal(): AbortSignal {
    return this.#stopping.signal
  }

  async start(): Promise<void> {
    if (!this.signal.aborted) this.#running ??= this.#run()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#endPause?.()
    await this.#running
  }

  /** Reports new work: a round begins now, or right after the current one. Does not shorten the delay after a failure. */
  wake(): void {
    this.#isWoken = true
    this.#endPause?.()
  }

  async #run(): Promise<void> {
    const { signal } = this
    let failures = 0
    let entered = false
    while (!signal.aborted) {
      try {
        if (!entered) await this.#work.enter?.(signal)
        entered = true
        if (signal.aborted) break
        this.#isWoken = false
        const pauseMs = await this.#work.round(signal)
        failures = 0
        if (pauseMs !== undefined) await this.#rest(untilTick(pauseMs, Date.now()))
      } catch (error) {
        if (signal.aborted) break
        entered = false
        const delayMs = growingDelay(failures++, this.#work.delay)
        this.#work.failed(error, delayMs)
        await pause(delayMs, signal, this.#work.unref !== true)
      }
    }
    await this.#work.leave?.().catch(() => {})
  }

  async #rest(ms: number): Promise<void> {
    if (this.#isWoken || this.signal.aborted) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      if (this.#work.unref === true) timer.unref()
      this.#endPause = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#endPause = undefined
  }
}

const TICK_MS = 250
const SECOND_MS = 1_000

/**
 * Shortens a pause so that it ends together with pauses of other loops and processes, because waking up together costs less
 * than one after the other. Pauses of a second or more end at a full second, shorter ones at a quarter of a second. Pauses
 * below a quarter of a second are unchanged.
 */
export function untilTick(pauseMs: number, nowMs: number): number {
  if (pauseMs < TICK_MS) return pauseMs
  const tickMs = pauseMs < SECOND_MS ? TICK_MS : SECOND_MS
  return Math.floor((nowMs + pauseMs) / tickMs) * tickMs - nowMs
}

/**
 * Spreads the pauses of several loops evenly over time, so that loops that got work at the same moment do not all load
 * Redis at once. The first pause lasts between half and one and a half `waitMs`, until the turn of this loop; later ones
 * last `waitMs`.
 * @param turn position of this loop within a wait, from 0 to below 1
 */
export function untilTurn(waitMs: number, nowMs: number, turn = 0): number {
  const offsetMs = turn * waitMs
  return Math.ceil((nowMs + waitMs / 2 - offsetMs) / waitMs) * waitMs + offsetMs - nowMs
}

/**
 * Waits; ends early, without an error, when `signal` aborts.
 * @param ref whether the pause keeps the process running
 */
export async function pause(ms: number, signal?: AbortSignal, ref = true): Promise<void> {
  await sleep(ms, undefined, { signal, ref }).catch(() => {})
}

interface PollOptions {
  readonly everyMs: number
  /** `performance.now()` at which polling stops. */
  readonly deadlineMs?: number
  /** Ends the polling. */
  readonly signal?: AbortSignal
  /** Lets the process exit during its pauses. Default false. */
  readonly unref?: boolean
}

/**
 * Calls `look` until it returns a value. A rejection of `look` ends it.
 * @returns undefined when the deadline or the signal ended it
 */
export async function poll<T>(look: () => Promise<T | undefined>, options: PollOptions): Promise<T | undefined> {
  const { everyMs, deadlineMs = Number.POSITIVE_INFINITY, signal, unref = false } = options
  while (!signal?.aborted) {
    const seen = await look()
    if (seen !== undefined || performance.now() >= deadlineMs) return seen
    await pause(everyMs, signal, !unref)
  }
  return undefined
}

/**
 * Delay before the next try: doubles with every failure up to the bound. A random part of up to a half is subtracted, so
 * that processes that failed together do not return together.
 * @param failures before this one
 */
export function growingDelay(failures: number, { minMs, maxMs }: DelayBounds): number {
  return Math.min(maxMs, minMs * 2 ** Math.min(failures, 30)) * (0.5 + Math.random() / 2)
}

interface RetryOptions {
  readonly delay: DelayBounds
  /** `performance.now()` after which there are no more tries. */
  readonly deadlineMs?: number
  /** Number of tries, including the first. */
  readonly triesMax?: number
  /** Ends the tries. */
  readonly signal?: AbortSignal
  /** Whether not to try again after this failure. Default: always try again. */
  readonly isFinal?: (error: unknown) => boolean
}

/**
 * Repeats work that is safe to repeat until it succeeds, with a growing delay between the tries. Tries at least once. A
 * delay that would outlast the deadline is shortened, so that the last try starts `minMs` before it.
 * @throws the last failure, when it is final, or when the tries, the time or the signal ended
 */
export async function retry<T>(work: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { delay, deadlineMs = Number.POSITIVE_INFINITY, triesMax = Number.POSITIVE_INFINITY, signal } = options
  for (let failures = 0; ; failures++) {
    try {
      return await work()
    } catch (error) {
      const leftMs = deadlineMs - performance.now() - delay.minMs
      const isLast = failures + 1 >= triesMax || leftMs <= 0
      if (isLast || signal?.aborted || options.isFinal?.(error)) throw error
      await pause(Math.min(growingDelay(failures, delay), leftMs), signal)
      if (signal?.aborted) throw error
    }
  }
}
