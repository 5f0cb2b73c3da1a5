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

/** The last warnings and errors of a process, each once, for a day. */
export class RecentProblems {
  /** The newest last. */
  readonly #problems = new Map<string, Problem>()

  note(level: Problem['level'], message: string, nowMs: number): void {
    const text = message.length > MESSAGE_MAX ? `${message.slice(0, MESSAGE_MAX)}…` : message
    const key = `${level} ${text}`
    const times = (this.#problems.get(key)?.times ?? 0) + 1
    this.#problems.delete(key)
    this.#problems.set(key, { level, message: text, atMs: nowMs, times })
    if (this.#problems.size > PROBLEMS_MAX) this.#problems.delete(this.#problems.keys().next().value!)
  }

  /** The newest first. */
  list(nowMs: number): Problem[] {
    return [...this.#problems.values()].filter(({ atMs }) => nowMs - atMs < KEPT_MS).reverse()
  }
}
