/** Releases resources in reverse order, each exactly once. */
export class Releases {
  readonly #held = new Set<() => Promise<void>>()
  #released = false

  /** Whether `releaseAll` was called. Do not start anything then. */
  get released(): boolean {
    return this.#released
  }

  /** @returns a function that releases only this resource */
  add(release: () => Promise<void>): () => Promise<void> {
    let done: Promise<void> | undefined
    const once = () => {
      this.#held.delete(once)
      done ??= release()
      return done
    }
    this.#held.add(once)
    if (this.#released) void once()
    return once
  }

  /** Releases everything. Continues after a failure, and throws the first one at the end. */
  async releaseAll(): Promise<void> {
    this.#released = true
    const failures: unknown[] = []
    for (const release of [...this.#held].reverse()) await release().catch((error) => failures.push(error))
    if (failures.length > 0) throw failures[0]
  }
}

const EXIT_INTERRUPTED = 130

/** Runs a command's work. Releases its resources at the end and on an interrupt. */
export async function withReleases(work: (releases: Releases) => Promise<void>): Promise<void> {
  const releases = new Releases()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.removeAllListeners(signal)
    process.once(signal, () => {
      const leave = () => process.exit(EXIT_INTERRUPTED)
      releases.releaseAll().then(leave, leave)
    })
  }
  try {
    await work(releases)
  } finally {
    await releases.releaseAll()
  }
}
