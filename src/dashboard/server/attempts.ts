import type { Clock } from '../../core/run/clock.ts'

const WINDOW_MS = 60_000
const FAILURES_MAX = 20

/** Counts sign-ins that failed, or have not ended: behind 20 of them in a minute no more are tried until it is over. */
export class SignInAttempts {
  readonly #clock: Clock
  #startedMs = 0
  #failures = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Seconds until one may be tried; 0: now. */
  get waitSeconds(): number {
    const leftMs = this.#startedMs + WINDOW_MS - this.#clock.now()
    return this.#failures < FAILURES_MAX || leftMs <= 0 ? 0 : Math.ceil(leftMs / 1_000)
  }

  /** To be called before one is tried, so that many at once are not more than one after the other. */
  begin(): void {
    const nowMs = this.#clock.now()
    if (nowMs - this.#startedMs >= WINDOW_MS) {
      this.#startedMs = nowMs
      this.#failures = 0
    }
    this.#failures++
  }

  /** The one that began was no failure. */
  forgive(): void {
    if (this.#failures > 0) this.#failures--
  }
}
