import type { ReverseDnsLimits } from './limits.ts'

/**
 * Tells when name servers do not answer at all, and when they may be tried again: after a pause, which doubles, a few
 * addresses. One answer of whatever kind ends the silence.
 */
export class Silence {
  readonly #limits: Pick<ReverseDnsLimits, 'silentAfter' | 'pauseMinMs' | 'pauseMaxMs'>
  /** Addresses in a row that were asked for in vain. */
  #unanswered = 0
  /** The next pause; 0 while there is no silence. */
  #pauseMs = 0
  #tryAtMs = 0
  #tries = 0

  constructor(limits: Pick<ReverseDnsLimits, 'silentAfter' | 'pauseMinMs' | 'pauseMaxMs'>) {
    this.#limits = limits
  }

  get isOn(): boolean {
    return this.#pauseMs > 0
  }

  /** Whether one more address may be asked for. */
  mayAsk(nowMs: number): boolean {
    if (!this.isOn) return true
    if (nowMs >= this.#tryAtMs) this.#pause(nowMs, this.#limits.silentAfter)
    if (this.#tries === 0) return false
    this.#tries--
    return true
  }

  /** A name server answered. @returns whether that ends a silence */
  answered(): boolean {
    const ended = this.isOn
    this.#unanswered = 0
    this.#pauseMs = 0
    return ended
  }

  /** An address was asked for, and no name server answered. @returns whether a silence begins with it */
  unanswered(nowMs: number): boolean {
    this.#unanswered++
    if (this.isOn || this.#unanswered < this.#limits.silentAfter) return false
    this.#pauseMs = this.#limits.pauseMinMs
    this.#pause(nowMs, 0)
    return true
  }

  /** @param tries addresses that may be asked for before the pause ends */
  #pause(nowMs: number, tries: number): void {
    this.#tries = tries
    this.#tryAtMs = nowMs + this.#pauseMs
    this.#pauseMs = Math.min(this.#pauseMs * 2, this.#limits.pauseMaxMs)
  }
}
