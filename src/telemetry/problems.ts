/** A line of the log that somebody should see. */
export interface Problem {
  readonly level: 'warn' | 'error' | 'fatal'
  readonly message: string
  /** Milliseconds, of the last time. */
  readonly atMs: number
  readonly times: number
}

const PROBLEMS_MAX = 10
const MESSAGE_MAX = 300
const KEPT_MS = 86_400_000

/**
 * The last warnings and errors of a process, each once, for a day. What it waited for before it was ready is left out: a slow
 * start is no error, and a wait that goes on complains again.
 */
export class RecentProblems {
  /** The newest last. */
  readonly #problems = new Map<string, Problem>()
  #isReady = false

  /** @param isWait it complains of something that may come by itself */
  note(level: Problem['level'], message: string, nowMs: number, isWait = false): void {
    if (isWait && !this.#isReady) return
    const text = message.length > MESSAGE_MAX ? `${message.slice(0, MESSAGE_MAX)}…` : message
    const key = `${level} ${text}`
    const times = (this.#problems.get(key)?.times ?? 0) + 1
    this.#problems.delete(key)
    this.#problems.set(key, { level, message: text, atMs: nowMs, times })
    if (this.#problems.size > PROBLEMS_MAX) this.#problems.delete(this.#problems.keys().next().value!)
  }

  /** The process does its work: from now on a wait is a problem. */
  ready(): void {
    this.#isReady = true
  }

  /** The newest first. */
  list(nowMs: number): Problem[] {
    return [...this.#problems.values()].filter(({ atMs }) => nowMs - atMs < KEPT_MS).reverse()
  }
}
