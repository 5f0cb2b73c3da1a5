import { cutText } from '../run/cut-text.ts'

/** A warning or an error from the log. */
export interface Problem {
  readonly level: 'warn' | 'error' | 'fatal'
  readonly message: string
  /** Unix milliseconds of the last occurrence. */
  readonly atMs: number
  readonly times: number
}

const PROBLEMS_MAX = 10
const MESSAGE_MAX = 300
const KEPT_MS = 86_400_000

/** The same for messages that differ in numbers only: how much is free, how long it took, which port. */
export function keyOf(level: Problem['level'], message: string): string {
  return `${level} ${message.replace(/\d+/g, '0')}`
}

/**
 * The last warnings and errors of a process, each message once, even with other numbers, for a day. Waits before the process was ready are left out:
 * a slow start is no error, and a wait that continues is logged again.
 */
export class RecentProblems {
  /** The newest last. */
  readonly #problems = new Map<string, Problem>()
  #isReady = false

  /** @param isWait whether it reports a wait that may end by itself */
  note(level: Problem['level'], message: string, nowMs: number, isWait = false): void {
    if (isWait && !this.#isReady) return
    const text = message.length > MESSAGE_MAX ? `${cutText(message, MESSAGE_MAX)}…` : message
    const key = keyOf(level, text)
    const times = (this.#problems.get(key)?.times ?? 0) + 1
    this.#problems.delete(key)
    this.#problems.set(key, { level, message: text, atMs: nowMs, times })
    if (this.#problems.size > PROBLEMS_MAX) this.#problems.delete(this.#problems.keys().next().value!)
  }

  /** Forgets a problem that has ended, and that would be taken for one of now. */
  ended(level: Problem['level'], message: string): void {
    this.#problems.delete(keyOf(level, message))
  }

  /** The process is ready: from now on a wait is a problem. */
  ready(): void {
    this.#isReady = true
  }

  /** The newest first. */
  list(nowMs: number): Problem[] {
    return [...this.#problems.values()].filter(({ atMs }) => nowMs - atMs < KEPT_MS).reverse()
  }
}
