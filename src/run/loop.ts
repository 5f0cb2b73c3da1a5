import { setTimeout as sleep } from 'node:timers/promises'
import type { Service } from './service.ts'

/** Bounds of a growing delay, milliseconds. */
export interface DelayBounds {
  readonly minMs: number
  readonly maxMs: number
}

/** What a loop does. */
export interface LoopWork {
  readonly name: string
  /**
   * Does one round. Resolves with the milliseconds to pause before the next one; nothing: at once. A round that waits for
   * something ends the wait when `signal` is given. Rejects when it could not do its work: it is tried again.
   */
  round(signal: AbortSignal): Promise<number | undefined>
  /**
   * Prepares the first round, and the first one after a failure: takes a lease, goes over what was left unfinished.
   * Rejects as `round` does.
   */
  enter?(signal: AbortSignal): Promise<void>
  /**
   * Releases what `enter` acquired; called once, behind the last round, also when `enter` never succeeded. A failure is
   * not told to anybody.
   */
  leave?(): Promise<void>
  /** Called for each failure, with the delay until the next try. */
  failed(error: unknown, delayMs: number): void
  readonly delay: DelayBounds
  /** Its pauses do not keep the process from ending. Default false. */
  readonly unref?: boolean
}

/**
 * Does rounds until it is stopped. A failure is followed by a delay that grows from `minMs` to `maxMs` and starts anew
 * behind a round that succeeded. Started twice, it runs once. A stop lets the round in progress finish and ends every
 * pause; it may come before the start, and then there is none, and more than once.
 */
export class Loop implements Service {
  readonly name: string
  readonly #work: LoopWork
  readonly #stopping = new AbortController()
  #running: Promise<void> | undefined
  /** Ends the pause between two rounds that is under way. */
  #endPause: (() => void) | undefined
  #isWoken = false

  constructor(work: LoopWork) {
    this.name = work.name
    this.#work = work
  }

  /** Given when the loop is to end. */
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

  /** There is something to do: a round begins now, or at once behind the one in progress. Ends no delay behind a failure. */
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
 * A pause that ends with those of other loops, of other processes, too: what wakes up at the same time costs less than what wakes
 * up one behind the other. Those of a second and more end with a second, shorter ones with a quarter of one. It is never longer, and
 * one below a quarter stays as it is.
 */
export function untilTick(pauseMs: number, nowMs: number): number {
  if (pauseMs < TICK_MS) return pauseMs
  const tickMs = pauseMs < SECOND_MS ? TICK_MS : SECOND_MS
  return Math.floor((nowMs + pauseMs) / tickMs) * tickMs - nowMs
}

/**
 * A pause of a loop that is one of several: it ends when it is the turn of that one, half a wait from now or up to one and a half, and
 * from then on each lasts as long as given. Those who got work at the same moment do it one behind the other, so that what they
 * share, such as Redis, is not held up by all of them at once.
 * @param turn where in a wait its turn is, from 0 to below 1
 */
export function untilTurn(waitMs: number, nowMs: number, turn = 0): number {
  const offsetMs = turn * waitMs
  return Math.ceil((nowMs + waitMs / 2 - offsetMs) / waitMs) * waitMs + offsetMs - nowMs
}

/**
 * Waits; ends early, without an error, when `signal` is given.
 * @param ref whether it keeps the process from ending
 */
export async function pause(ms: number, signal?: AbortSignal, ref = true): Promise<void> {
  await sleep(ms, undefined, { signal, ref }).catch(() => {})
}

export interface PollOptions {
  readonly everyMs: number
  /** `performance.now()` from which on nobody looks again. */
  readonly deadlineMs?: number
  /** Ends the wait. */
  readonly signal?: AbortSignal
  /** Its pauses do not keep the process from ending. Default false. */
  readonly unref?: boolean
}

/**
 * Looks again and again until there is something to see. A look that rejects ends it.
 * @returns undefined when the deadline or the signal ended the wait
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
 * Delay before the next try: doubles with every failure up to the bound, and is cut by up to a half at random, so that
 * those that failed together do not come back together.
 * @param failures before this one
 */
export function growingDelay(failures: number, { minMs, maxMs }: DelayBounds): number {
  return Math.min(maxMs, minMs * 2 ** Math.min(failures, 30)) * (0.5 + Math.random() / 2)
}

export interface RetryOptions {
  readonly delay: DelayBounds
  /** `performance.now()` from which on nothing is tried again. */
  readonly deadlineMs?: number
  /** Tries, the first included. */
  readonly triesMax?: number
  /** Ends the tries. */
  readonly signal?: AbortSignal
  /** Whether a failure is final. Default: none is. */
  readonly isFinal?: (error: unknown) => boolean
}

/**
 * Does something that is safe to repeat until it succeeds, with a growing delay between the tries. It is tried once in any
 * case; a delay that would outlast the deadline is cut, so that the last try comes `minMs` before it.
 * @throws the last failure, when it is final or the tries, the time or the signal are at their end
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
