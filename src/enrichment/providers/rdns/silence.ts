import type { ReverseDnsLimits } from './limits.ts'

/**
 * A circuit breaker for name servers that do not answer at all. It opens after some addresses without any answer, and lets
 * a few through after each pause, which doubles. Any answer closes it.
 */
export class Silence {
  readonly #limits: Pick<ReverseDnsLimits, 'silentAfter' | 'pauseMinMs' | 'pauseMaxMs'>
  /** Consecutive addresses without an answer. */
  #unanswered = 0
  /** The next pause; 0 while closed. */
  #pauseMs = 0
  #tryAtMs = 0
  #tries = 0

  constructor(limits: Pick<ReverseDnsLimits, 'silentAfter' | 'pauseMinMs' | 'pauseMaxMs'>) {
    this.#limits = limits
  }

  get isOn(): boolean {
    return this.#pauseMs > 0
  }

  /** Whether one more address may be queried. */
  mayAsk(nowMs: number): boolean {
    if (!this.isOn) return true
    if (nowMs >= this.#tryAtMs) this.#pause(nowMs, this.#limits.silentAfter)
    if (this.#tries === 0) return false
    this.#tries--
    return true
  }

  /** A name server answered. @returns whether this ends a silence */
  answered(): boolean {
    const ended = this.isOn
    this.#unanswered = 0
    this.#pauseMs = 0
    return ended
  }

  /** No name server answered for an address. @returns whether this begins a silence */
  unanswered(nowMs: number): boolean {
    this.#unanswered++
    if (this.isOn || this.#unanswered < this.#limits.silentAfter) return false
    this.#pauseMs = this.#limits.pauseMinMs
    this.#pause(nowMs, 0)
    return true
  }

  /** @param tries addresses to let through during the pause */
  #pause(nowMs: number, tries: number): void {
    this.#tries = tries
    this.#tryAtMs = nowMs + this.#pauseMs
    this.#pauseMs = Math.min(this.#pauseMs * 2, this.#limits.pauseMaxMs)
  }
}
