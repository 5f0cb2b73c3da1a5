/** Ends what was started, the last first. What is released twice, or while it is being started, is released once. */
export class Releases {
  readonly #held = new Set<() => Promise<void>>()
  #released = false

  /** Whether everything is being given back: nothing is to be started any more. */
  get released(): boolean {
    return this.#released
  }

  /** @returns releases this one only */
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

  /** Goes on behind one that fails, and throws the first failure at the end. */
  async releaseAll(): Promise<void> {
    this.#released = true
    const failures: unknown[] = []
    for (const release of [...this.#held].reverse()) await release().catch((error) => failures.push(error))
    if (failures.length > 0) throw failures[0]
  }
}

const EXIT_INTERRUPTED = 130

/** Does the work of a command. What it started ends with it, and when it is interrupted. */
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
